//! One command of a session, as its user sees it: what was done for it, and what it should have come to.

use std::collections::BTreeMap;

use firesteel_engine::driver::TaskOutcome;
use firesteel_engine::session::{Answer, Complaint, Place, Request, Run, exit_code};
use firesteel_protocol::Kind;
use firesteel_protocol::ids::TaskId;

use super::truth::Verdict;

/// A task of a session.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    pub(super) place: Place,
    /// How it ended, once the session was told.
    pub(super) outcome: Option<TaskOutcome>,
    /// Whether its record was completed.
    pub(super) is_closed: bool,
    /// Whether its record was dropped.
    pub(super) is_dropped: bool,
}

/// The tasks of a session.
pub(super) type Facts = BTreeMap<TaskId, Fact>;

/// A command that has begun.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) request: Result<Request, String>,
    /// The kinds of its answers.
    answers: Vec<&'static str>,
    /// The kinds and the exit codes of its complaints.
    complaints: Vec<(&'static str, u8)>,
    /// The task that was submitted for it.
    pub(super) task: Option<TaskId>,
    /// The task whose record is printed for it.
    pub(super) watched: Option<TaskId>,
    /// Whether its task has ended, and everything is printed.
    pub(super) is_printed: bool,
    /// Whether something else was asked for: of the driver, of a file or of a map run.
    pub(super) is_done: bool,
    /// Whether a ctrl-c was shown.
    pub(super) is_interrupted: bool,
    /// The exit code of its map run or of its file.
    pub(super) code: Option<u8>,
    /// The tasks that it waits for.
    waits: Vec<TaskId>,
}

fn held(holds: bool, sentence: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(sentence()) }
}

impl Command {
    pub(super) fn begin(request: Result<Request, String>, tasks: &Facts) -> Self {
        let waits = match &request {
            Ok(Request::Wait(waits)) if waits.is_empty() => open(tasks),
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

    pub(super) fn run(&self) -> Option<&Run> {
        match &self.request {
            Ok(Request::Run(run)) => Some(run),
            _ => None,
        }
    }

    /// The task in the foreground that it waits for.
    pub(super) fn foreground(&self) -> Option<TaskId> {
        self.run().filter(|run| run.place == Place::Foreground).and(self.task)
    }

    pub(super) fn is_map(&self) -> bool {
        matches!(self.request, Ok(Request::Map(_)))
    }

    pub(super) fn is_source(&self) -> bool {
        matches!(self.request, Ok(Request::Source(_)))
    }

    fn is_of(&self, names: &[&str]) -> bool {
        self.request.as_ref().is_ok_and(|request| names.contains(&request.kind()))
    }

    /// It is answered.
    pub(super) fn print(&mut self, answer: &Answer) -> Verdict {
        let kind = answer.kind();
        let fits = match answer {
            Answer::Executors(_) | Answer::Tasks(..) | Answer::Status(_) | Answer::Settings => {
                self.is_of(&[kind])
            }
            Answer::History(_) | Answer::Help(_) => self.is_of(&[kind]),
            Answer::Profiles(_) => self.is_of(&["ListProfiles"]),
            Answer::Defaults => self.is_of(&["ShowDefaults"]),
            Answer::Requested { .. } => self.is_of(&["SetTotal"]),
            Answer::Ended { .. } => self.is_of(&["SetTotal", "Kill"]),
            Answer::Why(..) => self.is_of(&["Why", "SetTotal", "WaitForExecutors"]),
            Answer::ProfileAdded { .. } => self.is_of(&["AddProfile"]),
        };
        held(fits, || format!("{:?} is answered with {kind}", self.request))?;
        held(!self.answers.contains(&kind), || format!("{:?} is answered twice", self.request))?;
        self.answers.push(kind);
        Ok(())
    }

    /// It fails, at least in part.
    pub(super) fn complain(&mut self, complaint: &Complaint, tasks: &Facts) -> Verdict {
        let code = match complaint {
            Complaint::Unparsed(_) | Complaint::ItemsFailed { .. } => 2,
            Complaint::CommandFailed { task, outcome, .. } | Complaint::TaskFailed { task, outcome } => {
                let fact = tasks.get(task).and_then(|fact| fact.outcome.as_ref());
                held(fact == Some(outcome), || format!("task {task} is said to have ended otherwise"))?;
                exit_code(outcome)
            }
            Complaint::MapCode(code) => *code,
            _ => 1,
        };
        self.complaints.push((complaint.kind(), code));
        Ok(())
    }

    /// Its exit code, by the facts.
    pub(super) fn exit_code(&self, tasks: &Facts) -> u8 {
        if let Some(code) = self.code {
            return code;
        }
        if let Some(task) = self.foreground() {
            return code_of(tasks, task);
        }
        let is_unknown = self.complaints.iter().any(|(kind, _)| matches!(*kind, "NoTask" | "ForgottenTask"));
        if self.is_of(&["Wait"]) && !self.is_interrupted && !is_unknown {
            return last_failure(tasks, &self.waits).unwrap_or(0);
        }
        match (self.complaints.last(), self.is_interrupted) {
            (Some(_), true) if self.is_of(&["Wait"]) => 130,
            (Some((_, code)), _) => *code,
            (None, true) => 130,
            (None, false) => 0,
        }
    }

    /// It is over: whether it was served.
    pub(super) fn end(&self, tasks: &Facts, script: bool) -> Verdict {
        let has_ended = |task| tasks.get(&task).is_some_and(|fact| fact.outcome.is_some());
        let served = match &self.request {
            Err(_) => false,
            Ok(Request::Run(run)) => match run.place {
                Place::Background => self.task.is_some(),
                Place::Foreground => self.is_printed,
            },
            Ok(Request::Map(_) | Request::Source(_)) => self.code.is_some(),
            Ok(Request::Wait(_)) => self.waits.iter().copied().all(has_ended),
            Ok(Request::Watch(_)) => self.watched.is_some_and(has_ended),
            Ok(Request::WaitForExecutors { .. } | Request::Set(_) | Request::Quit(_)) => true,
            Ok(Request::Cancel(_)) => self.is_done,
            Ok(_) => !self.answers.is_empty(),
        };
        held(served || !self.complaints.is_empty() || self.is_interrupted, || {
            format!("{:?} was not answered", self.request)
        })?;
        let fails = self.foreground().is_some() || (self.is_map() && script);
        let silent = fails && self.complaints.is_empty() && self.exit_code(tasks) != 0;
        held(!silent, || format!("{:?} fails in silence", self.request))
    }
}

/// The tasks that have not ended.
pub(super) fn open(tasks: &Facts) -> Vec<TaskId> {
    tasks.iter().filter(|(_, fact)| fact.outcome.is_none()).map(|(task, _)| *task).collect()
}

/// The exit code of the last of these tasks that failed.
pub(super) fn last_failure(tasks: &Facts, of: &[TaskId]) -> Option<u8> {
    of.iter().rev().map(|task| code_of(tasks, *task)).find(|code| *code != 0)
}

fn code_of(tasks: &Facts, task: TaskId) -> u8 {
    tasks.get(&task).and_then(|fact| fact.outcome.as_ref()).map_or(0, exit_code)
}
