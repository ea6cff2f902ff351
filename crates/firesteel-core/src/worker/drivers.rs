//! The cluster drivers of this Worker: started, started again if they are supervised, and ended.
//!
//! Source: Spark Worker, 4.0.1 (`DriverRunner`).

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::{Cores, MiB, Resources};

use super::executors::MOST_UNCONFIRMED;
use super::machine::{Reason, Worker, send};
use super::obstacles::Process;
use super::process_stage::ProcessStage;
use super::shutdown::ShutdownPhase;
use super::{DriverPlan, Effect, Note};
use crate::ids::{DriverId, is_sound};
use crate::machine::{Violation, ensure};
use crate::messages::{
    DriverDescription, DriverError, DriverLaunch, DriverReport, DriverState, RunningDriver, Used,
    WorkerToMaster,
};
use crate::process::{ExitStatus, NotStarted, Signal, StartFailure, StartStep};
use crate::time::{Timestamp, millis};

/// The pause before a supervised driver is started again. It doubles with every start.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// After a run longer than this the next pause is the first one again.
const SUCCESSFUL_RUN: Duration = Duration::from_secs(5);

/// The tables of cluster drivers.
#[derive(Debug, Default)]
pub(super) struct Drivers {
    /// Those that have not ended.
    live: BTreeMap<DriverId, Driver>,
    /// The ends that no Master has confirmed.
    unconfirmed: BTreeMap<DriverId, (DriverState, Option<Used>)>,
}

#[derive(Debug)]
struct Driver {
    description: DriverDescription,
    /// The addresses of custom resources that it was given.
    resources: Resources,
    stage: Stage,
    /// How often its process was started.
    starts: u32,
    /// The pause before the next start.
    pause: Duration,
    /// How its process ended last, if it was to be started again.
    last: Option<ExitStatus>,
}

/// The stages of a cluster driver.
///
/// ```text
///  the stages of its process --- could not be started, or ended ---> (end)
///     |                   ^
///     | failed, and       | pause over
///     | is supervised     |
///     +----> PAUSING -----+
///               | asked to end
///               v
///             (end)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The shell was told to start it.
    Process(ProcessStage),
    /// It failed in this way, and will be started again at this time.
    Pausing { until: Timestamp, last: ExitStatus },
}

impl Stage {
    /// The stage of its process, unless it pauses.
    fn process(self) -> Option<ProcessStage> {
        match self {
            Self::Process(process) => Some(process),
            Self::Pausing { .. } => None,
        }
    }

    fn pid(self) -> Option<u32> {
        self.process()?.pid()
    }

    /// Whether it was asked to end.
    fn is_unwanted(self) -> bool {
        self.process().is_some_and(ProcessStage::is_unwanted)
    }

    /// When something is due, and what.
    fn deadline(self, driver: &DriverId) -> Option<(Timestamp, Reason)> {
        match self {
            Self::Process(process) => Some((process.kill_at()?, Reason::DriverKillGrace(driver.clone()))),
            Self::Pausing { until, .. } => Some((until, Reason::DriverPause(driver.clone()))),
        }
    }
}

impl Drivers {
    /// The number of live ones.
    pub(super) fn live(&self) -> usize {
        self.live.len()
    }

    /// Whether it has not ended. One that pauses has not.
    pub(super) fn lives(&self, driver: &DriverId) -> bool {
        self.live.contains_key(driver)
    }

    /// The ids of live ones.
    pub(super) fn ids(&self) -> impl Iterator<Item = &DriverId> {
        self.live.keys()
    }

    pub(super) fn cores_used(&self) -> Cores {
        self.live.values().map(|driver| driver.description.cores).sum()
    }

    pub(super) fn memory_used(&self) -> MiB {
        self.live.values().map(|driver| driver.description.memory).sum()
    }

    pub(super) fn view(&self) -> Vec<RunningDriver> {
        let view = |(driver, row): (&DriverId, &Driver)| RunningDriver {
            driver: driver.clone(),
            cores: row.description.cores,
            memory: row.description.memory,
            starts: row.starts,
            pid: row.stage.pid(),
        };
        self.live.iter().map(view).collect()
    }

