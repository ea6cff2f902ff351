//! How a Master's state is read from its owner loop.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use firesteel_core::address::Address;
use firesteel_core::ids::{AppId, ExecutorId, WorkerId};
use firesteel_core::master::{Event, Inbound};
use firesteel_core::messages::{
    ApplicationAnswer, ApplicationDetail, ClientToMaster, MasterToClient, MasterView, ReservedRoom,
    is_web_address,
};
use firesteel_core::state_reader::{Extent, StateReader};
use firesteel_host::net::{Arrival, Envoys};
use tokio::time::timeout;

use super::super::inquiry::Inquiry;
use super::super::snapshot::{Snapshot, Unanswered};
use crate::master_client::MasterClient;

/// The number of applications whose details are kept for a second.
const KEPT: usize = 8;

/// How long a page waits for another Master that may say where its pages are.
const FOR_A_LINK: Duration = Duration::from_secs(1);

/// Asks one question.
pub(super) async fn ask(
    inquiry: &mut Inquiry<Event>,
    question: ClientToMaster,
) -> Result<MasterToClient, Unanswered> {
    let message = Inbound::Client(question);
    inquiry.ask(|Arrival { peer, at }| Event::Received { peer, arrived: at, message }).await
}

/// Reads the Master's state page by page.
pub(super) async fn state(envoys: Envoys<Event>, extent: Extent) -> Result<MasterView, Unanswered> {
    let mut inquiry = Inquiry::open(&envoys)?;
    let mut reader = StateReader::new(extent);
    while let Some(question) = reader.question() {
        let MasterToClient::MasterStateResponse(page) = ask(&mut inquiry, question).await? else {
            return Err(Unanswered::Ended);
        };
        reader.read(page).map_err(|_| Unanswered::Ended)?;
    }
    let mut view = reader.finish().ok_or(Unanswered::Ended)?;
    let reports = pages(
        &mut inquiry,
        WorkerId::new(""),
        |from| ClientToMaster::RequestWorkerReports { from: from.clone() },
        |answer| match answer {
            MasterToClient::WorkerReportsResponse(page) => Some((page.workers, page.next)),
            _ => None,
        },
    );
    view.hear(reports.await?);
    let needs = pages(
        &mut inquiry,
        0,
        |from| ClientToMaster::RequestApplicationNeeds { from: *from },
        |answer| match answer {
            MasterToClient::ApplicationNeedsResponse(page) => Some((page.needs, page.next)),
            _ => None,
        },
    );
    view.needs.extend(needs.await?.into_iter().map(|need| (need.app, need.resources)));
    let shares = pages(
        &mut inquiry,
        0,
        |from| ClientToMaster::RequestDriverResources { from: *from },
        |answer| match answer {
            MasterToClient::DriverResourcesResponse(page) => Some((page.drivers, page.next)),
            _ => None,
        },
    );
    view.driver_resources.extend(shares.await?.into_iter().map(|share| (share.driver.clone(), share)));
    Ok(view)
}

/// Adds the settings of the scheduler that the state does not have.
pub(super) async fn settings(envoys: &Envoys<Event>, view: &mut MasterView) -> Result<(), Unanswered> {
    let mut inquiry = Inquiry::open(envoys)?;
    view.rule = match ask(&mut inquiry, ClientToMaster::RequestPlacementRule).await? {
        MasterToClient::PlacementRuleResponse { rule } => Some(rule),
        _ => return Err(Unanswered::Ended),
    };
    view.scheduling = match ask(&mut inquiry, ClientToMaster::RequestSchedulingSettings).await? {
        MasterToClient::SchedulingSettingsResponse(settings) => settings,
        _ => return Err(Unanswered::Ended),
    };
    Ok(())
}

