//! Writes effects and tables as lines of a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use firesteel_master::{Effect, Note, Outbound};
use firesteel_placement::Resources;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, ProfileId};
use firesteel_protocol::messages::{
    ApplicationAnswer, ApplicationView, DecommissionAnswer, ExcludedWorker, KillAnswer, LeavingWorker,
    MasterToClient, MasterToDriver, MasterToWorker, MasterView, ProfileView, SchedulingStatus, WorkerView,
};
use firesteel_protocol::state_reader::{Extent, StateReader};

/// The names of peers and applications in a script.
#[derive(Debug, Default)]
pub struct Names {
    peers: BTreeMap<PeerId, String>,
    apps: BTreeMap<AppId, String>,
    /// Whether a page shows the records of each event.
    pub shows_records: bool,
}

impl Names {
    /// Names a connection after its owner, with a number if the owner had earlier ones.
    pub fn peer(&mut self, peer: PeerId, name: &str) {
        let earlier = self.peers.values().filter(|other| other.split('\'').next() == Some(name)).count();
        self.peers.insert(peer, format!("{name}{}", "'".repeat(earlier)));
    }

    /// Learns the Master's id of an application, which keeps its name when its driver returns.
    pub fn learn(&mut self, peer: PeerId, app: &AppId) {
        let name = self.peers[&peer].clone();
        self.apps.entry(app.clone()).or_insert(name);
    }

    /// The id of an application. For an unknown name, the name itself as an id.
    pub fn app(&self, name: &str) -> AppId {
        let known = self.apps.iter().find(|(_, known)| *known == name);
        known.map_or_else(|| AppId::new(name), |(app, _)| app.clone())
    }

    /// `a1/0`.
    pub fn key(&self, text: &str) -> ExecutorKey {
        let (app, number) = text.split_once('/').unwrap_or_else(|| panic!("{text:?} is no executor"));
        ExecutorKey { app: self.app(app), executor: ExecutorId(number.parse().expect("a number")) }
    }

    /// One effect, as one or several lines. Remarks that only repeat a message are left out.
    pub fn effect(&self, effect: &Effect) -> Vec<String> {
        let lines = match effect {
            Effect::Send { message: Outbound::Client(MasterToClient::MasterStateResponse(page)), .. } => {
                let mut reader = StateReader::new(Extent::Whole);
                reader.read(page.clone()).expect("it is the first page");
                self.view(&reader.finish().expect("it is the last page"))
            }
            Effect::Send {
                message: Outbound::Client(MasterToClient::ApplicationResponse(answer)), ..
            } => self.detail(answer),
            Effect::Send {
                message: Outbound::Client(MasterToClient::KillApplicationResponse(answer)),
                ..
            } => vec![killed(answer)],
            Effect::Send {
                peer,
                message: Outbound::Client(MasterToClient::DecommissionWorkersResponse(answer)),
            } => vec![format!("{} <- {}", self.peers[peer], leaving(answer))],
            Effect::Send { peer, message: Outbound::Client(MasterToClient::RequestForbidden { why }) } => {
                vec![format!("{} <- RequestForbidden {why}", self.peers[peer])]
            }
            Effect::Send { peer, message: Outbound::Client(MasterToClient::ReadyzResponse) } => {
                vec![format!("{} <- ReadyzResponse", self.peers[peer])]
            }
            Effect::Send {
                peer,
                message:
                    Outbound::Client(
                        answer @ (MasterToClient::SubmitDriverResponse(_)
                        | MasterToClient::KillDriverResponse(_)
                        | MasterToClient::DriverStatusResponse(_)
                        | MasterToClient::KillAllDriversResponse { .. }
                        | MasterToClient::ClearCompletedResponse
                        | MasterToClient::HistoryResponse(_)
                        | MasterToClient::LogResponse(_)
                        | MasterToClient::RequestLogFailed { .. }),
                    ),
            } => vec![format!("{} <- {answer:?}", self.peers[peer])],
            Effect::Send { peer, message: Outbound::Worker(message) } => {
                vec![format!("{} <- {}", self.peers[peer], worker_message(message))]
            }
            Effect::Send { peer, message: Outbound::Driver(message) } => {
                vec![format!("{} <- {}", self.peers[peer], driver_message(message))]
            }
            Effect::Persist(records) if self.shows_records => {
                records.iter().map(|record| format!("    {record}")).collect()
            }
            Effect::Persist(_) => Vec::new(),
            Effect::Close { peer } => vec![format!("{} is closed", self.peers[peer])],
            Effect::ReadLog { peer, range, .. } => {
                vec![format!("{} reads the log of {}", self.peers[peer], range.author)]
            }
            Effect::Probe { worker, .. } => vec![format!("{worker} is asked whether it listens")],
            Effect::Note(note) => self.note(note).map(|note| format!("({note})")).into_iter().collect(),
        };
        // Ids of applications contain the time, so they are replaced by names.
        let named =
            |line| self.apps.iter().fold(line, |line: String, (app, name)| line.replace(app.as_str(), name));
        lines.into_iter().map(named).collect()
    }