    /// Those that a Master is told at registration: all live ones, then those with unconfirmed ends.
    pub(super) fn reports(&self) -> Vec<DriverReport> {
        let live = self.live.keys().map(|driver| DriverReport::new(driver.clone(), DriverState::Running));
        let report = |(driver, (state, used)): (&DriverId, &(DriverState, Option<Used>))| DriverReport {
            driver: driver.clone(),
            state: state.clone(),
            used: *used,
        };
        live.chain(self.unconfirmed.iter().map(report)).collect()
    }

    /// A Master has confirmed the end of a cluster driver.
    pub(super) fn confirm_end(&mut self, driver: &DriverId) {
        self.unconfirmed.remove(driver);
    }

    pub(super) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        self.live.iter().filter_map(|(driver, row)| row.stage.deadline(driver)).min()
    }

    pub(super) fn check(&self, shutdown: &ShutdownPhase) -> Result<(), Violation> {
        for (driver, row) in &self.live {
            ensure!("worker", is_sound(driver.as_str()), "{driver:?} cannot be a directory");
            ensure!("worker", !self.unconfirmed.contains_key(driver), "{driver} lives and has ended");
            ensure!(
                "worker",
                shutdown.wants_master() || *shutdown == ShutdownPhase::Over || row.stage.is_unwanted(),
                "{driver} was not asked to end in {shutdown:?}"
            );
        }
        let live = self.unconfirmed.iter().find(|(_, (state, _))| *state == DriverState::Running);
        ensure!("worker", live.is_none(), "{live:?} is kept as ended");
        ensure!(
            "worker",
            self.unconfirmed.len() <= MOST_UNCONFIRMED,
            "{} unconfirmed ends",
            self.unconfirmed.len()
        );
        Ok(())
    }
}

impl Worker {
    /// The Master has this Worker start a cluster driver. An order for one that is here, or was, is a repetition: it is
    /// answered once more.
    pub(super) fn on_launch_driver(&mut self, launch: DriverLaunch) {
        let DriverLaunch { driver, description, resources } = launch;
        let known = self.drivers.unconfirmed.get(&driver).cloned();
        let runs = || self.drivers.live.contains_key(&driver).then_some((DriverState::Running, None));
        if let Some((state, used)) = known.or_else(runs) {
            self.effects.note(Note::DriverLaunchRepeated { driver: driver.clone() });
            return self.tell_of_driver(DriverReport { driver, state, used });
        }
        if !is_sound(driver.as_str()) {
            let error = format!("{:?} cannot be the name of a directory", driver.as_str());
            let failure = StartFailure { step: StartStep::Directory, error };
            return self.report_driver_end(driver, DriverState::Error(DriverError::NotStarted(failure)));
        }
        if self.shutdown != ShutdownPhase::Serving {
            return self.report_driver_end(driver, DriverState::Submitted);
        }
        let row = Driver {
            description,
            resources,
            stage: Stage::Process(ProcessStage::Starting),
            starts: 0,
            pause: FIRST_PAUSE,
            last: None,
        };
        self.effects.push(self.start(&driver, &row));
        self.drivers.live.insert(driver.clone(), row);
        self.tell_of_driver(DriverReport::new(driver, DriverState::Running));
    }

    fn start(&self, driver: &DriverId, row: &Driver) -> Effect {
        let DriverDescription { user: _, command, cores, memory, supervise: _, resources: _ } =
            &row.description;
        let masters: Vec<String> = self.config.masters.iter().map(ToString::to_string).collect();
        Effect::StartDriver(DriverPlan {
            driver: driver.clone(),
            command: command.clone(),
            cores: *cores,
            memory: *memory,
            on_worker: self.config.description.resources.named_as_here(&row.resources),
            resources: row.resources.clone(),
            master_url: format!("spark://{}", masters.join(",")),
            is_first: row.starts == 0,
        })
    }

    pub(super) fn on_kill_driver(&mut self, now: Timestamp, driver: &DriverId) {
        if self.drivers.live.contains_key(driver) {
            self.effects.note(Note::DriverKillAsked { driver: driver.clone() });
            self.signal_driver(now, driver, Signal::Terminate);
        } else {
            self.effects.note(Note::DriverKillUnknown { driver: driver.clone() });
        }
    }

