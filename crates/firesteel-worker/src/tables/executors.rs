//! The table of executors, and of the ends that no Master has confirmed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{AppId, ExecutorKey, is_sound};
use firesteel_protocol::machine::{Violation, ensure};
use firesteel_protocol::messages::{ExecutorReport, ExecutorState, RunningExecutor, Used};
use firesteel_protocol::process::{ExitStatus, Signal};
use firesteel_protocol::time::Timestamp;

use super::process_stage::ProcessStage;
use super::shutdown_phase::ShutdownPhase;
use crate::Reason;

/// The maximum number of unconfirmed ends. Beyond it, the first one is dropped. The Master then considers that executor
/// lost, since the Worker does not list it at its next registration.
pub(super) const MOST_UNCONFIRMED: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Executors {
    live: BTreeMap<ExecutorKey, Executor>,
    unconfirmed: BTreeMap<ExecutorKey, (ExecutorState, Option<Used>)>,
    ended: Ended,
    /// Ended applications that still have live executors here.
    finished_apps: BTreeSet<AppId>,
}

#[derive(Debug)]
struct Executor {
    cores: Cores,
    memory: MiB,
    stage: Stage,
}

/// The stages of an executor.
///
/// ```text
///  FETCHING --- asked to end, or no files ---> (end)
///     | files are there
///     v
///  the stages of its process --- the runner failed, or the process exited ---> (end)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its application's files are being fetched.
    Fetching,
    Process(ProcessStage),
}

impl Stage {
    /// The stage of its process, if the shell was told to start one.
    fn process(self) -> Option<ProcessStage> {
        match self {
            Self::Fetching => None,
            Self::Process(process) => Some(process),
        }
    }

    fn pid(self) -> Option<u32> {
        self.process()?.pid()
    }

    fn is_unwanted(self) -> bool {
        self.process().is_some_and(ProcessStage::is_unwanted)
    }

    fn kill_at(self) -> Option<Timestamp> {
        self.process()?.kill_at()
    }

    fn state(self) -> ExecutorState {
        match self.pid() {
            None => ExecutorState::Launching,
            Some(_) => ExecutorState::Running,
        }
    }
}

/// The executors that ended last, for status pages, and to ignore a late repetition of a launch.
#[derive(Debug, Default)]
struct Ended {
    known: BTreeMap<ExecutorKey, ExecutorState>,
    oldest_first: VecDeque<ExecutorKey>,
    /// The maximum number that is remembered.
    most: usize,
}

impl Ended {
    fn remember(&mut self, executor: ExecutorKey, state: ExecutorState) {
        if self.known.insert(executor.clone(), state).is_none() {
            self.oldest_first.push_back(executor);
        }
        if self.oldest_first.len() > self.most
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

/// The result of a signal to an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signalled {
    /// Its process gets the signal.
    Process,
    /// Nothing happens now. Its process gets the signal after its start, or got an equally strong one before.
    Noted,
    /// It was waiting for files, and has ended without a process.
    Ended,
}

impl Executors {
    /// A table without executors. It remembers at least one ended executor, even if `retained` is 0.
    pub(crate) fn remembering(retained: usize) -> Self {
        Self { ended: Ended { most: retained.max(1), ..Ended::default() }, ..Self::default() }
    }

    /// The executors that ended last, oldest first.
    pub(crate) fn ended(&self) -> Vec<ExecutorReport> {
        let report = |executor: &ExecutorKey| {
            let state = self.ended.known[executor].clone();
            ExecutorReport::new(executor.clone(), state)
        };
        self.ended.oldest_first.iter().map(report).collect()
    }

    /// The applications with live executors here. Ids may be repeated.
    pub(crate) fn apps(&self) -> impl Iterator<Item = &AppId> {
        self.live.keys().map(|executor| &executor.app)
    }

    pub(crate) fn live(&self) -> usize {
        self.live.len()
    }

