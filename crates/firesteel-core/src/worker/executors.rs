//! The executors of this Worker, and the ends that no Master has confirmed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use firesteel_placement::{Cores, MiB};

use super::machine::{Reason, Worker, send};
use super::obstacles::Process;
use super::process_stage::ProcessStage;
use super::shutdown::ShutdownPhase;
use super::{Effect, ExecutorPlan, Note};
use crate::ids::{AppId, ExecutorKey, PeerId, is_sound};
use crate::machine::{Violation, ensure};
use crate::messages::{
    ApplicationFiles, ExecutorLaunch, ExecutorReport, ExecutorState, ExecutorWork, RunningExecutor, Used,
    WorkerDescription, WorkerToMaster,
};
use crate::process::{ExitStatus, Fault, Filling, NotStarted, Signal, StartFailure, StartStep};
use crate::time::Timestamp;

/// The maximum number of unconfirmed ends. Beyond it the first one is forgotten. The Master then takes the
/// executor for lost, since the Worker does not list it at its next registration.
pub(super) const MOST_UNCONFIRMED: usize = 10_000;

/// The tables of executors.
#[derive(Debug, Default)]
pub(super) struct Executors {
    /// The executors that have not ended.
    live: BTreeMap<ExecutorKey, Executor>,
    /// The ends that no Master has confirmed.
    unconfirmed: BTreeMap<ExecutorKey, (ExecutorState, Option<Used>)>,
    /// The latest executors that ended.
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
    /// The shell was told to start it.
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

    /// Whether the executor was asked to end.
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

/// The latest executors that ended, for status pages, and to ignore a late repetition of a launch.
#[derive(Debug, Default)]
struct Ended {
    known: BTreeMap<ExecutorKey, ExecutorState>,
    oldest_first: VecDeque<ExecutorKey>,
    /// The number that is remembered.
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

impl Executors {
    /// A table without executors. It remembers at least one ended executor.
    pub(super) fn remembering(retained: usize) -> Self {
        Self { ended: Ended { most: retained.max(1), ..Ended::default() }, ..Self::default() }
    }

    /// The latest executors that ended, oldest first.
    pub(super) fn ended(&self) -> Vec<ExecutorReport> {
        let report = |executor: &ExecutorKey| {
            let state = self.ended.known[executor].clone();
            ExecutorReport::new(executor.clone(), state)
        };
        self.ended.oldest_first.iter().map(report).collect()
    }

    /// The applications with live executors here. Ids may be repeated.
    pub(super) fn apps(&self) -> impl Iterator<Item = &AppId> {
        self.live.keys().map(|executor| &executor.app)
    }

    /// The number of live executors.
    pub(super) fn live(&self) -> usize {
        self.live.len()
    }

    /// Whether an executor is live.
    pub(super) fn lives(&self, executor: &ExecutorKey) -> bool {
        self.live.contains_key(executor)
    }

    pub(super) fn cores_used(&self) -> Cores {
        self.live.values().map(|executor| executor.cores).sum()
    }

    pub(super) fn memory_used(&self) -> MiB {
        self.live.values().map(|executor| executor.memory).sum()
    }

    pub(super) fn view(&self) -> Vec<RunningExecutor> {
        let view = |(executor, row): (&ExecutorKey, &Executor)| RunningExecutor {
            executor: executor.clone(),
            cores: row.cores,
            memory: row.memory,
            state: row.stage.state(),
            pid: row.stage.pid(),
        };
        self.live.iter().map(view).collect()
    }

    /// The executors that a Master is told at registration: all live ones, then those with unconfirmed ends.
    pub(super) fn reports(&self) -> Vec<ExecutorReport> {
        let live = self.live.iter().map(|(executor, row)| (executor, row.stage.state(), None));
        let ends = self.unconfirmed.iter().map(|(executor, (state, used))| (executor, state.clone(), *used));
        live.chain(ends)
            .map(|(executor, state, used)| ExecutorReport { executor: executor.clone(), state, used })
            .collect()
    }

    /// A Master has confirmed the end of an executor.
    pub(super) fn confirm_end(&mut self, executor: &ExecutorKey) {
        self.unconfirmed.remove(executor);
    }

    pub(super) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        self.live
            .iter()
            .filter_map(|(executor, row)| Some((row.stage.kill_at()?, executor)))
            .min()
            .map(|(kill_at, executor)| (kill_at, Reason::KillGrace(executor.clone())))
    }

