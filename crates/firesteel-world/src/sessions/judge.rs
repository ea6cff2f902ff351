//! The laws of a session, which compare its effects and its state with the facts.

use firesteel_engine::session::{
    Answer, Complaint, Effect, Ending, Message, Remark, Request, Route, RunMode, Session,
};
use firesteel_protocol::EndRequest;
use firesteel_protocol::ids::TaskId;

use super::command::{Fact, Verdict, held};
use super::truth::Truth;

/// How long a session may take to end after a request to end, in milliseconds.
const FAREWELL: u64 = 7_000;

impl Truth {
    /// Compares an effect with the facts.
    pub(super) fn judge(&mut self, effect: &Effect) -> Verdict {
        held(!self.finished, "something comes after the end of the session")?;
        if self.is_leaving {
            let is_farewell = matches!(
                effect,
                Effect::Settle | Effect::Say(Message::Over(_)) | Effect::LeavePrompt | Effect::Finish(_)
            );
            held(is_farewell, "something is done after the end of the application")?;
        }
        match effect {
            Effect::WantLine => {
                held(!self.reads, "a line is wanted while one is awaited")?;
                held(self.current.is_none(), "a line is wanted while a command is served")?;
                held(!self.muted, "a line is wanted while outputs are dropped")?;
                self.reads = true;
            }
            Effect::Look | Effect::AskMaster | Effect::OpenItems(_) | Effect::ReadFile(_) => self.ask()?,
            Effect::Replay(task) => {
                self.current.iter_mut().for_each(|command| command.watched = Some(*task));
                self.ask()?;
            }
            // After the application everything is printed for the last time.
            Effect::Settle => {
                self.is_leaving |= self.over.is_some() || self.driver_is_gone;
                if !self.is_leaving {
                    self.ask()?;
                }
            }
            Effect::StartMap(start) => {
                let is_asked = self.current.as_ref().is_some_and(|command| command.is_of(&["Map"]));
                held(is_asked, "a map run begins unasked")?;
                self.maps = true;
                held(start.first == self.next, "a map run begins with another task than the next")?;
            }
            Effect::Submit(task, _, place) => self.judge_submission(*task, *place)?,
            Effect::CancelTasks(tasks) => {
                let open = self.tasks.open();
                self.to_cancel = self.to_cancel.filter(|task| !tasks.contains(task));
                self.current.iter_mut().for_each(|command| command.is_done = true);
                held(tasks.iter().all(|task| open.contains(task)), "a task is cancelled that has ended")?;
            }
            Effect::RestartRecord(task) | Effect::CloseRecord(task) | Effect::DropRecord(task) => {
                self.judge_record(*task, effect)?;
            }
            Effect::Print(answer) => self.judge_answer(answer)?,
            Effect::Complain(_, complaint) => self.judge_complaint(complaint)?,
            Effect::Say(Message::TasksRun(count)) => {
                let is_true = self.warned && *count == self.tasks.open().len();
                held(is_true, "other tasks run than is said")?;
            }
            Effect::Say(Message::Over(_)) => held(self.over.is_some(), "the application is not over")?,
            Effect::Remark(Remark::Missing(_)) => {
                let is_repeated = std::mem::replace(&mut self.explained, true);
                held(!is_repeated, "what is missing is explained twice")?;
            }
            Effect::ShowInterrupt => {
                self.current.iter_mut().for_each(|command| command.is_interrupted = true);
                held(self.requests.contains(&EndRequest::Interrupt), "nobody pressed ctrl-c")?;
            }
            Effect::Finish(ending) => self.judge_ending(ending)?,
            Effect::Forget => self.asks = false,
            Effect::Mute => self.muted = true,
            Effect::Unmute => self.muted = false,
            Effect::EndApplication => self.is_leaving = true,
            Effect::OfferNames(..)
            | Effect::LeavePrompt
            | Effect::InterruptMap
            | Effect::Rewind(_)
            | Effect::RequestExecutors(..)
            | Effect::KillExecutors(..)
            | Effect::AddProfile(..)
            | Effect::Say(_)
            | Effect::Remark(_)
            | Effect::EndLine => {}
        }
        Ok(())
    }

    fn judge_answer(&mut self, answer: &Answer) -> Verdict {
        if let Answer::ProfileAdded(profile, ..) = answer {
            held(self.profiles.insert(*profile), "a profile is added twice")?;
        }
        match &mut self.current {
            Some(command) => command.print(answer),
            None => Err(format!("{answer:?} answers no command")),
        }
    }

    fn judge_complaint(&mut self, complaint: &Complaint) -> Verdict {
        if let Complaint::NoProfile(profile) = complaint {
            held(!self.profiles.contains(profile), "a profile is missing that was added")?;
        }
        match &mut self.current {
            Some(command) => command.complain(complaint, &self.tasks),
            None => held(self.last_tasks.is_some(), "a complaint is about no command"),
        }
    }

