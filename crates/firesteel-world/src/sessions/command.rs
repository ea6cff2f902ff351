//! One command of a session, as its user sees it: the actions for the command, and its expected result.

use std::collections::BTreeMap;

use firesteel_engine::driver::TaskOutcome;
use firesteel_engine::session::{Answer, Complaint, Request, RunMode, exit_code};
use firesteel_protocol::Kind;
use firesteel_protocol::ids::TaskId;

/// A broken law, if any: what should be true, and what was found.
pub(super) type Verdict = Result<(), String>;

pub(super) fn held(holds: bool, sentence: impl Into<String>) -> Verdict {
    if holds { Ok(()) } else { Err(sentence.into()) }
}

/// A task of a session.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    pub(super) place: RunMode,
    /// How the task ended, once the session has learned of it.
    pub(super) outcome: Option<TaskOutcome>,
    /// Whether the task's recorded output was completed.
    pub(super) is_closed: bool,
    /// Whether the task's recorded output was deleted.
    pub(super) is_dropped: bool,
}

/// The tasks of a session.
#[derive(Debug, Default)]
pub(super) struct Facts(pub(super) BTreeMap<TaskId, Fact>);

impl Facts {
    /// The tasks that have not ended.
    pub(super) fn open(&self) -> Vec<TaskId> {
        self.0.iter().filter(|(_, fact)| fact.outcome.is_none()).map(|(task, _)| *task).collect()
    }

    pub(super) fn outcome(&self, task: TaskId) -> Option<&TaskOutcome> {
        self.0.get(&task)?.outcome.as_ref()
    }

    fn code(&self, task: TaskId) -> u8 {
        self.outcome(task).map_or(0, exit_code)
    }

    /// The exit code of the last of these tasks that failed, or 0.
    pub(super) fn last_failure(&self, of: &[TaskId]) -> u8 {
        of.iter().rev().map(|task| self.code(*task)).find(|code| *code != 0).unwrap_or(0)
    }
}

/// A command that has begun.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) request: Result<Request, String>,
    /// The kinds of the answers to the command.
    answers: Vec<&'static str>,
    /// The kinds and the exit codes of the command's complaints.
    complaints: Vec<(&'static str, u8)>,
    /// The task that was submitted for the command.
    pub(super) task: Option<TaskId>,
    /// The task whose recorded output is printed for the command.
    pub(super) watched: Option<TaskId>,
    /// Whether the command's task has ended, and everything is printed.
    pub(super) is_printed: bool,
    /// Whether tasks were cancelled.
    pub(super) is_done: bool,
    /// Whether a ctrl-c was shown.
    pub(super) is_interrupted: bool,
    /// The exit code of the command's map run or file.
    pub(super) code: Option<u8>,
    /// The tasks that the command waits for.
    waits: Vec<TaskId>,
}

impl Command {
    pub(super) fn begin(request: Result<Request, String>, tasks: &Facts) -> Self {
        let waits = match &request {
            Ok(Request::Wait(waits)) if waits.is_empty() => tasks.open(),
            Ok(Request::Wait(waits)) => waits.clone(),
            _ => Vec::new(),
        };
        Self {
            request,
            answers: Vec::new(),
            complaints: Vec::new(),
            task: None,
            watched: None,
            is_printed: false,
            is_done: false,
            is_interrupted: false,
            code: None,
            waits,
        }
    }

    /// The foreground task that the command waits for.
    pub(super) fn foreground(&self) -> Option<TaskId> {
        match &self.request {
            Ok(Request::Run(run)) if run.place == RunMode::Foreground => self.task,
            _ => None,
        }
    }

    pub(super) fn is_of(&self, names: &[&str]) -> bool {
        self.request.as_ref().is_ok_and(|request| names.contains(&request.kind()))
    }

    /// Enters an answer to the command.
    pub(super) fn print(&mut self, answer: &Answer) -> Verdict {
        let kind = answer.kind();
        let fits = match answer {
            Answer::Profiles(..) => self.is_of(&["ListProfiles"]),
            Answer::Defaults(_) => self.is_of(&["ShowDefaults"]),
            Answer::Requested(..) => self.is_of(&["SetTotal"]),
            Answer::Ended(..) => self.is_of(&["SetTotal", "Kill"]),
            Answer::Why(..) => self.is_of(&["Why", "SetTotal", "WaitForExecutors"]),
            Answer::ProfileAdded(..) => self.is_of(&["AddProfile"]),
            _ => self.is_of(&[kind]),
        };
        held(fits, format!("{:?} is answered with {kind}", self.request))?;
        held(!self.answers.contains(&kind), format!("{:?} is answered twice", self.request))?;
        self.answers.push(kind);
        Ok(())
    }

    /// Enters a failure of the command, which may be partial.
    pub(super) fn complain(&mut self, complaint: &Complaint, tasks: &Facts) -> Verdict {
        let code = match complaint {
            Complaint::Unparsed(_) | Complaint::ItemsFailed(_) => 2,
            Complaint::CommandFailed(task, _, outcome) | Complaint::TaskFailed(task, outcome) => {
                let is_true = tasks.outcome(*task) == Some(outcome);
                held(is_true, format!("task {task} is said to have ended otherwise"))?;
                exit_code(outcome)
            }
            Complaint::MapCode(code) => *code,
            _ => 1,
        };
        self.complaints.push((complaint.kind(), code));
        Ok(())
    }

    /// The exit code of the command, computed from the facts.
    pub(super) fn exit_code(&self, tasks: &Facts) -> u8 {
        if let Some(code) = self.code {
            return code;
        }
        if let Some(task) = self.foreground() {
            return tasks.code(task);
        }
        let is_unknown = self.complaints.iter().any(|(kind, _)| matches!(*kind, "NoTask" | "ForgottenTask"));
        match (self.complaints.last(), self.is_interrupted) {
            (_, false) if self.is_of(&["Wait"]) && !is_unknown => tasks.last_failure(&self.waits),
            (Some(_), true) if self.is_of(&["Wait"]) => 130,
            (Some((_, code)), _) => *code,
            (None, true) => 130,
            (None, false) => 0,
        }
    }

    /// Checks at the end of the command that it was carried out.
    pub(super) fn end(&self, tasks: &Facts, script: bool) -> Verdict {
        let has_ended = |task: &TaskId| tasks.outcome(*task).is_some();
        let served = match &self.request {
            Err(_) => false,
            Ok(Request::Run(run)) => match run.place {
                RunMode::Background => self.task.is_some(),
                RunMode::Foreground => self.is_printed,
            },
            Ok(Request::Map(_) | Request::Source(_)) => self.code.is_some(),
            Ok(Request::Wait(_)) => self.waits.iter().all(has_ended),
            Ok(Request::Watch(_)) => self.watched.as_ref().is_some_and(has_ended),
            Ok(Request::WaitForExecutors(..) | Request::Set(_) | Request::Quit(_)) => true,
            Ok(Request::Cancel(_)) => self.is_done,
            Ok(_) => !self.answers.is_empty(),
        };
        let is_over = served || !self.complaints.is_empty() || self.is_interrupted;
        held(is_over, format!("{:?} was not answered", self.request))?;
        let fails = self.foreground().is_some() || (self.is_of(&["Map"]) && script);
        let silent = fails && self.complaints.is_empty() && self.exit_code(tasks) != 0;
        held(!silent, format!("{:?} fails in silence", self.request))
    }
}
