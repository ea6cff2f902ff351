//! The facts of a world: the executors that ran, and the states of each driver's tasks.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use firesteel_engine::driver::{FailureCause, Question, QuestionId, TaskOutcome};
use firesteel_protocol::ids::{AppId, AttemptId, ExecutorKey};
use firesteel_protocol::messages::{ExecutorReport, ExecutorState, Stream, TaskEnd, WorkerToMaster};
use firesteel_protocol::process::ExitStatus;

use crate::cluster::processes::programs::Program;
use crate::cluster::processes::task_lives::FATAL;
use crate::cluster::world::NodeIndex;

/// The history of every executor since the start of the world.
#[derive(Debug, Default)]
pub(crate) struct Executors {
    started: BTreeMap<ExecutorKey, NodeIndex>,
    told_running: BTreeSet<ExecutorKey>,
}

impl Executors {
    pub(crate) fn start(&mut self, key: &ExecutorKey, worker: NodeIndex) -> Result<(), String> {
        match self.started.insert(key.clone(), worker) {
            None => Ok(()),
            Some(first) if first == worker => Err(format!("executor {key} is started twice by one Worker")),
            Some(_) => Err(format!("executor {key} is started by two Workers")),
        }
    }

    pub(crate) fn started_by(&self, key: &ExecutorKey) -> Option<NodeIndex> {
        self.started.get(key).copied()
    }

    /// The applications of all executors that the Worker ever started.
    pub(crate) fn apps_of(&self, worker: NodeIndex) -> BTreeSet<AppId> {
        self.started.iter().filter(|(_, by)| **by == worker).map(|(key, _)| key.app.clone()).collect()
    }

    pub(crate) fn signal(&self, key: &ExecutorKey, worker: NodeIndex) -> Result<(), String> {
        if self.started.get(key) == Some(&worker) {
            return Ok(());
        }
        Err(format!("a Worker signals executor {key}, which it never started"))
    }

    pub(crate) fn report(&mut self, message: &WorkerToMaster) -> Result<(), String> {
        match message {
            WorkerToMaster::RegisterWorker { .. }
            | WorkerToMaster::Heartbeat { .. }
            | WorkerToMaster::StartsChecked { .. }
            | WorkerToMaster::WorkerLatestState { .. }
            | WorkerToMaster::DriverStateChanged(_)
            | WorkerToMaster::WorkerReported(_)
            | WorkerToMaster::DriverRestarted { .. }
            | WorkerToMaster::WorkerDecommissioning { .. } => Ok(()),
            WorkerToMaster::ExecutorStateChanged(ExecutorReport { executor, state, .. }) => {
                if *state == ExecutorState::Running && !self.told_running.insert(executor.clone()) {
                    return Err(format!("executor {executor} is reported as RUNNING twice"));
                }
                Ok(())
            }
        }
    }
}

/// The history of one driver's tasks.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    submitted: u64,
    ended: BTreeSet<u64>,
    /// The tasks that were cancelled before they had ended.
    given_up: BTreeSet<u64>,
    /// The tasks whose executor was told to end them.
    killed: BTreeSet<u64>,
    attempts: BTreeMap<AttemptId, Attempt>,
    is_done: bool,
}

#[derive(Debug, Default)]
struct Attempt {
    is_started: bool,
    end: Option<TaskEnd>,
    /// Whether the executor gave the attempt back, and the driver knows this.
    is_given_back: bool,
    /// The bytes of output that the driver allowed.
    granted: u64,
    /// The bytes of output that the executor sent.
    sent: u64,
    /// The bytes of output that the driver stored, by stream.
    stored: [u64; 2],
    /// The bytes of output that the driver's owner reported as stored.
    consumed: u64,
}

impl Tasks {
    pub(crate) fn submit(&mut self) {
        self.submitted += 1;
    }