    pub(crate) fn lives(&self, executor: &ExecutorKey) -> bool {
        self.live.contains_key(executor)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &ExecutorKey> {
        self.live.keys()
    }

    /// Whether an executor is live, or is remembered as ended.
    pub(crate) fn knows(&self, executor: &ExecutorKey) -> bool {
        self.live.contains_key(executor) || self.ended.known.contains_key(executor)
    }

    /// Adds an executor whose process is being started.
    pub(crate) fn start(&mut self, executor: ExecutorKey, cores: Cores, memory: MiB) {
        self.live.insert(executor, Executor { cores, memory, stage: Stage::Process(ProcessStage::Starting) });
    }

    /// Adds an executor that waits for its application's files.
    pub(crate) fn await_files(&mut self, executor: ExecutorKey, cores: Cores, memory: MiB) {
        self.live.insert(executor, Executor { cores, memory, stage: Stage::Fetching });
    }

    /// Records that an executor's process runs. Returns the signal that waited for the start. `None`: it was not being
    /// started.
    pub(crate) fn started(
        &mut self,
        now: Timestamp,
        executor: &ExecutorKey,
        pid: u32,
    ) -> Option<Option<Signal>> {
        let row = self.live.get_mut(executor)?;
        let (stage, signal) = row.stage.process()?.started(now, pid)?;
        row.stage = Stage::Process(stage);
        Some(signal)
    }

    /// Whether the shell was told to start an executor that lives.
    pub(crate) fn was_to_start(&self, executor: &ExecutorKey) -> bool {
        self.live.get(executor).is_some_and(|row| row.stage.process().is_some())
    }

    /// Removes an executor whose process could not be started. Returns whether it was asked to end.
    pub(crate) fn remove_unstarted(&mut self, executor: &ExecutorKey) -> bool {
        self.live.remove(executor).is_some_and(|row| row.stage.is_unwanted())
    }

    /// Removes an executor whose process has ended, and returns its state. `None` if the executor had no known process.
    pub(crate) fn exited(&mut self, executor: &ExecutorKey, status: ExitStatus) -> Option<ExecutorState> {
        let process = self.live.get(executor)?.stage.process()?;
        self.live.remove(executor);
        let unwanted = process.is_unwanted();
        Some(if unwanted { ExecutorState::Killed(Some(status)) } else { ExecutorState::Exited(status) })
    }

    /// The executors that have reached the end of their grace period.
    pub(crate) fn overdue(&self, now: Timestamp) -> Vec<ExecutorKey> {
        let overdue = |row: &Executor| row.stage.kill_at().is_some_and(|at| at <= now);
        let late = self.live.iter().filter(|(_, row)| overdue(row));
        late.map(|(executor, _)| executor.clone()).collect()
    }

    /// Moves a live executor towards its end. A signal no stronger than an earlier one has no effect.
    pub(crate) fn signal(&mut self, executor: &ExecutorKey, signal: Signal, kill_at: Timestamp) -> Signalled {
        let row = self.live.get_mut(executor).expect("only a live executor is signalled");
        let Stage::Process(process) = row.stage else {
            self.live.remove(executor);
            return Signalled::Ended;
        };
        let (stage, is_sent) = process.signalled(signal, kill_at);
        row.stage = Stage::Process(stage);
        if is_sent { Signalled::Process } else { Signalled::Noted }
    }

    /// Keeps an end until a Master confirms it. If there are too many, returns the executor whose end was dropped.
    pub(crate) fn keep_end(
        &mut self,
        executor: &ExecutorKey,
        state: ExecutorState,
        used: Option<Used>,
    ) -> Option<ExecutorKey> {
        self.ended.remember(executor.clone(), state.clone());
        self.unconfirmed.insert(executor.clone(), (state, used));
        let is_full = self.unconfirmed.len() > MOST_UNCONFIRMED;
        is_full.then(|| self.unconfirmed.pop_first())?.map(|(forgotten, _)| forgotten)
    }

    /// Records that an application with live executors here has ended.
    pub(crate) fn finish(&mut self, app: AppId) {
        self.finished_apps.insert(app);
    }

    /// Records that an application's last executor here has ended. Returns whether the application had ended before.
    pub(crate) fn take_finished(&mut self, app: &AppId) -> bool {
        self.finished_apps.remove(app)
    }

    pub(crate) fn cores_used(&self) -> Cores {
        self.live.values().map(|executor| executor.cores).sum()
    }

    pub(crate) fn memory_used(&self) -> MiB {
        self.live.values().map(|executor| executor.memory).sum()
    }

    pub(crate) fn view(&self) -> Vec<RunningExecutor> {
        let view = |(executor, row): (&ExecutorKey, &Executor)| RunningExecutor {
            executor: executor.clone(),
            cores: row.cores,
            memory: row.memory,
            state: row.stage.state(),
            pid: row.stage.pid(),
        };
        self.live.iter().map(view).collect()
    }

    /// The reports for a registration: all live executors, then those with unconfirmed ends.
    pub(crate) fn reports(&self) -> Vec<ExecutorReport> {
        let live = self.live.iter().map(|(executor, row)| (executor, row.stage.state(), None));
        let ends = self.unconfirmed.iter().map(|(executor, (state, used))| (executor, state.clone(), *used));
        live.chain(ends)
            .map(|(executor, state, used)| ExecutorReport { executor: executor.clone(), state, used })
            .collect()
    }

    /// Drops the end of an executor, because a Master has confirmed it.
    pub(crate) fn confirm_end(&mut self, executor: &ExecutorKey) {
        self.unconfirmed.remove(executor);
    }

    pub(crate) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        self.live
            .iter()
            .filter_map(|(executor, row)| Some((row.stage.kill_at()?, executor)))
            .min()
            .map(|(kill_at, executor)| (kill_at, Reason::KillGrace(executor.clone())))
    }

