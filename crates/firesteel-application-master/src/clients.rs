//! Requests of status clients, for which the ApplicationMaster is a Master with one application and no Workers.

use std::collections::BTreeMap;

use firesteel_placement::{Cores, ExecutorLimit, ExecutorSize, ResourceAmounts, Resources, Shortfall};
use firesteel_protocol::ids::{ExecutorId, PeerId, ProfileId};
use firesteel_protocol::messages::{
    ApplicationAnswer, ApplicationDetail, ApplicationState, ApplicationView, ClientToMaster, ClusterView,
    DecommissionAnswer, ExecutorView, HistoryPage, KillAnswer, KillDriverAnswer, MasterToClient, PageSize,
    ProfileView, RefusedDriver, SchedulingStatus, StateCursor, StateHead, StatePage, StateRow, StateTotals,
    Step, SubmitDriverAnswer, Submitter, page,
};
use firesteel_protocol::scheduling::SchedulingSettings;
use firesteel_protocol::time::Timestamp;

use super::ending::Verdict;
use super::executors::Known;
use super::{ApplicationMaster, Effect, Outbound, Phase};
use crate::allocator;

/// The maximum length of the name of a user who kills an application, in bytes. Longer names are cut.
const LONGEST_NAME: usize = 200;

impl ApplicationMaster {
    pub(super) fn on_client_message(&mut self, now: Timestamp, peer: PeerId, message: ClientToMaster) {
        match message {
            ClientToMaster::RequestMasterState { from } => {
                let page = self.state_page(now, &from);
                self.answer(peer, MasterToClient::MasterStateResponse(page));
            }
            ClientToMaster::RequestApplication { app, executors_from } => {
                let answer = match self.is_meant(&app) {
                    true => ApplicationAnswer::Known(Box::new(self.detail(now, executors_from))),
                    false => ApplicationAnswer::Unknown,
                };
                self.answer(peer, MasterToClient::ApplicationResponse(answer));
            }
            ClientToMaster::RequestReadyz => self.answer(peer, MasterToClient::ReadyzResponse),
            // An ApplicationMaster has YARN's containers, and no Workers.
            ClientToMaster::DecommissionWorkers { .. } => {
                let unknown = DecommissionAnswer::Unknown;
                self.answer(peer, MasterToClient::DecommissionWorkersResponse(unknown));
            }
            ClientToMaster::RequestSubmitDriver(_) => {
                let refused = SubmitDriverAnswer::Refused(RefusedDriver::NoWorkers);
                self.answer(peer, MasterToClient::SubmitDriverResponse(refused));
            }
            ClientToMaster::RequestKillDriver { .. } => {
                self.answer(peer, MasterToClient::KillDriverResponse(KillDriverAnswer::Unknown));
            }
            ClientToMaster::RequestDriverStatus { .. } => {
                self.answer(peer, MasterToClient::DriverStatusResponse(None));
            }
            ClientToMaster::RequestKillAllDrivers { .. } => {
                self.answer(peer, MasterToClient::KillAllDriversResponse { drivers: 0 });
            }
            ClientToMaster::RequestClearCompletedDriversAndApps { .. } => {
                self.answer(peer, MasterToClient::ClearCompletedResponse);
            }
            // YARN itself keeps the history of its applications.
            ClientToMaster::RequestHistory { .. } => {
                let none = HistoryPage { now, rows: Vec::new(), next: None };
                self.answer(peer, MasterToClient::HistoryResponse(none));
            }
            ClientToMaster::RequestLog { .. } => {
                let why = "YARN has the logs of its containers: firesteel yarn logs".to_owned();
                self.answer(peer, MasterToClient::RequestLogFailed { why });
            }
            ClientToMaster::KillApplication { app, by } => {
                if !self.is_meant(&app) {
                    let unknown = MasterToClient::KillApplicationResponse(KillAnswer::Unknown);
                    return self.answer(peer, unknown);
                }
                let killed = KillAnswer::Killed {
                    app: self.config.app.clone(),
                    executors: self.executors.iter().count() as u64,
                    cores: self.cores(),
                };
                self.answer(peer, MasterToClient::KillApplicationResponse(killed));
                self.finish(Verdict::killed(by.name().chars().take(LONGEST_NAME).collect()));
            }
        }
    }

    fn is_meant(&self, which: &str) -> bool {
        let named = self.drivers.description().is_some_and(|description| description.name == which);
        named || self.config.app.as_str() == which
    }

    fn cores(&self) -> Cores {
        self.executors.iter().map(|(_, row)| row.cores).sum()
    }

