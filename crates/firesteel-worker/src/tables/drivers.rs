//! The table of cluster drivers, and of the ends that no Master has confirmed.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::ids::{DriverId, is_sound};
use firesteel_protocol::machine::{Violation, ensure};
use firesteel_protocol::messages::{DriverDescription, DriverReport, DriverState, RunningDriver, Used};
use firesteel_protocol::process::{ExitStatus, Signal};
use firesteel_protocol::time::{Timestamp, millis};

use super::executors::MOST_UNCONFIRMED;
use super::process_stage::ProcessStage;
use super::shutdown_phase::ShutdownPhase;
use crate::{Config, DriverPlan, Reason};

/// The pause before a supervised driver is started again. The pause doubles with every start.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// If a driver ran for longer than this, the next pause is [`FIRST_PAUSE`] again.
const SUCCESSFUL_RUN: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(crate) struct Drivers {
    /// The cluster drivers that have not ended.
    live: BTreeMap<DriverId, Driver>,
    /// The ends that no Master has confirmed.
    unconfirmed: BTreeMap<DriverId, (DriverState, Option<Used>)>,
}

#[derive(Debug)]
struct Driver {
    description: DriverDescription,
    /// The addresses of custom resources that the driver holds.
    resources: Resources,
    stage: Stage,
    starts: u32,
    pause: Duration,
    /// How the driver's previous process ended, if the driver was started again after it.
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
    Process(ProcessStage),
    /// The driver failed with this status, and will be started again at this time.
    Pausing {
        until: Timestamp,
        last: ExitStatus,
    },
}

impl Stage {
    /// The stage of the driver's process. `None` if the driver pauses.
    fn process(self) -> Option<ProcessStage> {
        match self {
            Self::Process(process) => Some(process),
            Self::Pausing { .. } => None,
        }
    }

    fn pid(self) -> Option<u32> {
        self.process()?.pid()
    }

    fn is_unwanted(self) -> bool {
        self.process().is_some_and(ProcessStage::is_unwanted)
    }

    /// The time of the driver's next deadline, and the reason for it.
    fn deadline(self, driver: &DriverId) -> Option<(Timestamp, Reason)> {
        match self {
            Self::Process(process) => Some((process.kill_at()?, Reason::DriverKillGrace(driver.clone()))),
            Self::Pausing { until, .. } => Some((until, Reason::DriverPause(driver.clone()))),
        }
    }
}

/// The result of a signal to a cluster driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriverSignalled {
    /// The driver's process gets the signal.
    Process,
    /// Nothing happens now. The driver's process gets the signal after its start, or got an equally strong one before.
    Noted,
    /// The driver was pausing, and has now ended. Its last process ended with this status.
    Ended(ExitStatus),
}

/// What follows from the end of a cluster driver's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DriverExited {
    /// The driver will be started again after this pause.
    Pauses(Duration),
    Ended(DriverState),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restarts {
    pub(crate) restarts: u32,
    pub(crate) last: ExitStatus,
    /// The remaining time of the pause, if the driver pauses.
    pub(crate) pause_millis: Option<u64>,
}

impl Drivers {
    pub(crate) fn live(&self) -> usize {
        self.live.len()
    }

