//! One of several Masters: a standby, which becomes the leader when it is elected.

use std::time::Duration;

use firesteel_host::daemon::Announcement;
use firesteel_host::rate_limiter::RateLimiter;
use firesteel_host::service_manager::{self, Watchdog};
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_protocol::address::Address;
use firesteel_settings::master::ZooKeeper;
use firesteel_spark::translate::clients::NotAlive;
use firesteel_zookeeper::{Candidate, CandidateState, Ensemble, Term, ZooKeeperError};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::leader::Leader;
use super::shell::End;
use super::standby::Standby;
use super::{MasterError, ServerContext};
use crate::master_journal;

/// The pause before the next attempt to reach ZooKeeper.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a Master that was asked to end tries to hand the leadership over to another Master.
const FAREWELL: Duration = Duration::from_secs(1);

/// Alternates between standby and leader until the Master is asked to end.
pub(super) async fn serve(
    server_context: &ServerContext,
    zookeeper: &ZooKeeper,
    announcement: Announcement,
    requests: &mut EndRequests,
) -> Result<(), MasterError> {
    let ensemble = ensemble(zookeeper);
    let complaints = RateLimiter::per_minute(4);
    let mut standby = Some(Standby::begin(server_context, None)?);
    server_context.announce(announcement);
    loop {
        match turn(server_context, &ensemble, &mut standby, requests).await {
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
            standby = Some(Standby::begin(server_context, None)?);
        }
        if let Ok(request) = timeout(PAUSE, requests.next()).await {
            return ended(request);
        }
    }
}

/// Runs one turn: stands by, leads, and stops leading. If the Master is asked to end meanwhile, returns that request.
async fn turn(
    server_context: &ServerContext,
    ensemble: &Ensemble,
    standby: &mut Option<Standby>,
    requests: &mut EndRequests,
) -> Result<Option<EndRequest>, Interruption> {
    let election = async {
        let mut candidate = Candidate::stand(ensemble, &server_context.reached).await?;
        let term = elected(server_context, &mut candidate, standby).await?;
        Ok::<_, Interruption>((candidate, term))
    };
    let (candidate, term) = tokio::select! {
        elected = election => elected?,
        request = requests.next() => return Ok(Some(request)),
        never = Watchdog::start().keep() => match never {},
    };
    match lead(server_context, &term, standby, requests).await? {
        End::Asked(request) => {
            drop(timeout(FAREWELL, candidate.resign()).await);
            Ok(Some(request))
        }
        End::NotDurable(error) if term.lease().holds() => Err(MasterError::NotDurable(error).into()),
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

/// Waits until this Master is elected. Meanwhile, peers that connect are informed who the leader is.
async fn elected(
    server_context: &ServerContext,
    candidate: &mut Candidate,
    standby: &mut Option<Standby>,
) -> Result<Box<Term>, Interruption> {
    loop {
        match candidate.next().await? {
            CandidateState::Leads(term) => return Ok(term),
            CandidateState::Follows { leader } => {
                let who = leader.as_ref().map_or("another one".to_owned(), Address::url);
                tracing::info!("standing by: {who} leads");
                service_manager::status(&format!("standing by: {who} leads"));
                *standby = Some(Standby::begin(server_context, leader)?);
            }
        }
    }
}

/// Recovers the state that the Masters share, and then leads. Peers are refused until the state is recovered.
async fn lead(
    server_context: &ServerContext,
    term: &Term,
    standby: &mut Option<Standby>,
    requests: &mut EndRequests,
) -> Result<End, MasterError> {
    let znodes = term.znodes();
    tracing::info!("elected in epoch {}: reading the state that the Masters share", term.epoch());
    let read = match znodes.read().await {
        Ok(read) => read,
        // The Master that can read it leads.
        Err(error) => {
            tracing::warn!("cannot lead: {error}");
            return Ok(End::Deposed);
        }
    };
    tracing::info!("read {} bytes of state", read.as_ref().map_or(0, |(_, bytes)| bytes.len()));
    server_context.site.starts();
    server_context.rest.stands(NotAlive::Recovering);
    let (config, now) = (server_context.config()?, server_context.clock.now());
    let recovering = spawn_blocking(move || master_journal::take_over(read, znodes, config, now));
    let (master, journal) = match recovering.await.expect("it does not panic") {
        Ok(recovered) => recovered,
        Err(_) if !term.lease().holds() => return Ok(End::Deposed),
        Err(error) => return Err(error.into()),
    };
    let leader = Leader { master, journal: Some(journal), epoch: term.epoch(), lease: term.lease() };
    let announce = || {
        let (epoch, session) = (term.epoch(), term.session_timeout().as_secs_f64());
        tracing::info!("leads in epoch {epoch}; another Master takes over after {session} s of silence");
        service_manager::status(&format!("leads in epoch {epoch}"));
        *standby = None;
    };
    leader.serve(server_context, announce, requests).await
}