/// Reads all pages of rows, the first of which begins at this place. `page` takes the rows out of an answer, and the place of
/// the next one.
async fn pages<T, P: Ord>(
    inquiry: &mut Inquiry<Event>,
    first: P,
    question: impl Fn(&P) -> ClientToMaster,
    page: impl Fn(MasterToClient) -> Option<(Vec<T>, Option<P>)>,
) -> Result<Vec<T>, Unanswered> {
    let (mut all, mut from) = (Vec::new(), Some(first));
    while let Some(first) = from.take() {
        let (rows, next) = page(ask(inquiry, question(&first)).await?).ok_or(Unanswered::Ended)?;
        all.extend(rows);
        from = next.filter(|next| *next > first);
    }
    Ok(all)
}

/// Reads how long live applications say that they run.
pub(super) async fn run_times(envoys: &Envoys<Event>) -> Result<BTreeMap<AppId, Duration>, Unanswered> {
    let times = pages(
        &mut Inquiry::open(envoys)?,
        0,
        |from| ClientToMaster::RequestRunTimes { from: *from },
        |answer| match answer {
            MasterToClient::RunTimesResponse(page) => Some((page.times, page.next)),
            _ => None,
        },
    )
    .await?;
    Ok(times.into_iter().map(|time| (time.app, time.run_time)).collect())
}

/// Asks for which applications room is reserved.
pub(super) async fn reservations(envoys: &Envoys<Event>) -> Result<Vec<ReservedRoom>, Unanswered> {
    let mut inquiry = Inquiry::open(envoys)?;
    match ask(&mut inquiry, ClientToMaster::RequestReservations).await? {
        MasterToClient::ReservationsResponse(rooms) => Ok(rooms),
        _ => Err(Unanswered::Ended),
    }
}

/// Asks a question about an application.
pub(super) async fn ask_application(
    inquiry: &mut Inquiry<Event>,
    question: ClientToMaster,
) -> Result<ApplicationAnswer, Unanswered> {
    match ask(inquiry, question).await? {
        MasterToClient::ApplicationResponse(answer) => Ok(answer),
        _ => Err(Unanswered::Ended),
    }
}

/// Reads an application with all of its executors.
pub(super) async fn application(envoys: Envoys<Event>, app: String) -> Result<ApplicationAnswer, Unanswered> {
    let mut inquiry = Inquiry::open(&envoys)?;
    let question = |executors_from| ClientToMaster::RequestApplication { app: app.clone(), executors_from };
    let mut answer = ask_application(&mut inquiry, question(ExecutorId(0))).await?;
    if let ApplicationAnswer::Known(detail) = &mut answer {
        while let Some(next) = detail.next_executor {
            let more = ask_application(&mut inquiry, question(next)).await?;
            let ApplicationAnswer::Known(more) = more else { break };
            let ApplicationDetail { application, next_executor, .. } = *more;
            detail.application.executors.extend(application.executors);
            detail.next_executor = next_executor;
        }
    }
    Ok(answer)
}

/// The applications that were asked for lately.
#[derive(Debug, Default)]
pub(super) struct Applications {
    kept: Mutex<VecDeque<(String, Arc<Snapshot<ApplicationAnswer>>)>>,
}

impl Applications {
    /// An application with all of its executors, not older than a second.
    pub(super) async fn get(
        &self,
        envoys: &Envoys<Event>,
        app: &str,
    ) -> Result<Arc<ApplicationAnswer>, Unanswered> {
        let snapshot = self.snapshot(app);
        snapshot.get(|| application(envoys.clone(), app.to_owned())).await
    }

    fn snapshot(&self, app: &str) -> Arc<Snapshot<ApplicationAnswer>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().position(|(name, _)| name == app).and_then(|at| kept.remove(at));
        let (name, snapshot) = found.unwrap_or_else(|| (app.to_owned(), Arc::default()));
        kept.push_back((name, Arc::clone(&snapshot)));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        snapshot
    }
}

/// Where another Master serves its pages, if it answers soon and one of its Workers says so. What candidates write in ZooKeeper and
/// what Masters say when a connection opens has no room for it.
pub(super) async fn pages_of(leader: &Address, own_name: &str) -> Option<String> {
    let asked = async { MasterClient::open(leader, own_name).await?.web_address().await };
    let address = timeout(FOR_A_LINK, asked).await.ok()?.ok().flatten();
    address.filter(|address| is_web_address(address))
}