    /// Whether a cluster driver is live. A driver that pauses is live.
    pub(crate) fn lives(&self, driver: &DriverId) -> bool {
        self.live.contains_key(driver)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &DriverId> {
        self.live.keys()
    }

    /// The report about a known cluster driver, to repeat to a Master.
    pub(crate) fn report(&self, driver: &DriverId) -> Option<DriverReport> {
        let running = || self.lives(driver).then_some((DriverState::Running, None));
        let (state, used) = self.unconfirmed.get(driver).cloned().or_else(running)?;
        Some(DriverReport { driver: driver.clone(), state, used })
    }

    /// Adds a cluster driver that this Worker has to run.
    pub(crate) fn add(&mut self, driver: DriverId, description: DriverDescription, resources: Resources) {
        let row = Driver {
            description,
            resources,
            stage: Stage::Process(ProcessStage::Starting),
            starts: 0,
            pause: FIRST_PAUSE,
            last: None,
        };
        self.live.insert(driver, row);
    }

    /// The process to start for a live cluster driver.
    pub(crate) fn plan(&self, driver: &DriverId, config: &Config) -> DriverPlan {
        let row = &self.live[driver];
        let DriverDescription { user: _, command, cores, memory, supervise: _, resources: _ } =
            &row.description;
        let masters: Vec<String> = config.masters.iter().map(ToString::to_string).collect();
        DriverPlan {
            driver: driver.clone(),
            command: command.clone(),
            cores: *cores,
            memory: *memory,
            on_worker: config.description.resources.named_as_here(&row.resources),
            resources: row.resources.clone(),
            master_url: format!("spark://{}", masters.join(",")),
            is_first: row.starts == 0,
        }
    }

    /// Records that the driver's process runs. Returns the number of its starts, and the signal that waited for the
    /// start. `None` if the driver was not being started.
    pub(crate) fn started(
        &mut self,
        now: Timestamp,
        driver: &DriverId,
        pid: u32,
    ) -> Option<(u32, Option<Signal>)> {
        let row = self.live.get_mut(driver)?;
        let (stage, signal) = row.stage.process()?.started(now, pid)?;
        row.stage = Stage::Process(stage);
        row.starts = row.starts.saturating_add(1);
        Some((row.starts, signal))
    }

    pub(crate) fn is_starting(&self, driver: &DriverId) -> bool {
        let stage = self.live.get(driver).and_then(|row| row.stage.process());
        stage.is_some_and(|stage| stage.pid().is_none())
    }

    /// Removes a cluster driver whose process could not be started. Returns whether it was asked to end.
    pub(crate) fn remove_unstarted(&mut self, driver: &DriverId) -> bool {
        let row = self.live.remove(driver).expect("a driver whose start is looked into lives");
        row.stage.is_unwanted()
    }

    /// Records that the driver's process has ended. Exit code 0 is success, even if the driver was asked to end.
    /// Returns `None` if the driver had no running process.
    pub(crate) fn exited(
        &mut self,
        now: Timestamp,
        driver: &DriverId,
        status: ExitStatus,
        shutdown: ShutdownPhase,
    ) -> Option<DriverExited> {
        let row = self.live.get_mut(driver).filter(|row| row.stage.pid().is_some())?;
        let state = match row.stage {
            _ if status == ExitStatus::SUCCESS => DriverState::Finished,
            Stage::Process(ProcessStage::Running { since, .. })
                if row.description.supervise && shutdown == ShutdownPhase::Serving =>
            {
                if now.since(since) > SUCCESSFUL_RUN {
                    row.pause = FIRST_PAUSE;
                }
                let pause = row.pause;
                row.stage = Stage::Pausing { until: now + pause, last: status };
                row.pause = pause.saturating_mul(2);
                row.last = Some(status);
                return Some(DriverExited::Pauses(pause));
            }
            stage if stage.is_unwanted() => DriverState::Killed(Some(status)),
            // This Worker is leaving. Nobody asked to end the driver, so the Master has it started elsewhere.
            _ if row.description.supervise => DriverState::Killed(Some(status)),
            _ => DriverState::Failed(status),
        };
        self.live.remove(driver);
        Some(DriverExited::Ended(state))
    }

    /// The cluster drivers whose pause or grace period is over.
    pub(crate) fn due(&self, now: Timestamp) -> Vec<DriverId> {
        let due = |(driver, row): (&DriverId, &Driver)| {
            row.stage.deadline(driver).is_some_and(|(at, _)| at <= now).then(|| driver.clone())
        };
        self.live.iter().filter_map(due).collect()
    }

    /// Ends the pause of a live cluster driver that is being started again. Returns whether the driver was pausing.
    pub(crate) fn end_pause(&mut self, driver: &DriverId) -> bool {
        let Some(row) = self.live.get_mut(driver) else { return false };
        let pauses = matches!(row.stage, Stage::Pausing { .. });
        if pauses {
            row.stage = Stage::Process(ProcessStage::Starting);
        }
        pauses
    }

    /// Removes the pausing cluster drivers. Returns the exit status of each driver's last process.
    pub(crate) fn take_pausing(&mut self) -> Vec<(DriverId, ExitStatus)> {
        let pauses = |(driver, row): (&DriverId, &Driver)| match row.stage {
            Stage::Pausing { last, .. } => Some((driver.clone(), last)),
            Stage::Process(_) => None,
        };
        let pausing: Vec<_> = self.live.iter().filter_map(pauses).collect();
        pausing.iter().for_each(|(driver, _)| drop(self.live.remove(driver)));
        pausing
    }

    /// Moves a live cluster driver towards its end. A signal has no effect if an earlier one was at least as strong.
    pub(crate) fn signal(
        &mut self,
        driver: &DriverId,
        signal: Signal,
        kill_at: Timestamp,
    ) -> DriverSignalled {
        let row = self.live.get_mut(driver).expect("only a live driver is signalled");
        let process = match row.stage {
            Stage::Process(process) => process,
            Stage::Pausing { last, .. } => {
                self.live.remove(driver);
                return DriverSignalled::Ended(last);
            }
        };
        let (stage, is_sent) = process.signalled(signal, kill_at);
        row.stage = Stage::Process(stage);
        if is_sent { DriverSignalled::Process } else { DriverSignalled::Noted }
    }

    /// Keeps an end until a Master confirms it. If there are too many ends, drops the oldest.
    pub(crate) fn keep_end(&mut self, driver: DriverId, state: DriverState, used: Option<Used>) {
        self.unconfirmed.insert(driver, (state, used));
        if self.unconfirmed.len() > MOST_UNCONFIRMED {
            self.unconfirmed.pop_first();
        }
    }

    /// How often a cluster driver was started again. `None` if it was not and will not be.
    pub(crate) fn restarts(&self, now: Timestamp, driver: &DriverId) -> Option<Restarts> {
        let Driver { stage, starts, last, .. } = self.live.get(driver)?;
        let pause_millis = match stage {
            Stage::Pausing { until, .. } => Some(millis(until.since(now))),
            Stage::Process(_) => None,
        };
        Some(Restarts { restarts: starts.saturating_sub(1), last: (*last)?, pause_millis })
    }

    pub(crate) fn cores_used(&self) -> Cores {
        self.live.values().map(|driver| driver.description.cores).sum()
    }

    /// The memory that a live cluster driver was granted.
    pub(crate) fn memory(&self, driver: &DriverId) -> Option<MiB> {
        self.live.get(driver).map(|row| row.description.memory)
    }

    pub(crate) fn memory_used(&self) -> MiB {
        self.live.values().map(|driver| driver.description.memory).sum()
    }

    pub(crate) fn view(&self) -> Vec<RunningDriver> {
        let view = |(driver, row): (&DriverId, &Driver)| RunningDriver {
            driver: driver.clone(),
            cores: row.description.cores,
            memory: row.description.memory,
            starts: row.starts,
            pid: row.stage.pid(),
        };
        self.live.iter().map(view).collect()
    }

    /// The reports for a registration: all live cluster drivers, then those with unconfirmed ends.
    pub(crate) fn reports(&self) -> Vec<DriverReport> {
        let live = self.live.keys().map(|driver| DriverReport::new(driver.clone(), DriverState::Running));
        let report = |(driver, (state, used)): (&DriverId, &(DriverState, Option<Used>))| DriverReport {
            driver: driver.clone(),
            state: state.clone(),
            used: *used,
        };
        live.chain(self.unconfirmed.iter().map(report)).collect()
    }

    /// Drops the end of a cluster driver, because a Master has confirmed it.
    pub(crate) fn confirm_end(&mut self, driver: &DriverId) {
        self.unconfirmed.remove(driver);
    }

    pub(crate) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        self.live.iter().filter_map(|(driver, row)| row.stage.deadline(driver)).min()
    }

    pub(crate) fn check(&self, shutdown: &ShutdownPhase) -> Result<(), Violation> {
        for (driver, row) in &self.live {
            ensure!("worker", is_sound(driver.as_str()), "{driver:?} cannot be a directory");
            ensure!("worker", !self.unconfirmed.contains_key(driver), "{driver} lives and has ended");
            ensure!(
                "worker",
                shutdown.wants_master() || *shutdown == ShutdownPhase::Over || row.stage.is_unwanted(),
                "the Worker is in shutdown phase {shutdown:?}, but {driver} was not asked to end"
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