    pub(super) fn on_driver_started(&mut self, now: Timestamp, driver: DriverId, pid: u32) {
        let row = self.drivers.live.get_mut(&driver);
        let started = row.and_then(|row| {
            let (stage, signal) = row.stage.process()?.started(now, pid)?;
            row.stage = Stage::Process(stage);
            row.starts = row.starts.saturating_add(1);
            Some((row.starts, signal))
        });
        let Some((starts, signal)) = started else {
            return self.effects.note(Note::UnknownDriverRunner { driver });
        };
        self.effects.note(Note::DriverStarted { driver: driver.clone(), pid, starts });
        self.forget_driver_usage(&driver);
        self.tell_of_restarts(now, &driver);
        self.measure_soon(now);
        self.forget_shortages();
        if let Some(signal) = signal {
            self.signal_driver(now, &driver, signal);
        }
    }

    /// A cluster driver's process could not be started.
    pub(super) fn on_driver_failed(&mut self, now: Timestamp, driver: DriverId, why: NotStarted) {
        let stage = self.drivers.live.get(&driver).and_then(|row| row.stage.process());
        match stage.filter(|stage| stage.pid().is_none()) {
            None => self.effects.note(Note::UnknownDriverRunner { driver }),
            Some(_) => self.on_not_started(now, Process::Driver(driver), why),
        }
    }

    /// A cluster driver's process could not be started, and nothing more is to be found out about that. If this Worker can
    /// start nothing, another one starts it. Source: Spark Worker, 4.0.1: it is not tried again.
    pub(super) fn on_driver_start_failed(&mut self, driver: DriverId, failure: StartFailure, is_ours: bool) {
        let row = self.drivers.live.remove(&driver).expect("a driver whose start is looked into lives");
        let state = match row.stage.process() {
            Some(stage) if stage.is_unwanted() => DriverState::Killed(None),
            Some(_) | None if is_ours => DriverState::Submitted,
            Some(_) | None => DriverState::Error(DriverError::NotStarted(failure)),
        };
        self.report_driver_end(driver, state);
    }

    /// A cluster driver's process has ended. Exit code 0 is success, even if it was asked to end.
    pub(super) fn on_driver_exited(&mut self, now: Timestamp, driver: DriverId, status: ExitStatus) {
        let Some(row) = self.drivers.live.get_mut(&driver).filter(|row| row.stage.pid().is_some()) else {
            return self.effects.note(Note::UnknownDriverRunner { driver });
        };
        let state = match row.stage {
            _ if status == ExitStatus::SUCCESS => DriverState::Finished,
            Stage::Process(ProcessStage::Running { since, .. })
                if row.description.supervise && self.shutdown == ShutdownPhase::Serving =>
            {
                if now.since(since) > SUCCESSFUL_RUN {
                    row.pause = FIRST_PAUSE;
                }
                let pause = row.pause;
                row.stage = Stage::Pausing { until: now + pause, last: status };
                row.pause = pause.saturating_mul(2);
                row.last = Some(status);
                self.effects.note(Note::DriverPauses { driver: driver.clone(), status, pause });
                return self.tell_of_restarts(now, &driver);
            }
            stage if stage.is_unwanted() => DriverState::Killed(Some(status)),
            // This Worker leaves. The Master has it started elsewhere: nobody asked for its end.
            _ if row.description.supervise => DriverState::Killed(Some(status)),
            _ => DriverState::Failed(status),
        };
        self.drivers.live.remove(&driver);
        self.report_driver_end(driver, state);
    }