    pub(super) fn check(&self, shutdown: &ShutdownPhase) -> Result<(), Violation> {
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

    /// Whether an executor waits for its application's files.
    pub(super) fn awaits_files(&self, executor: &ExecutorKey) -> bool {
        self.live.get(executor).is_some_and(|row| row.stage == Stage::Fetching)
    }

    /// The number of executors that wait for files.
    pub(super) fn awaiting_files(&self) -> usize {
        self.live.values().filter(|row| row.stage == Stage::Fetching).count()
    }

    /// An executor that waited for files waits no longer: it is being started, or its failure is looked into.
    pub(super) fn no_longer_waits(&mut self, executor: &ExecutorKey) {
        let row = self.live.get_mut(executor).expect("an executor that waits for files lives");
        if row.stage == Stage::Fetching {
            row.stage = Stage::Process(ProcessStage::Starting);
        }
    }

    /// Whether an application has live executors here.
    pub(super) fn has_live(&self, app: &AppId) -> bool {
        let first = ExecutorKey { app: app.clone(), executor: Default::default() };
        self.live.range(first..).next().is_some_and(|(executor, _)| executor.app == *app)
    }
}

impl Worker {
    pub(super) fn on_launch_executor(&mut self, peer: PeerId, launch: ExecutorLaunch) {
        let executor = launch.executor.clone();
        self.answer_order(peer, executor.clone());
        if self.executors.live.contains_key(&executor) || self.executors.ended.known.contains_key(&executor) {
            self.effects.note(Note::LaunchRepeated { executor });
            return;
        }
        if !is_sound(executor.app.as_str()) {
            let error = format!("{:?} cannot be the name of a directory", executor.app.as_str());
            let failure = StartFailure { step: StartStep::Directory, error };
            self.report_end(executor, ExecutorState::Failed(failure));
            return;
        }
        if self.shutdown != ShutdownPhase::Serving {
            self.report_end(executor, ExecutorState::Killed(None));
            return;
        }
        let files = launch.work.files.clone();
        if let Some(Err(error)) = files.as_ref().map(ApplicationFiles::check) {
            let failure = StartFailure { step: StartStep::Files, error: error.to_string() };
            self.report_end(executor, ExecutorState::Failed(failure));
            return;
        }
        let ExecutorLaunch { cores, memory, .. } = launch;
        let plan = plan(launch, &self.config.description);
        let ready = match files {
            None => Some(plan),
            Some(files) => self.want_files(files, plan),
        };
        let stage = if ready.is_some() { Stage::Process(ProcessStage::Starting) } else { Stage::Fetching };
        self.use_directory(&executor);
        self.executors.live.insert(executor, Executor { cores, memory, stage });
        self.effects.extend(ready.map(Effect::StartExecutor));
    }

    pub(super) fn on_kill_executor(&mut self, now: Timestamp, executor: &ExecutorKey) {
        if self.executors.live.contains_key(executor) {
            self.effects.note(Note::KillAsked { executor: executor.clone() });
            self.signal(now, executor, Signal::Terminate);
        } else {
            self.effects.note(Note::KillUnknown { executor: executor.clone() });
        }
    }

    pub(super) fn on_application_finished(&mut self, app: AppId) {
        if self.executors.has_live(&app) {
            self.executors.finished_apps.insert(app);
        } else if is_sound(app.as_str()) {
            self.remove_files(&app);
            self.effects.push(Effect::CleanApplication { app });
        }
    }

    pub(super) fn on_runner_started(&mut self, now: Timestamp, executor: ExecutorKey, pid: u32) {
        let row = self.executors.live.get_mut(&executor);
        let started = row.and_then(|row| {
            let (stage, signal) = row.stage.process()?.started(now, pid)?;
            row.stage = Stage::Process(stage);
            Some(signal)
        });
        let Some(signal) = started else {
            return self.effects.note(Note::UnknownRunner { executor });
        };
        self.effects.note(Note::ExecutorStarted { executor: executor.clone(), pid });
        self.measure_soon(now);
        self.forget_shortages();
        self.tell_master(ExecutorReport::new(executor.clone(), ExecutorState::Running));
        if let Some(signal) = signal {
            self.signal(now, &executor, signal);
        }
    }

    pub(super) fn on_runner_failed(&mut self, now: Timestamp, executor: ExecutorKey, why: NotStarted) {
        match self.executors.live.get(&executor).map(|row| row.stage) {
            Some(Stage::Fetching) | None => self.effects.note(Note::UnknownRunner { executor }),
            Some(_) => {
                if why.fault == Fault::LostFiles {
                    self.files.forget(&executor.app);
                }
                self.on_not_started(now, Process::Executor(executor), why);
            }
        }
    }

    /// An executor that lives could not be started, and nothing more is to be found out about that.
    pub(super) fn on_start_failed(&mut self, executor: ExecutorKey, failure: StartFailure) {
        if self.executors.live.get(&executor).is_some_and(|row| row.stage.is_unwanted()) {
            self.executors.live.remove(&executor);
            return self.report_end(executor, ExecutorState::Killed(None));
        }
        self.fail_executor(executor, failure);
    }