    fn note(&self, note: &Note) -> Option<String> {
        match note {
            Note::WorkerRegistered { .. }
            | Note::WorkerReconnected { .. }
            | Note::WorkerLeaving { .. }
            | Note::WorkerRefused { .. }
            | Note::ApplicationRegistered { .. }
            | Note::ApplicationRefused { .. }
            | Note::PreferencesRefused { .. }
            | Note::ExecutorLaunched { .. }
            | Note::ApplicationReconnected { .. }
            | Note::DriverSubmitted { .. }
            | Note::DriverRefused { .. }
            | Note::DriverLaunched { .. }
            | Note::DriverKillAsked { .. }
            | Note::Audited(_)
            | Note::ExecutorEnded { .. } => None,
            Note::WorkerRemoved { .. }
            | Note::WorkerAway { .. }
            | Note::ApplicationAway { .. }
            | Note::WorkerLeft { .. }
            | Note::WorkerLate { .. }
            | Note::WorkerHeard { .. }
            | Note::EndedExecutorReturned { .. }
            | Note::ForeignHeld { .. }
            | Note::ForeignDriverWaits { .. }
            | Note::StateIsOlder { .. }
            | Note::OtherStatesDriver { .. }
            | Note::Recovered
            | Note::WorkersExcused { .. }
            | Note::OrderRepeated { .. }
            | Note::WorkerImpaired { .. }
            | Note::WorkerRecovered { .. }
            | Note::Behind { .. }
            | Note::CaughtUp { .. }
            | Note::ApplicationRemoved { .. }
            | Note::Reserved { .. }
            | Note::GangNeverFits { .. }
            | Note::ExecutorPreempted { .. }
            | Note::RelaunchDelayed { .. }
            | Note::WorkerExcluded { .. }
            | Note::WorkerDistrusted { .. }
            | Note::UnknownExecutor { .. }
            | Note::DriverOrderRepeated { .. }
            | Note::DriverReturned { .. }
            | Note::DriverEnded { .. }
            | Note::UnknownDriver { .. }
            | Note::Inconsistent(_) => Some(note.to_string()),
            Note::Ignored { peer, reason } => Some(format!("ignored of {}: {reason}", self.peers[peer])),
        }
    }

    fn view(&self, view: &MasterView) -> Vec<String> {
        let workers = view.workers.iter().map(worker);
        let apps = view.applications.iter().map(|app| self.application(app));
        let ended = view.completed.iter().map(|app| self.application(app));
        workers.chain(apps).chain(ended).collect()
    }