    /// The page of the state that begins at this place. The application has the number 0.
    fn state_page(&self, now: Timestamp, from: &StateCursor) -> StatePage {
        let row = (*from <= StateCursor::Application(0))
            .then(|| StateRow::Application { number: 0, view: Box::new(self.row()) });
        let first = match from {
            StateCursor::Worker(_) | StateCursor::Application(_) | StateCursor::Driver(_) => {
                Some(ExecutorId(0))
            }
            StateCursor::Executor { application: 0, executor } => Some(*executor),
            StateCursor::Executor { .. } => None,
        };
        let executors = first.into_iter().flat_map(|first| self.executors.live_from(first));
        let executors =
            executors.map(|(id, known)| StateRow::Executor { application: 0, view: view(id, known) });
        let head = (*from == StateCursor::beginning()).then(|| self.head());
        StatePage::of(now, head, PageSize::default(), row.into_iter().chain(executors).map(Step::Row))
    }

    fn head(&self) -> StateHead {
        let executors = self.executors.iter().count() as u64;
        StateHead {
            url: self.config.url.clone(),
            web_address: None,
            // YARN chooses nodes, orders applications and reserves resources by its own rules.
            scheduling: SchedulingSettings::default(),
            reserved: Vec::new(),
            lag_millis: 0,
            is_exposed: false,
            totals: StateTotals { workers: 0, applications: 1, completed: 0, drivers: 0, executors },
        }
    }

    fn detail(&self, now: Timestamp, from: ExecutorId) -> ApplicationDetail {
        let known: BTreeMap<ExecutorId, Known<'_>> =
            self.executors.live_from(from).chain(self.executors.ended_from(from)).collect();
        let known = known.into_iter().map(|(id, known)| view(id, known));
        let (executors, next) = page(PageSize::default(), known);
        ApplicationDetail {
            now,
            master: self.config.url.clone(),
            application: ApplicationView { executors, ..self.row() },
            next_executor: next.map(|view| view.id),
            scheduling: (from == ExecutorId(0)).then(|| self.scheduling(now)),
        }
    }

    /// How the scheduler sees the application. Of the cluster, only the number of machines and the granted containers
    /// are known.
    fn scheduling(&self, now: Timestamp) -> SchedulingStatus {
        let view = self.allocator.view(now);
        let shortfalls: BTreeMap<ProfileId, Shortfall> = self.shortfalls(now).into_iter().collect();
        let profile = |(id, profile): (&ProfileId, &allocator::ProfileView)| {
            let size = self.allocator.size(*id)?;
            let shortfall = shortfalls.get(id).cloned();
            Some(ProfileView {
                id: *id,
                size: ExecutorSize::Fixed(size.cores),
                memory: size.own_memory,
                resources: ResourceAmounts::new(),
                limit: ExecutorLimit::AtMost(profile.target),
                held: profile.starting + profile.running,
                may_have_more: shortfall.is_some(),
                large_enough: 0,
                with_room: 0,
                shortfall,
                outlook: None,
                advice: Vec::new(),
            })
        };
        SchedulingStatus {
            policy: None,
            profiles: view.profiles.iter().filter_map(profile).collect(),
            cores_spent: Cores::ZERO,
            failures: u32::try_from(view.failures).unwrap_or(u32::MAX),
            relaunch_at: None,
            excluded: Vec::new(),
            more_excluded: 0,
            impaired: Vec::new(),
            ahead: 0,
            blocker: None,
            cluster: ClusterView { workers: view.machines.unwrap_or(0), ..ClusterView::default() },
            holders: Vec::new(),
            more_holders: 0,
            late: Vec::new(),
            expected_start: None,
        }
    }

    /// The application without its executors.
    fn row(&self) -> ApplicationView {
        let submitter = self.drivers.description().map(|it| Submitter::new(&*it.name, &*it.user));
        let submitter = submitter.unwrap_or_default();
        ApplicationView {
            state: match &self.phase {
                Phase::Idle | Phase::Waiting { .. } => ApplicationState::Waiting,
                Phase::Serving | Phase::Stopping { .. } | Phase::Finishing(_) | Phase::Done => {
                    ApplicationState::Running
                }
            },
            outcome: self.drivers.outcome().cloned(),
            cores_granted: self.cores(),
            memory_per_executor: self
                .allocator
                .size(ProfileId::DEFAULT)
                .map(|size| size.own_memory)
                .unwrap_or_default(),
            executors_live: self.executors.iter().count() as u64,
            executors_ended: self.executors.ended(),
            executors_forgotten: self.executors.forgotten(),
            executors: Vec::new(),
            ..ApplicationView::registered(self.config.app.clone(), submitter, self.started)
        }
    }

    fn answer(&mut self, peer: PeerId, message: MasterToClient) {
        self.effects.push(Effect::Send { peer, message: Outbound::Client(message) });
    }
}

fn view(id: ExecutorId, Known { row, state, ended }: Known<'_>) -> ExecutorView {
    ExecutorView {
        id,
        worker: row.worker.clone(),
        profile: row.profile,
        cores: row.cores,
        memory: row.memory,
        resources: Resources::default(),
        state,
        host: row.node.host.clone(),
        port: row.node.port,
        directory: row.logs.clone(),
        launched: row.launched,
        started: row.started,
        ended,
    }
}
