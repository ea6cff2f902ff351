//! The laws of a session: its effects, and its state, against the facts.

use firesteel_engine::session::{Answer, Complaint, Effect, Ending, Message, Place, Remark, Route, Session};
use firesteel_protocol::EndRequest;
use firesteel_protocol::ids::TaskId;

use super::command::{Command, Fact, last_failure, open};
use super::truth::{Truth, Verdict};

/// How long a session may take to end when it is asked to, in milliseconds.
const FAREWELL: u64 = 7_000;

fn held(holds: bool, sentence: &str) -> Verdict {
    if holds { Ok(()) } else { Err(sentence.to_owned()) }
}

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
            Effect::WantLine => self.judge_want(),
            Effect::Look | Effect::AskMaster | Effect::OpenItems(_) | Effect::ReadFile { .. } => self.ask(),
            Effect::Replay { task, .. } => {
                self.current.iter_mut().for_each(|command| command.watched = Some(*task));
                self.ask()
            }
            Effect::Settle => self.judge_settling(),
            Effect::StartMap(start) => {
                held(self.current.as_ref().is_some_and(Command::is_map), "a map run begins unasked")?;
                self.maps = true;
                held(start.first == self.next, "a map run begins with another task than the next")
            }
            Effect::Submit { task, place, .. } => self.judge_submission(*task, *place),
            Effect::CancelTasks { tasks } => self.judge_cancellation(tasks),
            Effect::RestartRecord { task } | Effect::CloseRecord { task } | Effect::DropRecord { task } => {
                self.judge_record(*task, effect)
            }
            Effect::Print(answer) => self.judge_answer(answer),
            Effect::Complain { complaint, .. } => self.judge_complaint(complaint),
            Effect::Say(message) => self.judge_message(message),
            Effect::Remark(Remark::Missing(_)) => {
                held(!std::mem::replace(&mut self.explained, true), "what is missing is explained twice")
            }
            Effect::ShowInterrupt => {
                self.current.iter_mut().for_each(|command| command.is_interrupted = true);
                held(self.requests.contains(&EndRequest::Interrupt), "nobody pressed ctrl-c")
            }
            Effect::Finish(ending) => self.judge_ending(ending),
            Effect::Forget
            | Effect::Mute
            | Effect::Unmute
            | Effect::EndApplication
            | Effect::OfferNames { .. }
            | Effect::LeavePrompt
            | Effect::InterruptMap
            | Effect::Rewind { .. }
            | Effect::RequestExecutors { .. }
            | Effect::KillExecutors { .. }
            | Effect::AddProfile { .. }
            | Effect::Remark(_)
            | Effect::EndLine => {
                self.note(effect);
                Ok(())
            }
        }
    }

    /// Takes note of an effect that is never wrong.
    fn note(&mut self, effect: &Effect) {
        match effect {
            Effect::Forget => self.asks = false,
            Effect::Mute => self.muted = true,
            Effect::Unmute => self.muted = false,
            Effect::EndApplication => self.is_leaving = true,
            _ => {}
        }
    }

    fn judge_want(&mut self) -> Verdict {
        held(!self.reads, "a line is wanted while one is awaited")?;
        held(self.current.is_none(), "a line is wanted while a command is served")?;
        held(!self.muted, "a line is wanted while outputs are dropped")?;
        self.reads = true;
        Ok(())
    }

    /// After the application everything is printed for the last time.
    fn judge_settling(&mut self) -> Verdict {
        self.is_leaving |= self.over.is_some() || self.driver_is_gone;
        if self.is_leaving { Ok(()) } else { self.ask() }
    }

    fn judge_cancellation(&mut self, tasks: &[TaskId]) -> Verdict {
        let open = open(&self.tasks);
        self.to_cancel = self.to_cancel.filter(|task| !tasks.contains(task));
        self.current.iter_mut().for_each(|command| command.is_done = true);
        held(tasks.iter().all(|task| open.contains(task)), "a task is cancelled that has ended")
    }

    fn judge_answer(&mut self, answer: &Answer) -> Verdict {
        if let Answer::ProfileAdded { profile, .. } = answer {
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

    fn judge_message(&self, message: &Message) -> Verdict {
        match message {
            Message::TasksRun(count) => {
                held(self.warned && *count == open(&self.tasks).len(), "other tasks run than is said")
            }
            Message::Over(_) => held(self.over.is_some(), "the application is not over"),
            Message::Banner(_)
            | Message::InBackground(_)
            | Message::MapSummary { .. }
            | Message::LinesFailed { .. } => Ok(()),
        }
    }

    /// One thing is asked for at a time.
    fn ask(&mut self) -> Verdict {
        match std::mem::replace(&mut self.asks, true) {
            false => Ok(()),
            true => Err("something is asked for while an answer is awaited".to_owned()),
        }
    }

    fn judge_submission(&mut self, task: TaskId, place: Place) -> Verdict {
        let Some(command) = &mut self.current else { return Err(format!("task {task} is for no command")) };
        let Some(wanted) = command.run().map(|run| run.place) else {
            return Err(format!("task {task} is submitted for {:?}", command.request));
        };
        if command.task.is_some() || task != self.next {
            return Err(format!("task {task} is submitted, and {} is next", self.next));
        }
        if wanted != place {
            return Err(format!("task {task} runs elsewhere than in the {wanted:?}"));
        }
        command.task = Some(task);
        self.next.0 += 1;
        self.tasks.insert(task, Fact { place, outcome: None, is_closed: false, is_dropped: false });
        Ok(())
    }

    fn judge_record(&mut self, task: TaskId, effect: &Effect) -> Verdict {
        let fact =
            self.tasks.get_mut(&task).filter(|fact| fact.place == Place::Background && !fact.is_dropped);
        let Some(fact) = fact else { return Err(format!("task {task} has no record")) };
        let has_ended = fact.outcome.is_some();
        let holds = match effect {
            Effect::RestartRecord { .. } => !has_ended,
            Effect::CloseRecord { .. } => has_ended && !std::mem::replace(&mut fact.is_closed, true),
            _ => fact.is_closed && !std::mem::replace(&mut fact.is_dropped, true),
        };
        if holds { Ok(()) } else { Err(format!("{effect:?} comes at the wrong time")) }
    }

    /// Checks that the session ends for a reason, with the exit code of its commands.
    fn judge_ending(&mut self, ending: &Ending) -> Verdict {
        self.finished = true;
        let expected = match (&self.last_tasks, self.left) {
            (_, Some(code)) => Some(code),
            (Some(tasks), None) => Some(last_failure(&self.tasks, tasks).unwrap_or(self.last_failure)),
            (None, None) => None,
        };
        let holds = match ending {
            Ending::Left(_) if self.asked.is_some() => {
                return Err("the session was asked to end, and goes on".to_owned());
            }
            Ending::Left(code) if Some(*code) == expected => true,
            Ending::Left(code) => {
                return Err(format!("the exit code is {code}, and {expected:?} was expected"));
            }
            Ending::Asked(request) => self.requests.contains(request),
            Ending::Abandoned(request) => self.requests.contains(request),
            Ending::Over(over) => self.over.as_ref() == Some(over),
            Ending::DriverLost => self.driver_is_gone && self.over.is_none(),
            Ending::ReaderGone => self.reader_is_gone,
        };
        let is_ended = self.is_leaving;
        match (holds, is_ended) {
            (true, true) => Ok(()),
            (true, false) => Err("the session ends, and its application goes on".to_owned()),
            (false, _) => Err(format!("{ending:?} without a reason")),
        }
    }

    /// Checks what must hold after every event.
    pub(super) fn judge_state(&self, now: u64, session: &Session) -> Verdict {
        if let Some(sentence) = &self.broken {
            return Err(sentence.clone());
        }
        if self.finished {
            return Ok(());
        }
        if !self.is_leaving {
            if let Some(code) = self.left {
                return Err(format!("the session goes on, though it was left with {code}"));
            }
            if self.must_leave {
                return Err("the session goes on, though it has a reason to end".to_owned());
            }
            if self.over.is_some() || self.driver_is_gone {
                return Err("the session goes on without its application".to_owned());
            }
            if let Some(task) = self.to_cancel {
                return Err(format!("ctrl-c does not end task {task}"));
            }
            let lacks =
                |fact: &Fact| fact.place == Place::Background && fact.outcome.is_some() && !fact.is_closed;
            if let Some((task, _)) = self.tasks.iter().find(|(_, fact)| lacks(fact)) {
                return Err(format!("the record of task {task} is not completed"));
            }
        }
        if self.asked.is_some_and(|asked| now > asked + FAREWELL) {
            return Err("the session was asked to end, and goes on".to_owned());
        }
        self.judge_routes(session)
    }

    /// Checks where the outputs of the latest tasks would go, and those of the next.
    fn judge_routes(&self, session: &Session) -> Verdict {
        let expected = |fact: &Fact| match (self.is_leaving, fact.place) {
            (true, _) => Route::Nowhere,
            (false, Place::Background) => Route::Record,
            (false, Place::Foreground) => Route::Console,
        };
        let latest = self.tasks.iter().rev().filter(|(_, fact)| fact.outcome.is_none()).take(3);
        let mut routes: Vec<_> = latest.map(|(task, fact)| (*task, expected(fact))).collect();
        if self.maps && !self.is_leaving {
            routes.push((self.next, Route::Map));
        }
        for (task, expected) in routes {
            let route = session.route(task);
            if route != expected {
                return Err(format!("the output of task {task} goes to {route:?}, not {expected:?}"));
            }
        }
        Ok(())
    }
}