    /// One application: its line, and a line for each profile.
    fn detail(&self, answer: &ApplicationAnswer) -> Vec<String> {
        let detail = match answer {
            ApplicationAnswer::Known(detail) => detail,
            ApplicationAnswer::Unknown => return vec!["no such application".to_owned()],
            ApplicationAnswer::Ambiguous { apps } => return vec![format!("several: {apps:?}")],
        };
        let mut lines = vec![self.application(&detail.application)];
        let Some(scheduling) = &detail.scheduling else { return lines };
        lines.extend(scheduling.profiles.iter().map(profile));
        let SchedulingStatus { ahead, cluster, holders, failures, relaunch_at, excluded, blocker, .. } =
            scheduling;
        let holders: Vec<String> =
            holders.iter().map(|holder| format!("{} {} cores", holder.app, holder.cores.0)).collect();
        lines.push(format!(
            "{ahead} ahead; {} of {} cores free on {} workers; others: {}",
            cluster.cores_free.0,
            cluster.cores.0,
            cluster.workers,
            if holders.is_empty() { "none".to_owned() } else { holders.join(", ") }
        ));
        if let Some(blocker) = blocker {
            lines.push(format!("it waits: {blocker}"));
        }
        for ExcludedWorker { worker, end, times, until, for_all } in excluded {
            let millis = until.since(detail.now).as_millis();
            let whom = if *for_all { " for all" } else { "" };
            lines.push(format!(
                "{worker} is excluded{whom} for {millis} ms: executors {end} there, {times} in a row"
            ));
        }
        if let Some(time) = relaunch_at {
            let millis = time.since(detail.now).as_millis();
            lines.push(format!("{failures} failures in a row, next launch in {millis} ms"));
        }
        lines
    }

    fn application(&self, app: &ApplicationView) -> String {
        let name = self.apps.get(&app.id).map_or(app.id.as_str(), String::as_str);
        let mut line = format!("{name}: {:?}, holds {} cores", app.state, app.cores_granted.0);
        if let Some(max) = app.max_cores {
            let _ = write!(line, " of {}", max.0);
        }
        if let Some(end) = &app.end {
            let _ = write!(line, " ({end})");
        }
        if let Some(outcome) = &app.outcome {
            let _ = write!(line, " ({outcome})");
        }
        let live = app.executors.iter().filter(|executor| !executor.state.is_finished());
        for executor in live {
            let _ = write!(line, "; {} {} on {}", executor.id, executor.state.name(), executor.worker);
        }
        let ended = app.executors_ended;
        if ended > 0 {
            let _ = write!(line, "; {ended} ended");
        }
        line
    }
}

fn profile(profile: &ProfileView) -> String {
    let ProfileView { id, held, large_enough, with_room, shortfall, advice, .. } = profile;
    let why = shortfall.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    let advice: Vec<String> = advice
        .iter()
        .map(|it| format!("; {:?} would bring {} with {} cores", it.change, it.executors, it.cores.0))
        .collect();
    format!(
        "profile {id}: holds {held}, {large_enough} workers large enough, {with_room} with room{why}{}",
        advice.concat()
    )
}

fn killed(answer: &KillAnswer) -> String {
    match answer {
        KillAnswer::Killed { app, executors, cores } => {
            format!("killed {app}: {executors} executors, {} cores", cores.0)
        }
        KillAnswer::Over { app, state, outcome: None, .. } => format!("{app} was over: {state:?}"),
        KillAnswer::Over { app, state, outcome: Some(outcome), .. } => {
            format!("{app} was over: {state:?}, {outcome}")
        }
        KillAnswer::Unknown => "no such application".to_owned(),
        KillAnswer::Ambiguous { apps } => format!("several: {apps:?}"),
    }
}

fn leaving(answer: &DecommissionAnswer) -> String {
    match answer {
        DecommissionAnswer::Unknown => "no such Worker".to_owned(),
        DecommissionAnswer::Leaving { workers, more } => {
            let each = |worker: &LeavingWorker| format!("{} with {} executors", worker.id, worker.executors);
            let all: Vec<String> = workers.iter().map(each).collect();
            format!("leaving: {}, {more} more", all.join(", "))
        }
    }
}

fn worker(worker: &WorkerView) -> String {
    let excluded = match (worker.excluded_until, worker.excluded_for) {
        (Some(_), _) => " (excluded for all)".to_owned(),
        (None, 0) => String::new(),
        (None, apps) => format!(" (excluded for {apps})"),
    };
    format!(
        "{}: {:?}{excluded}, {} of {} cores and {} of {} used{}",
        worker.id,
        worker.state,
        worker.cores_used.0,
        worker.cores.0,
        worker.memory_used,
        worker.memory,
        addresses(&worker.resources_used),
    )
}