    /// Checks that the session makes only one request at a time.
    fn ask(&mut self) -> Verdict {
        let is_asked = std::mem::replace(&mut self.asks, true);
        held(!is_asked, "something is asked for while an answer is awaited")
    }

    fn judge_submission(&mut self, task: TaskId, place: RunMode) -> Verdict {
        let Some(command) = &mut self.current else { return Err(format!("task {task} is for no command")) };
        let Ok(Request::Run(run)) = &command.request else {
            return Err(format!("task {task} is submitted for {:?}", command.request));
        };
        let is_next = command.task.is_none() && task == self.next;
        held(is_next, format!("task {task} is submitted, and {} is next", self.next))?;
        held(run.place == place, format!("task {task} runs elsewhere than in the {:?}", run.place))?;
        command.task = Some(task);
        self.next.0 += 1;
        self.tasks.0.insert(task, Fact { place, outcome: None, is_closed: false, is_dropped: false });
        Ok(())
    }

    fn judge_record(&mut self, task: TaskId, effect: &Effect) -> Verdict {
        let has_record = |fact: &&mut Fact| fact.place == RunMode::Background && !fact.is_dropped;
        let Some(fact) = self.tasks.0.get_mut(&task).filter(has_record) else {
            return Err(format!("task {task} has no record"));
        };
        let has_ended = fact.outcome.is_some();
        let holds = match effect {
            Effect::RestartRecord(_) => !has_ended,
            Effect::CloseRecord(_) => has_ended && !std::mem::replace(&mut fact.is_closed, true),
            _ => fact.is_closed && !std::mem::replace(&mut fact.is_dropped, true),
        };
        held(holds, format!("{effect:?} comes at the wrong time"))
    }

    /// Checks that the session ends for a reason, with the exit code of its commands.
    fn judge_ending(&mut self, ending: &Ending) -> Verdict {
        self.finished = true;
        let holds = match ending {
            Ending::Left(code) => {
                held(self.asked.is_none(), "the session was asked to end, and goes on")?;
                let last = self.last_tasks.as_ref().map(|tasks| match self.tasks.last_failure(tasks) {
                    0 => self.last_failure,
                    failure => failure,
                });
                let expected = self.left.or(last);
                let is_right = expected == Some(*code);
                held(is_right, format!("the exit code is {code}, and {expected:?} was expected"))?;
                true
            }
            Ending::Asked(request) | Ending::Abandoned(request) => self.requests.contains(request),
            Ending::Over(over) => self.over.as_ref() == Some(over),
            Ending::DriverLost => self.driver_is_gone && self.over.is_none(),
            Ending::ReaderGone => self.reader_is_gone,
        };
        held(holds, format!("{ending:?} without a reason"))?;
        held(self.is_leaving, "the session ends, and its application goes on")
    }

    /// Checks the conditions that must be true after every event.
    pub(super) fn judge_state(&self, now: u64, session: &Session) -> Verdict {
        self.broken.clone().map_or(Ok(()), Err)?;
        if self.finished {
            return Ok(());
        }
        if !self.is_leaving {
            if let Some(code) = self.left {
                return Err(format!("the session goes on, though it was left with {code}"));
            }
            held(!self.must_leave, "the session goes on, though it has a reason to end")?;
            let is_over = self.over.is_some() || self.driver_is_gone;
            held(!is_over, "the session goes on without its application")?;
            if let Some(task) = self.to_cancel {
                return Err(format!("ctrl-c does not end task {task}"));
            }
            let lacks =
                |fact: &Fact| fact.place == RunMode::Background && fact.outcome.is_some() && !fact.is_closed;
            if let Some((task, _)) = self.tasks.0.iter().find(|(_, fact)| lacks(fact)) {
                return Err(format!("the record of task {task} is not completed"));
            }
        }
        let is_late = self.asked.is_some_and(|asked| now > asked + FAREWELL);
        held(!is_late, "the session was asked to end, and goes on")?;
        self.judge_routes(session)
    }

    /// Checks where the outputs of the latest tasks and of the next task would go.
    fn judge_routes(&self, session: &Session) -> Verdict {
        let expected = |fact: &Fact| match (self.is_leaving, fact.place) {
            (true, _) => Route::Nowhere,
            (false, RunMode::Background) => Route::Record,
            (false, RunMode::Foreground) => Route::Console,
        };
        let latest = self.tasks.0.iter().rev().filter(|(_, fact)| fact.outcome.is_none()).take(3);
        let mut routes: Vec<_> = latest.map(|(task, fact)| (*task, expected(fact))).collect();
        if self.maps && !self.is_leaving {
            routes.push((self.next, Route::Map));
        }
        routes.into_iter().try_for_each(|(task, expected)| {
            let route = session.route(task);
            held(route == expected, format!("the output of task {task} goes to {route:?}, not {expected:?}"))
        })
    }
}