    /// Starts supervised drivers again whose pauses are over, and kills drivers whose grace is.
    pub(super) fn attend_drivers(&mut self, now: Timestamp) {
        let due = |(driver, row): (&DriverId, &Driver)| {
            row.stage.deadline(driver).is_some_and(|(at, _)| at <= now).then(|| driver.clone())
        };
        let due: Vec<DriverId> = self.drivers.live.iter().filter_map(due).collect();
        for driver in due {
            let row = self.drivers.live.get_mut(&driver).expect("it was just found");
            if let Stage::Pausing { .. } = row.stage {
                row.stage = Stage::Process(ProcessStage::Starting);
                let effect = self.start(&driver, &self.drivers.live[&driver]);
                self.effects.push(effect);
            } else {
                self.effects.note(Note::DriverGraceOver { driver: driver.clone() });
                self.signal_driver(now, &driver, Signal::Kill);
            }
        }
    }

    /// Ends all live cluster drivers. One that is being started ends after its start.
    pub(super) fn signal_all_drivers(&mut self, now: Timestamp, signal: Signal) {
        let all: Vec<DriverId> = self.drivers.live.keys().cloned().collect();
        for driver in &all {
            self.signal_driver(now, driver, signal);
        }
    }

    /// The Worker leaves: supervised drivers that pause are started elsewhere.
    pub(super) fn give_up_pauses(&mut self) {
        let pauses = |(driver, row): (&DriverId, &Driver)| match row.stage {
            Stage::Pausing { last, .. } => Some((driver.clone(), last)),
            Stage::Process(_) => None,
        };
        let pausing: Vec<_> = self.drivers.live.iter().filter_map(pauses).collect();
        for (driver, last) in pausing {
            self.drivers.live.remove(&driver);
            self.report_driver_end(driver, DriverState::Killed(Some(last)));
        }
    }

    /// Moves a cluster driver towards its end. A signal no stronger than an earlier one has no effect.
    fn signal_driver(&mut self, now: Timestamp, driver: &DriverId, signal: Signal) {
        let row = self.drivers.live.get_mut(driver).expect("only a live driver is signalled");
        let process = match row.stage {
            Stage::Process(process) => process,
            Stage::Pausing { last, .. } => {
                self.drivers.live.remove(driver);
                return self.report_driver_end(driver.clone(), DriverState::Killed(Some(last)));
            }
        };
        let (stage, is_sent) = process.signalled(signal, now + self.config.driver_kill_grace);
        row.stage = Stage::Process(stage);
        if is_sent {
            self.effects.push(Effect::SignalDriver { driver: driver.clone(), signal });
        }
    }

    /// Reports an end to the log and to the Master, and keeps it until a Master confirms it.
    fn report_driver_end(&mut self, driver: DriverId, state: DriverState) {
        self.effects.note(Note::DriverEnded { driver: driver.clone(), state: state.clone() });
        let used = self.take_used_by_driver(&driver);
        self.tell_of_driver(DriverReport { driver: driver.clone(), state: state.clone(), used });
        self.drivers.unconfirmed.insert(driver, (state, used));
        if self.drivers.unconfirmed.len() > MOST_UNCONFIRMED {
            self.drivers.unconfirmed.pop_first();
        }
    }

    /// Tells the Master how often each cluster driver was started again.
    pub(super) fn tell_of_all_restarts(&mut self, now: Timestamp) {
        let drivers: Vec<DriverId> = self.drivers.live.keys().cloned().collect();
        drivers.iter().for_each(|driver| self.tell_of_restarts(now, driver));
    }

    /// Tells the Master how often a cluster driver was started again, if it was or will be.
    fn tell_of_restarts(&mut self, now: Timestamp, driver: &DriverId) {
        let row = self.drivers.live.get(driver);
        let (Some(Driver { stage, starts, last: Some(last), .. }), Some(peer)) =
            (row, self.registration.master())
        else {
            return;
        };
        let pause_millis = match stage {
            Stage::Pausing { until, .. } => Some(millis(until.since(now))),
            Stage::Process(_) => None,
        };
        let (driver, restarts, last) = (driver.clone(), starts.saturating_sub(1), *last);
        let message = WorkerToMaster::DriverRestarted { driver, restarts, last, pause_millis };
        self.effects.push(send(peer, message));
    }

    fn tell_of_driver(&mut self, report: DriverReport) {
        if let Some(peer) = self.registration.master() {
            self.effects.push(send(peer, WorkerToMaster::DriverStateChanged(report)));
        }
    }
}