fn worker_message(message: &MasterToWorker) -> String {
    match message {
        MasterToWorker::RegisteredWorker { heartbeat_millis, duplicate, .. } => {
            let known = if *duplicate { ", known already" } else { "" };
            format!("RegisteredWorker, heartbeat every {heartbeat_millis} ms{known}")
        }
        MasterToWorker::RegisterWorkerFailed(reason) => format!("RegisterWorkerFailed: {reason}"),
        MasterToWorker::ReconnectWorker => "ReconnectWorker".to_owned(),
        MasterToWorker::LaunchExecutor(launch) => {
            let profile = match launch.profile {
                ProfileId::DEFAULT => String::new(),
                profile => format!(", profile {profile}"),
            };
            format!(
                "LaunchExecutor {}: {} cores, {}{}{profile}",
                launch.executor,
                launch.cores.0,
                launch.memory,
                addresses(&launch.resources)
            )
        }
        MasterToWorker::KillExecutor { executor } => format!("KillExecutor {executor}"),
        MasterToWorker::ApplicationFinished { app } => format!("ApplicationFinished {app}"),
        MasterToWorker::ExecutorEndNoted { executor } => format!("ExecutorEndNoted {executor}"),
        MasterToWorker::DecommissionWorker { within_millis: None } => "DecommissionWorker".to_owned(),
        MasterToWorker::DecommissionWorker { within_millis: Some(time) } => {
            format!("DecommissionWorker within {time} ms")
        }
        MasterToWorker::LaunchDriver(launch) => {
            format!("LaunchDriver {}{}", launch.driver, addresses(&launch.resources))
        }
        MasterToWorker::KillDriver { driver } => format!("KillDriver {driver}"),
        MasterToWorker::DriverEndNoted { driver } => format!("DriverEndNoted {driver}"),
    }
}

pub fn driver_message(message: &MasterToDriver) -> String {
    match message {
        MasterToDriver::RegisteredApplication { .. } => "RegisteredApplication".to_owned(),
        MasterToDriver::ExecutorAdded { executor, worker, cores, .. } => {
            format!("ExecutorAdded {executor} on {worker}: {} cores", cores.0)
        }
        MasterToDriver::ExecutorUpdated { executor, state, lost_host } => {
            let host = lost_host.as_ref().map(|host| format!(", with host {host}")).unwrap_or_default();
            format!("ExecutorUpdated {executor}: {state}{host}")
        }
        MasterToDriver::ExecutorLeaving { executor, host } => {
            let host = host.as_ref().map(|host| format!(", with host {host}")).unwrap_or_default();
            format!("ExecutorLeaving {executor}{host}")
        }
        MasterToDriver::WorkerRemoved { worker, reason, .. } => format!("WorkerRemoved {worker}: {reason}"),
        MasterToDriver::ExecutorsGone { .. } => "ExecutorsGone".to_owned(),
        MasterToDriver::ApplicationRemoved(end) => format!("ApplicationRemoved: {end}"),
        MasterToDriver::ExecutorsRequested { accepted } => format!("ExecutorsRequested: {accepted}"),
        MasterToDriver::ExecutorsKilled { accepted } => format!("ExecutorsKilled: {accepted}"),
        MasterToDriver::Shortfalls(shortfalls) => {
            let words: Vec<String> = shortfalls
                .iter()
                .map(|(profile, shortfall)| format!("profile {profile}: {shortfall}"))
                .collect();
            if words.is_empty() {
                "Shortfalls: none".to_owned()
            } else {
                format!("Shortfalls: {}", words.join("; "))
            }
        }
    }
}

/// `, gpu 0 1`.
fn addresses(resources: &Resources) -> String {
    resources
        .iter()
        .map(|(name, addresses)| (name, addresses.collect::<Vec<_>>()))
        .filter(|(_, addresses)| !addresses.is_empty())
        .map(|(name, addresses)| format!(", {name} {}", addresses.join(" ")))
        .collect()
}
