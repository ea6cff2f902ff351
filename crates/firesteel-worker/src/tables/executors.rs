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

/// The maximum number of unconfirmed ends. If there are more, the oldest is dropped. At the Worker's next registration,
/// the Master then considers this executor lost, because the Worker does not list it.
pub(super) const MOST_UNCONFIRMED: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Executors {
    live: BTreeMap<ExecutorKey, Executor>,
    unconfirmed: BTreeMap<ExecutorKey, (ExecutorState, Option<Used>)>,
    ended: Ended,
    /// Ended applications that still have live executors on this Worker.
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
    /// The application's files are being fetched.
    Fetching,
    Process(ProcessStage),
}

impl Stage {
    /// The stage of the executor's process, if the daemon has the order to start one.
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

/// The executors that ended last. They are shown on status pages, and a late repetition of their launch is ignored.
#[derive(Debug, Default)]
struct Ended {
    known: BTreeMap<ExecutorKey, ExecutorState>,
    oldest_first: VecDeque<ExecutorKey>,
    /// The maximum number of ended executors in the list.
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
    /// The executor's process gets the signal.
    Process,
    /// Nothing happens now. The executor's process gets the signal after its start, or got an equally strong one
    /// before.
    Noted,
    /// The executor was waiting for files, and has ended without a process.
    Ended,
}

impl Executors {
    /// A table without executors. The table remembers at least one ended executor, even if `retained` is 0.
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

    /// The applications with live executors on this Worker. Ids may be repeated.
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

    /// Whether an executor is live, or is among the remembered ended ones.
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

    /// Records that an executor's process runs. Returns the signal that waited for the start. `None` if the executor
    /// was not being started.
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

    /// Whether a live executor's start was ordered.
    pub(crate) fn was_to_start(&self, executor: &ExecutorKey) -> bool {
        self.live.get(executor).is_some_and(|row| row.stage.process().is_some())
    }

    /// Removes an executor whose process could not be started. Returns whether the executor was asked to end.
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

    /// The executors whose grace period is over.
    pub(crate) fn overdue(&self, now: Timestamp) -> Vec<ExecutorKey> {
        let overdue = |row: &Executor| row.stage.kill_at().is_some_and(|at| at <= now);
        let late = self.live.iter().filter(|(_, row)| overdue(row));
        late.map(|(executor, _)| executor.clone()).collect()
    }

    /// Moves a live executor towards its end. A signal has no effect if an earlier one was at least as strong.
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

    /// Keeps an end until a Master confirms it. If there are too many ends, drops the oldest, and returns its executor.
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

    /// Records that an application has ended that still has live executors on this Worker.
    pub(crate) fn finish(&mut self, app: AppId) {
        self.finished_apps.insert(app);
    }

    /// Records that an application's last executor on this Worker has ended. Returns whether the application had ended
    /// before.
    pub(crate) fn take_finished(&mut self, app: &AppId) -> bool {
        self.finished_apps.remove(app)
    }

    pub(crate) fn cores_used(&self) -> Cores {
        self.live.values().map(|executor| executor.cores).sum()
    }

    /// The memory that a live executor was granted.
    pub(crate) fn memory(&self, executor: &ExecutorKey) -> Option<MiB> {
        self.live.get(executor).map(|row| row.memory)
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

    /// Records that an executor no longer waits for files. Either it is being started, or the cause of its failure is
    /// being checked.
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