    pub(crate) fn check(&self, shutdown: &ShutdownPhase) -> Result<(), Violation> {
        for (executor, row) in &self.live {
            ensure!("worker", is_sound(executor.app.as_str()), "{executor:?} cannot be a directory");
            ensure!(
                "worker",
                !self.unconfirmed.contains_key(executor) && !self.ended.known.contains_key(executor),
                "{executor} lives and has ended"
            );
            ensure!(
                "worker",
                shutdown.wants_master() || *shutdown == ShutdownPhase::Over || row.stage.is_unwanted(),
                "{executor} was not asked to end in {shutdown:?}"
            );
        }
        for (executor, (state, _)) in &self.unconfirmed {
            ensure!("worker", state.is_finished(), "{executor} is kept as ended while {state}");
        }
        for app in &self.finished_apps {
            ensure!("worker", self.has_live(app), "{app} has no executor here and was not cleaned");
        }
        let Ended { known, oldest_first, .. } = &self.ended;
        let agree =
            known.len() == oldest_first.len() && oldest_first.iter().all(|key| known.contains_key(key));
        ensure!("worker", agree, "the ends that are remembered are not those in order: {:?}", self.ended);
        ensure!(
            "worker",
            self.unconfirmed.len() <= MOST_UNCONFIRMED && self.ended.known.len() <= self.ended.most,
            "{} unconfirmed and {} remembered ends",
            self.unconfirmed.len(),
            self.ended.known.len()
        );
        Ok(())
    }

    pub(crate) fn awaits_files(&self, executor: &ExecutorKey) -> bool {
        self.live.get(executor).is_some_and(|row| row.stage == Stage::Fetching)
    }

    pub(crate) fn awaiting_files(&self) -> usize {
        self.live.values().filter(|row| row.stage == Stage::Fetching).count()
    }

    /// Records that an executor no longer waits for files. It is being started, or the cause of its failure is being
    /// checked.
    pub(crate) fn no_longer_waits(&mut self, executor: &ExecutorKey) {
        let row = self.live.get_mut(executor).expect("an executor that waits for files lives");
        if row.stage == Stage::Fetching {
            row.stage = Stage::Process(ProcessStage::Starting);
        }
    }

    pub(crate) fn has_live(&self, app: &AppId) -> bool {
        let first = ExecutorKey { app: app.clone(), executor: Default::default() };
        self.live.range(first..).next().is_some_and(|(executor, _)| executor.app == *app)
    }
}