    /// An executor's process could not be started.
    pub(super) fn fail_executor(&mut self, executor: ExecutorKey, failure: StartFailure) {
        self.executors.live.remove(&executor);
        self.report_end(executor, ExecutorState::Failed(failure));
    }

    pub(super) fn on_runner_exited(&mut self, executor: ExecutorKey, status: ExitStatus) {
        let state = match self.executors.live.get(&executor).map(|row| row.stage) {
            Some(Stage::Fetching) | None => {
                self.effects.note(Note::UnknownRunner { executor });
                return;
            }
            Some(stage) if stage.is_unwanted() => ExecutorState::Killed(Some(status)),
            Some(_) => ExecutorState::Exited(status),
        };
        self.executors.live.remove(&executor);
        self.report_end(executor, state);
    }

    /// Ends all live executors. One that is being started ends after its start.
    pub(super) fn signal_all(&mut self, now: Timestamp, signal: Signal) {
        let all: Vec<ExecutorKey> = self.executors.live.keys().cloned().collect();
        for executor in &all {
            self.signal(now, executor, signal);
        }
    }

    /// Kills executors whose grace is over.
    pub(super) fn kill_overdue(&mut self, now: Timestamp) {
        let overdue = |row: &Executor| row.stage.kill_at().is_some_and(|at| at <= now);
        let late = self.executors.live.iter().filter(|(_, row)| overdue(row));
        let late: Vec<ExecutorKey> = late.map(|(executor, _)| executor.clone()).collect();
        for executor in late {
            self.effects.note(Note::GraceOver { executor: executor.clone() });
            self.signal(now, &executor, Signal::Kill);
        }
    }

    /// Moves an executor towards its end. A signal no stronger than an earlier one has no effect.
    fn signal(&mut self, now: Timestamp, executor: &ExecutorKey, signal: Signal) {
        let row = self.executors.live.get_mut(executor).expect("only a live executor is signalled");
        let Stage::Process(process) = row.stage else {
            self.executors.live.remove(executor);
            self.files.forgo(executor);
            self.report_end(executor.clone(), ExecutorState::Killed(None));
            return;
        };
        let (stage, is_sent) = process.signalled(signal, now + self.config.kill_grace);
        row.stage = Stage::Process(stage);
        if is_sent {
            self.effects.push(Effect::SignalExecutor { executor: executor.clone(), signal });
        }
    }

    /// Reports an end to the log and to the Master, and keeps it until a Master confirms it.
    fn report_end(&mut self, executor: ExecutorKey, state: ExecutorState) {
        self.effects.note(Note::ExecutorEnded { executor: executor.clone(), state: state.clone() });
        let used = self.take_used_by_executor(&executor);
        self.tell_master(ExecutorReport { executor: executor.clone(), state: state.clone(), used });
        self.executors.ended.remember(executor.clone(), state.clone());
        self.executors.unconfirmed.insert(executor.clone(), (state, used));
        if self.executors.unconfirmed.len() > MOST_UNCONFIRMED
            && let Some((executor, _)) = self.executors.unconfirmed.pop_first()
        {
            self.effects.note(Note::EndForgotten { executor });
        }
        let app = executor.app;
        if self.executors.has_live(&app) {
            return;
        }
        if self.executors.finished_apps.remove(&app) {
            self.remove_files(&app);
            self.effects.push(Effect::CleanApplication { app });
        } else {
            self.remove_doubtful_files(&app);
        }
    }

    fn tell_master(&mut self, report: ExecutorReport) {
        if let Some(peer) = self.registration.master() {
            self.effects.push(send(peer, WorkerToMaster::ExecutorStateChanged(report)));
        }
    }
}

/// The executor's process. In a program all placeholders are filled in but the Worker's own binary.
fn plan(launch: ExecutorLaunch, worker: &WorkerDescription) -> ExecutorPlan {
    let ExecutorLaunch { executor, profile, cores, memory, resources, work } = launch;
    let ExecutorWork { app_name, mut command, directory, files: _ } = ExecutorWork::clone(&work);
    if let Some(program) = command.program_mut() {
        program.fill(&Filling {
            executor: &executor,
            profile,
            cores,
            memory,
            resources: &resources,
            worker: &worker.id,
            address: &worker.address(),
        });
    }
    ExecutorPlan {
        executor,
        profile,
        app_name,
        command,
        directory,
        cores,
        memory,
        on_worker: worker.resources.named_as_here(&resources),
        resources,
        files: Vec::new(),
    }
}
