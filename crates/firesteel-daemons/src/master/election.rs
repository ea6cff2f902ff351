//! One of several Masters, which stands by and leads when it is elected.

use std::time::Duration;

use firesteel_host::daemon::Announcement;
use firesteel_host::seldom::Seldom;
use firesteel_host::service_manager::{self, Watchdog};
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_protocol::address::Address;
use firesteel_settings::master::ZooKeeper;
use firesteel_spark::translate::clients::NotAlive;
use firesteel_zookeeper::{Candidate, Ensemble, Reign, Standing, ZooKeeperError};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::leader::Leader;
use super::shell::End;
use super::standby::Standby;
use super::{MasterError, Seat};
use crate::master_journal;

/// The pause before the next attempt to reach ZooKeeper.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a Master that was asked to end tries to hand over the leadership.
const FAREWELL: Duration = Duration::from_secs(1);

/// Stands by and leads in turn, until it is asked to end.
pub(super) async fn serve(
    seat: &Seat,
    zookeeper: &ZooKeeper,
    announcement: Announcement,
    requests: &mut EndRequests,
) -> Result<(), MasterError> {
    let ensemble = ensemble(zookeeper);
    let complaints = Seldom::a_minute(4);
    let mut standby = Some(Standby::begin(seat, None)?);
    seat.announce(announcement);
    loop {
        match turn(seat, &ensemble, &mut standby, requests).await {
            Ok(Some(request)) => return ended(request),
            Ok(None) => tracing::warn!("leads no longer: standing by; executors keep running"),
            Err(Interruption::Master(error)) => return Err(error),
            Err(Interruption::ZooKeeper(error)) => {
                if let Some(left_out) = complaints.next() {
                    tracing::warn!("{error}; retrying{left_out}");
                }
            }
        }
        if standby.is_none() {
            standby = Some(Standby::begin(seat, None)?);
        }
        if let Ok(request) = timeout(PAUSE, requests.next()).await {
            return ended(request);
        }
    }
}

/// Stands by, leads, and stops leading. Returns the request if it was asked to end.
async fn turn(
    seat: &Seat,
    ensemble: &Ensemble,
    standby: &mut Option<Standby>,
    requests: &mut EndRequests,
) -> Result<Option<EndRequest>, Interruption> {
    let election = async {
        let mut candidate = Candidate::stand(ensemble, &seat.reached).await?;
        let reign = elected(seat, &mut candidate, standby).await?;
        Ok::<_, Interruption>((candidate, reign))
    };
    let (candidate, reign) = tokio::select! {
        elected = election => elected?,
        request = requests.next() => return Ok(Some(request)),
        never = Watchdog::start().keep() => match never {},
    };
    match lead(seat, &reign, standby, requests).await? {
        End::Asked(request) => {
            drop(timeout(FAREWELL, candidate.resign()).await);
            Ok(Some(request))
        }
        End::NotDurable(error) if reign.tenure().holds() => Err(MasterError::NotDurable(error).into()),
        End::NotDurable(_) | End::Deposed => Ok(None),
    }
}

#[derive(Debug, thiserror::Error)]
enum Interruption {
    #[error(transparent)]
    ZooKeeper(#[from] ZooKeeperError),
    #[error(transparent)]
    Master(#[from] MasterError),
}

fn ensemble(zookeeper: &ZooKeeper) -> Ensemble {
    let ZooKeeper { servers, directory, session, password } = zookeeper.clone();
    let identity = password.map(|password| ("digest".to_owned(), password));
    Ensemble { servers, directory, session, identity }
}

fn ended(request: EndRequest) -> Result<(), MasterError> {
    tracing::info!("ended: {request}");
    Ok(())
}

/// Waits until it is elected. Meanwhile it tells peers who leads.
async fn elected(
    seat: &Seat,
    candidate: &mut Candidate,
    standby: &mut Option<Standby>,
) -> Result<Box<Reign>, Interruption> {
    loop {
        match candidate.next().await? {
            Standing::Leads(reign) => return Ok(reign),
            Standing::Follows { leader } => {
                let who = leader.as_ref().map_or("another one".to_owned(), Address::url);
                tracing::info!("standing by: {who} leads");
                service_manager::status(&format!("standing by: {who} leads"));
                *standby = Some(Standby::begin(seat, leader)?);
            }
        }
    }
}

/// Recovers the state that the Masters share, and leads. Peers are refused until the state is recovered.
async fn lead(
    seat: &Seat,
    reign: &Reign,
    standby: &mut Option<Standby>,
    requests: &mut EndRequests,
) -> Result<End, MasterError> {
    let znodes = reign.znodes();
    tracing::info!("elected in epoch {}: reading the state that the Masters share", reign.epoch());
    let read = match znodes.read().await {
        Ok(read) => read,
        // The Master that can read it leads.
        Err(error) => {
            tracing::warn!("cannot lead: {error}");
            return Ok(End::Deposed);
        }
    };
    tracing::info!("read {} bytes of state", read.as_ref().map_or(0, |(_, bytes)| bytes.len()));
    seat.site.starts();
    seat.rest.stands(NotAlive::Recovering);
    let (config, now) = (seat.config()?, seat.clock.now());
    let recovering = spawn_blocking(move || master_journal::take_over(read, znodes, config, now));
    let (master, journal) = match recovering.await.expect("it does not panic") {
        Ok(recovered) => recovered,
        Err(_) if !reign.tenure().holds() => return Ok(End::Deposed),
        Err(error) => return Err(error.into()),
    };
    let leader = Leader { master, journal: Some(journal), epoch: reign.epoch(), tenure: reign.tenure() };
    let announce = || {
        let (epoch, session) = (reign.epoch(), reign.session_timeout().as_secs_f64());
        tracing::info!("leads in epoch {epoch}; another Master takes over after {session} s of silence");
        service_manager::status(&format!("leads in epoch {epoch}"));
        *standby = None;
    };
    leader.serve(seat, announce, requests).await
}
