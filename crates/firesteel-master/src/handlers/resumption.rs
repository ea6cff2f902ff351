//! How a driver returns to a restarted Master, or returns on another connection.

use std::time::Duration;

use firesteel_protocol::ids::{AppId, ExecutorId, PeerId, ProfileId};
use firesteel_protocol::messages::{
    ApplicationEnd, ExecutorState, MasterToDriver, Resumption, WorkerDescription,
};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::time::Timestamp;

use crate::tables::applications::application::Application;
use crate::tables::capacity::Holding;
use crate::tables::executors::executor::Executor;
use crate::tables::executors::record::ExecutorRecord;
use crate::tables::link::Link;
use crate::{Effect, Master, Note, Pass};

/// Messages about changes that were recorded this shortly before the Master stopped may not have been sent to drivers.
const UNHEARD: Duration = Duration::from_secs(10);

impl Master {
    /// Handles a driver that was registered before. If it shows the application's token, it gets the application back,
    /// with messages about what has happened to the executors since. If the application is unknown, or ended because
    /// its driver was lost, it is registered as a new one.
    ///
    /// Source: Spark Master, 4.0.1, where drivers wait until the Master calls them.
    pub(crate) fn on_resume_application(&mut self, now: Timestamp, peer: PeerId, resumption: Resumption) {
        if self.is_of_other_state(now, &resumption) || self.keeps_waiting(now, peer, &resumption) {
            return;
        }
        let Resumption { app, executors, description } = resumption;
        if self.applications.of_peer(peer).is_some() {
            return self.on_register_application(now, peer, *description);
        }
        let token = &description.token;
        let is_its_driver = |known: &Secret| !token.reveal().is_empty() && *known == *token;
        match self.applications.get(&app) {
            Some(application) if is_its_driver(&application.description.token) => {
                match application.description.callback.is_empty() {
                    true => self.resume(peer, &app, &executors, description.first_executor),
                    false => {
                        let executors = self.may_be_unheard(application);
                        self.resume(peer, &app, &executors, ExecutorId(u32::MAX));
                    }
                }
            }
            Some(_) => self.on_register_application(now, peer, *description),
            None => match self.end_of(&app) {
                Some(end) => self.tell_driver(peer, MasterToDriver::ApplicationRemoved(end.clone())),
                None => self.on_register_application(now, peer, *description),
            },
        }
    }

    /// Compares what the driver has seen with this Master's state. Returns `true` if it is of another state: the driver
    /// gets no answer, so that it keeps waiting for its own Master. A driver without executors has nothing to lose.
    fn is_of_other_state(&mut self, now: Timestamp, resumption: &Resumption) -> bool {
        let Resumption { app, executors, description } = resumption;
        match self.compare_state(now, app.as_str(), &description.seen) {
            Err((theirs, ours)) if !executors.is_empty() => {
                if self.hold.is_first(app) {
                    self.effects.note(Note::OtherStatesDriver { app: app.clone(), theirs, ours });
                }
                true
            }
            Err(_) => false,
            Ok(()) => {
                self.see_next_executor(now, app.as_str(), app, description.first_executor);
                false
            }
        }
    }

    /// Ended executors of whose end the driver perhaps got no message: they ended shortly before the Master stopped, or
    /// after that. Needed for a driver that the Master calls back.
    fn may_be_unheard(&self, application: &Application) -> Vec<ExecutorId> {
        let since = self.stopped - UNHEARD;
        let ended =
            application.ended.iter().filter(|record| record.ended.is_some_and(|ended| ended >= since));
        ended.map(|record| record.id).collect()
    }

    /// How an application ended. `None` if its driver was lost, so that it may begin again.
    fn end_of(&self, app: &AppId) -> Option<&ApplicationEnd> {
        match &self.applications.ended().get(app)?.end {
            ApplicationEnd::DriverLost | ApplicationEnd::NotBack => None,
            end @ (ApplicationEnd::Finished { .. }
            | ApplicationEnd::ExecutorsFailed { .. }
            | ApplicationEnd::Killed { .. }
            | ApplicationEnd::GivenUp { .. }
            | ApplicationEnd::Refused { .. }
            | ApplicationEnd::GangRefused(_)) => Some(end),
        }
    }

    /// Gives a driver its application back, and sends the messages that it may have missed.
    fn resume(&mut self, peer: PeerId, app: &AppId, known: &[ExecutorId], unseen: ExecutorId) {
        if let Link::Here(old) = self.applications.move_to(app, peer) {
            self.effects.push(Effect::Close { peer: old });
        }
        self.effects.note(Note::ApplicationReconnected { app: app.clone() });
        self.confirm_registration(peer, app.clone());
        for message in self.news_of(app, known, unseen) {
            self.tell_driver(peer, message);
        }
        self.pass = Pass::Due;
    }

    /// The messages about an application's executors: the ends of executors that its driver believes to be live, ended
    /// executors from `unseen` on, and all live executors. They are in the order of executor numbers, because a driver
    /// ignores new executors below the highest number that it has seen.
    fn news_of(&self, app: &AppId, known: &[ExecutorId], unseen: ExecutorId) -> Vec<MasterToDriver> {
        let application = self.applications.live(app);
        let mut news = Vec::new();
        for executor in known.iter().filter(|executor| application.executors.get(**executor).is_none()) {
            let record = application.ended.iter().rev().find(|record| record.id == *executor);
            // The list of ended executors is limited, so the record may be missing.
            let state = record.map_or(ExecutorState::Killed(None), |record| record.state.clone());
            news.push(MasterToDriver::ExecutorUpdated { executor: *executor, state, lost_host: None });
        }
        let ended = application.ended.iter().filter(|record| record.id >= unseen);
        let ended = ended.map(|record| (record.id, ended_unheard(record)));
        let live =
            application.executors.iter().map(|(executor, row)| (executor, self.news_of_live(executor, row)));
        let mut by_number: Vec<_> = ended.chain(live).collect();
        by_number.sort_by_key(|(executor, _)| *executor);
        news.extend(by_number.into_iter().flat_map(|(_, messages)| messages));
        news
    }

    fn news_of_live(&self, executor: ExecutorId, row: &Executor) -> Vec<MasterToDriver> {
        let worker = self.workers.row(row.slot);
        let mut news = vec![added(executor, row.profile, &worker.description, &row.grant.amounts())];
        let state = row.probation.state();
        if state == ExecutorState::Running {
            news.push(MasterToDriver::ExecutorUpdated { executor, state, lost_host: None });
        }
        if !worker.stays() {
            let host = Some(worker.description.host.clone());
            news.push(MasterToDriver::ExecutorLeaving { executor, host });
        }
        news
    }
}

/// The messages to a driver about an executor that ended before the driver knew of it.
fn ended_unheard(record: &ExecutorRecord) -> Vec<MasterToDriver> {
    let ExecutorRecord { id: executor, worker, profile, share, state, .. } = record;
    let (executor, state) = (*executor, state.clone());
    vec![
        added(executor, *profile, worker, share),
        MasterToDriver::ExecutorUpdated { executor, state, lost_host: None },
    ]
}

fn added(
    executor: ExecutorId,
    profile: ProfileId,
    worker: &WorkerDescription,
    share: &Holding,
) -> MasterToDriver {
    MasterToDriver::ExecutorAdded {
        executor,
        profile,
        worker: worker.id.clone(),
        host: worker.host.clone(),
        cores: share.cores,
        memory: share.memory,
        port: worker.port,
    }
}