    /// The tasks that were submitted and have not ended.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = u64> {
        (0..self.submitted).filter(|task| !self.ended.contains(task))
    }

    /// How many tasks are unfinished.
    pub(crate) fn open(&self) -> u64 {
        self.submitted - self.ended.len() as u64
    }

    pub(crate) fn submitted(&self) -> u64 {
        self.submitted
    }

    pub(crate) fn launch(&mut self, attempt: AttemptId, credit: u64, limit: u64) -> Result<(), String> {
        if self.ended.contains(&attempt.task.0) {
            return Err(format!("attempt {attempt} is launched after its task has ended"));
        }
        if self.given_up.contains(&attempt.task.0) {
            return Err(format!("attempt {attempt} is launched after its task was given up"));
        }
        if self.attempts.contains_key(&attempt) {
            return Err(format!("attempt {attempt} is launched twice"));
        }
        self.attempts.insert(attempt, Attempt::default());
        self.grant(attempt, credit, limit)
    }

    /// The driver allows an attempt to send more output.
    pub(crate) fn grant(&mut self, attempt: AttemptId, bytes: u64, limit: u64) -> Result<(), String> {
        let Some(row) = self.attempts.get_mut(&attempt) else {
            return Err(format!("attempt {attempt} gets credit without a launch"));
        };
        row.granted += bytes;
        let under_way = row.granted - row.consumed;
        if under_way > limit {
            return Err(format!(
                "attempt {attempt} may have {under_way} bytes under way, the limit is {limit}"
            ));
        }
        Ok(())
    }

    pub(crate) fn start(&mut self, attempt: AttemptId) -> Result<(), String> {
        let Some(row) = self.attempts.get_mut(&attempt) else {
            return Err(format!("attempt {attempt} is started without a launch"));
        };
        if std::mem::replace(&mut row.is_started, true) {
            return Err(format!("attempt {attempt} is started twice"));
        }
        Ok(())
    }

    /// A driver learns that an executor gave an attempt back.
    pub(crate) fn give_back(&mut self, attempt: AttemptId) {
        if let Some(row) = self.attempts.get_mut(&attempt) {
            row.is_given_back = true;
        }
    }

    /// An executor reports an attempt's end.
    pub(crate) fn report(&mut self, attempt: AttemptId, end: &TaskEnd) -> Result<(), String> {
        let Some(row) = self.attempts.get_mut(&attempt) else { return Ok(()) };
        match row.end.replace(end.clone()) {
            None => Ok(()),
            Some(first) => Err(format!("attempt {attempt} is reported to end twice: {first}, then {end}")),
        }
    }

    /// An executor sends a piece of an attempt's output.
    pub(crate) fn send(&mut self, attempt: AttemptId, length: u64) -> Result<(), String> {
        let Some(row) = self.attempts.get_mut(&attempt) else {
            return Err(format!("attempt {attempt} has output without a launch"));
        };
        row.sent += length;
        if row.sent > row.granted {
            return Err(format!("attempt {attempt} sent {} bytes with credit for {}", row.sent, row.granted));
        }
        if row.end.is_some() {
            return Err(format!("attempt {attempt} sends output after its end"));
        }
        Ok(())
    }

    pub(crate) fn store(
        &mut self,
        attempt: AttemptId,
        program: Program,
        stream: Stream,
        bytes: &Bytes,
    ) -> Result<(), String> {
        let Some(row) = self.attempts.get_mut(&attempt) else {
            return Err(format!("output of attempt {attempt} is put away without a launch"));
        };
        let stream = stream as usize;
        let at = row.stored[stream];
        if *bytes != program.output(stream, at, bytes.len() as u64) {
            return Err(format!(
                "output of attempt {attempt}: the {} bytes from byte {at} of stream {stream} are not what its \
                 program wrote there",
                bytes.len()
            ));
        }
        row.stored[stream] += bytes.len() as u64;
        Ok(())
    }

    /// The driver's owner reports that output is stored.
    pub(crate) fn consume(&mut self, attempt: AttemptId, bytes: u64) {
        if let Some(row) = self.attempts.get_mut(&attempt) {
            row.consumed += bytes;
        }
    }

    pub(crate) fn cancel(&mut self, task: u64) {
        if task < self.submitted && !self.ended.contains(&task) {
            self.given_up.insert(task);
        }
    }

    pub(crate) fn kill(&mut self, attempt: AttemptId) -> Result<(), String> {
        if !self.given_up.contains(&attempt.task.0) {
            return Err(format!("attempt {attempt} is ended, and its task was not given up"));
        }
        self.killed.insert(attempt.task.0);
        Ok(())
    }

    /// Whether a cancelled task still runs because its executor has not been told.
    pub(crate) fn goes_on(&self, task: u64) -> bool {
        self.given_up.contains(&task) && !self.ended.contains(&task) && !self.killed.contains(&task)
    }

    pub(crate) fn end(
        &mut self,
        task: u64,
        outcome: &TaskOutcome,
        output: [u64; 2],
        max_failures: u32,
    ) -> Result<(), String> {
        if task >= self.submitted {
            return Err(format!("task {task} ends and was never submitted"));
        }
        if !self.ended.insert(task) {
            return Err(format!("the end of task {task} is told twice"));
        }
        if self.given_up.contains(&task) && *outcome != TaskOutcome::Cancelled {
            return Err(format!("task {task} was given up, and ended as {outcome:?}"));
        }
        match outcome {
            TaskOutcome::Succeeded { attempt, executor: _, locality: _ } => {
                self.check_success(task, *attempt, output)
            }
            TaskOutcome::Failed { attempt, executor: _, locality: _, failures, cause } => {
                self.check_failure(task, *attempt, cause, *failures < max_failures)?;
                self.check_count(task, *failures)?;
                let is_final =
                    matches!(cause, FailureCause::StartsNowhere { .. } | FailureCause::FatalExit(_));
                if *failures < max_failures && !is_final {
                    return Err(format!(
                        "task {task} was given up after {failures} of {max_failures} failures"
                    ));
                }
                Ok(())
            }
            TaskOutcome::Cancelled | TaskOutcome::Unfit(_) => Ok(()),
        }
    }

    /// Checks that an attempt succeeded, and that its whole output was stored.
    fn check_success(&self, task: u64, attempt: AttemptId, output: [u64; 2]) -> Result<(), String> {
        let Some(row) = self.attempts.get(&attempt) else {
            return Err(format!("task {task} succeeded in attempt {attempt}, which was never launched"));
        };
        if !row.end.as_ref().is_some_and(TaskEnd::is_success) {
            return Err(format!(
                "task {task} succeeded in attempt {attempt}, which ended with {:?}",
                row.end
            ));
        }
        if row.stored != output {
            return Err(format!(
                "task {task} succeeded with {:?} bytes of output put away, its program wrote {output:?}",
                row.stored
            ));
        }
        Ok(())
    }

    /// Checks that given-back attempts do not count as failures.
    fn check_count(&self, task: u64, failures: u32) -> Result<(), String> {
        let attempts = self.attempts.iter().filter(|(id, _)| id.task.0 == task);
        let count = attempts.filter(|(_, attempt)| !attempt.is_given_back).count();
        if usize::try_from(failures).is_ok_and(|failures| failures <= count) {
            return Ok(());
        }
        Err(format!("task {task} failed {failures} times, and {count} of its attempts were not given back"))
    }

    /// Checks that an attempt ended as the driver reports.
    fn check_failure(
        &self,
        task: u64,
        attempt: AttemptId,
        cause: &FailureCause,
        could_retry: bool,
    ) -> Result<(), String> {
        let Some(row) = self.attempts.get(&attempt) else {
            return Err(format!("task {task} failed in attempt {attempt}, which was never launched"));
        };
        let starts_nowhere = matches!(cause, FailureCause::StartsNowhere { .. });
        if starts_nowhere && !matches!(row.end, Some(TaskEnd::NotStarted(_))) {
            return Err(format!("task {task} is said to start nowhere, and attempt {attempt} did"));
        }
        let fatal = TaskEnd::Exited(ExitStatus::Code(FATAL.into()));
        let is_fatal = matches!(cause, FailureCause::FatalExit(_));
        if is_fatal != (could_retry && row.end == Some(fatal)) {
            return Err(format!("task {task} failed with {cause}: attempt {attempt} ended {:?}", row.end));
        }
        Ok(())
    }

    /// Checks that all tasks have ended when a driver reports the end of its application.
    pub(crate) fn done(&mut self) -> Result<(), String> {
        if self.is_done {
            return Err("a driver is done twice".to_owned());
        }
        self.is_done = true;
        match (0..self.submitted).find(|task| !self.ended.contains(task)) {
            None => Ok(()),
            Some(task) => Err(format!("a driver is done, and the end of task {task} was never told")),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Questions {
    last: u64,
    open: BTreeMap<QuestionId, Asked>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) number: QuestionId,
    question: Question,
    /// The time of the question in milliseconds.
    pub(crate) at: u64,
}

impl Questions {
    /// A question number that was never used.
    pub(crate) fn next(&mut self) -> QuestionId {
        self.last += 1;
        QuestionId(self.last)
    }

    pub(crate) fn ask(&mut self, number: QuestionId, question: Question, at: u64) {
        self.open.insert(number, Asked { number, question, at });
    }

    /// Checks an answer. Returns the question that it answers.
    pub(crate) fn answer(&mut self, number: QuestionId) -> Result<Question, String> {
        let asked = self.open.remove(&number);
        asked
            .map(|asked| asked.question)
            .ok_or_else(|| format!("question {number} is answered, and was not open"))
    }

    pub(crate) fn is_open(&self, number: QuestionId) -> bool {
        self.open.contains_key(&number)
    }

    pub(crate) fn oldest(&self) -> Option<Asked> {
        self.open.values().min_by_key(|asked| asked.at).copied()
    }
}
