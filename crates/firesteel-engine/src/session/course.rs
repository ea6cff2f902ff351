//! The course of a session from its beginning to its end, with everything that it waits for.
//!
//! ```text
//!  begin --> lines: prompt --> serve each command --> prompt --> ...
//!    |                |             |
//!    `----------------`-------------`--- asked to end, left, reader gone, driver lost, application over --> farewell
//! ```

use std::cell::{RefCell, RefMut};
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use firesteel_protocol::process::end_request::EndRequest;
use firesteel_protocol::time::Timestamp;

use super::state::{Reason, State, Wait};
use super::{Complaint, Effect, Ending, Entry, Event, Message, OnFailure, Position, Remark, Request, parse};
use crate::driver::{self, ExecutorView, ExecutorViewState, View};

/// How long the first prompt waits for the first executors.
const FIRST_EXECUTORS: Duration = Duration::from_millis(1500);
/// How long after the first prompt the session explains why executors are missing.
const MISSING: Duration = Duration::from_secs(3);
/// Timeout for the driver's end.
const GOODBYE: Duration = Duration::from_secs(5);
/// How long a request to end waits until blocked standard output is read.
const FAREWELL: Duration = Duration::from_secs(1);
/// How often a waiting command looks at the driver's tables, and at the recorded output of a watched task.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// The result of a command: its exit code, or why it failed.
pub(super) type Outcome = Result<u8, Failure>;

/// Why a command failed.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The command failed with this exit code. The user is shown the reason.
    Complaint(u8, Box<Complaint>),
    /// A ctrl-c ended the command, with this exit code. A script ends then.
    Interrupted(u8),
}

/// Fails a command with exit code 1.
pub(super) fn fail<T>(complaint: Complaint) -> Result<T, Failure> {
    fail_with(1, complaint)
}

/// Fails a command with this exit code.
pub(super) fn fail_with<T>(code: u8, complaint: Complaint) -> Result<T, Failure> {
    Err(Failure::Complaint(code, Box::new(complaint)))
}

/// The exit code of a command that ctrl-c ended.
pub(super) const INTERRUPTED: u8 = 130;

/// The executors that take tasks.
pub(super) fn ready(view: &View) -> impl Iterator<Item = &ExecutorView> {
    view.executors.iter().filter(|executor| executor.state == ExecutorViewState::Offering)
}

/// The course of a session, step by step.
#[derive(Clone)]
pub(super) struct Course(pub(super) Rc<RefCell<State>>);

// How it waits.
impl Course {
    /// The state of the session. No caller keeps the borrow while the course waits.
    pub(super) fn state(&self) -> RefMut<'_, State> {
        self.0.borrow_mut()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.state().now
    }

    pub(super) fn push(&self, effect: Effect) {
        self.state().effects.push(effect);
    }

    fn wait_for(&self, wait: Wait, deadline: Option<(Timestamp, Reason)>) {
        let state = &mut *self.state();
        (state.wait, state.deadline) = (wait, deadline);
    }

    /// Waits until `wake` returns a value for an event. Other events are passed over.
    pub(super) async fn until<T>(
        &self,
        wait: Wait,
        deadline: Option<(Timestamp, Reason)>,
        mut wake: impl FnMut(&mut State, Event) -> Option<T>,
    ) -> T {
        self.wait_for(wait, deadline);
        poll_fn(|_| {
            let state = &mut *self.state();
            let woken = state.event.take().and_then(|event| wake(state, event));
            woken.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Like `until`, but a ctrl-c ends the wait and the command.
    pub(super) async fn unless_interrupted<T>(
        &self,
        wait: Wait,
        deadline: Option<(Timestamp, Reason)>,
        mut wake: impl FnMut(Event) -> Option<T>,
    ) -> Result<T, Failure> {
        self.until(wait, deadline, |_, event| match event {
            Event::EndRequested(EndRequest::Interrupt) => Some(Err(Failure::Interrupted(INTERRUPTED))),
            event => wake(event).map(Ok),
        })
        .await
    }

    pub(super) async fn sleep(&self, until: Timestamp) -> Result<(), Failure> {
        let deadline = Some((until, Reason::Look));
        self.unless_interrupted(Wait::Again, deadline, |event| (event == Event::Deadline).then_some(())).await
    }

    /// Returns the driver's tables. The driver answers immediately, so a ctrl-c does not end this wait.
    pub(super) async fn look(&self) -> View {
        self.look_as(Wait::Tables).await
    }

    async fn look_as(&self, wait: Wait) -> View {
        self.push(Effect::Look);
        self.until(wait, None, |_, event| match event {
            Event::TablesSeen(view) => Some(view),
            _ => None,
        })
        .await
    }

    /// Waits until everything is printed. A script that was interrupted waits only briefly if standard output is
    /// blocked.
    pub(super) async fn print_everything(&self) {
        self.push(Effect::Settle);
        let deadline = {
            let state = self.state();
            let is_ending = state.is_script() && state.was_interrupted;
            is_ending.then(|| (state.now + FAREWELL, Reason::ReaderPatience))
        };
        self.until(Wait::Printing, deadline, |state, event| {
            match event {
                Event::OutputSettled => return Some(()),
                Event::Deadline => state.ending = Some(Ending::Asked(EndRequest::Interrupt)),
                Event::EndRequested(EndRequest::Interrupt) => state.drop_outputs(),
                _ => {}
            }
            None
        })
        .await;
        self.push(Effect::Unmute);
    }

    /// Ends the session. Never returns, so the caller's next steps are not performed.
    pub(super) async fn end<T>(&self, ending: Ending) -> T {
        self.state().ending = Some(ending);
        pending().await
    }
}

// What it does.
impl Course {
    /// Waits for the application's registration. If there is a prompt, also waits for the first executors.
    pub(super) async fn begin(self) {
        let is_registered = |event| matches!(event, Event::NoteReceived(driver::Note::Registered { .. }));
        self.until(Wait::Registration, None, |_, event| is_registered(event).then_some(())).await;
        if !self.state().is_script() {
            let view = self.first_executors().await;
            let missing = self.now() + MISSING;
            self.state().missing = Some(missing);
            self.push(Effect::Say(Message::Banner(view)));
        }
        self.serve_lines().await;
    }

    async fn first_executors(&self) -> View {
        let until = self.now() + FIRST_EXECUTORS;
        loop {
            let view = self.look_as(Wait::FirstExecutors).await;
            if ready(&view).next().is_some() || self.now() >= until {
                return view;
            }
            let is_news = |event| matches!(event, Event::Deadline | Event::NoteReceived(_));
            let deadline = Some((until, Reason::FirstPrompt));
            self.until(Wait::FirstExecutors, deadline, |_, event| is_news(event).then_some(())).await;
        }
    }

    async fn serve_lines(&self) {
        loop {
            self.push(Effect::EndLine);
            self.print_everything().await;
            if !self.state().is_script() {
                let executors = self.look().await.executors.iter().map(|executor| executor.id).collect();
                let tasks = self.state().tasks.iter().map(|(id, _)| id).collect();
                self.push(Effect::OfferNames(executors, tasks));
            }
            match self.line().await {
                Event::LineRead(line) => self.serve_line(&line).await,
                Event::LinesEnded => drop(self.serve(Request::Quit(None)).await),
                Event::LinesFailed(error) => {
                    self.push(Effect::Say(Message::LinesFailed(error)));
                    self.end(Ending::Left(1)).await
                }
                _ => {}
            }
        }
    }

    /// Waits for a line. Meanwhile, reports missing executors. The prompt stays usable, because a Master may not
    /// answer.
    async fn line(&self) -> Event {
        self.push(Effect::WantLine);
        let mut is_asked = false;
        let line = loop {
            let missing = self.state().missing.filter(|_| !is_asked).map(|at| (at, Reason::Missing));
            let event = self.until(Wait::Line, missing, |_, event| match event {
                Event::LineRead(_) | Event::LineDiscarded | Event::LinesEnded | Event::LinesFailed(_) => {
                    Some(event)
                }
                Event::Deadline | Event::MasterAnswered(_) => Some(event),
                _ => None,
            });
            match event.await {
                Event::Deadline => {
                    self.push(Effect::AskMaster);
                    is_asked = true;
                }
                Event::MasterAnswered(answer) if is_asked => {
                    self.state().missing = None;
                    let shortfalls = answer.unwrap_or_default().into_iter().map(|(_, shortfall)| shortfall);
                    let remarks = shortfalls.map(|shortfall| Effect::Remark(Remark::Missing(shortfall)));
                    self.state().effects.extend(remarks);
                    is_asked = false;
                }
                Event::MasterAnswered(_) => {}
                line => break line,
            }
        };
        if is_asked {
            self.push(Effect::Forget);
        }
        line
    }

    async fn serve_line(&self, line: &str) {
        let is_script = self.state().is_script();
        self.state().lines += 1;
        if is_script {
            let number = self.state().lines;
            self.state().position = Position::Line(number);
        }
        for entry in parse(line) {
            let code = self.serve_entry(entry).await;
            if code != 0 && is_script && self.state().config.on_failure == OnFailure::Stops {
                self.end(Ending::Left(code)).await
            }
        }
    }

    /// Runs a command, and returns its exit code.
    pub(super) async fn serve_entry(&self, Entry { request, idle }: Entry) -> u8 {
        let request = match request {
            Ok(request) => request,
            Err(words) => return self.finish(fail_with(2, Complaint::Unparsed(words))).await,
        };
        let name = match request {
            Request::Run(_) => Some("run"),
            Request::Map(_) => Some("map"),
            _ => None,
        };
        if let (Some(word), Some(command)) = (idle, name) {
            let position = self.state().position.clone();
            self.push(Effect::Remark(Remark::IdleWord(position, word, command)));
        }
        if !matches!(request, Request::Quit(_)) {
            self.state().was_warned = false;
        }
        self.serve(request).await
    }

    async fn serve(&self, request: Request) -> u8 {
        let outcome = self.perform(request).await;
        self.finish(outcome).await
    }

    /// Ends the current command as soon as everything is printed. A script ends after a ctrl-c, even if it continues
    /// after failures.
    async fn finish(&self, outcome: Outcome) -> u8 {
        let (code, is_interrupted) = match outcome {
            Ok(code) => (code, false),
            Err(Failure::Complaint(code, complaint)) => {
                self.complain(*complaint);
                (code, false)
            }
            Err(Failure::Interrupted(code)) => {
                self.state().effects.extend([Effect::ShowInterrupt, Effect::EndLine]);
                (code, true)
            }
        };
        let was_interrupted = is_interrupted || (code == INTERRUPTED && self.state().was_interrupted);
        if was_interrupted && self.state().is_script() {
            return self.end(Ending::Asked(EndRequest::Interrupt)).await;
        }
        self.print_everything().await;
        if code != 0 {
            self.state().last_failure = code;
        }
        code
    }

    /// Reports why the current command has failed.
    pub(super) fn complain(&self, complaint: Complaint) {
        let position = self.state().position.clone();
        self.push(Effect::Complain(position, complaint));
    }

    /// Ends the application in order. Reports why the session ends, unless the user knows it.
    pub(super) async fn farewell(self, ending: Ending) {
        let ending = match ending {
            Ending::Over(_) | Ending::DriverLost => ending,
            ending => self.end_application(ending).await,
        };
        if let Ending::Over(over) = &ending {
            self.push(Effect::Say(Message::Over(over.clone())));
        }
        // Without a limit if the user left or the application is over.
        let until = match ending {
            Ending::Left(_) | Ending::Over(_) | Ending::DriverLost => None,
            Ending::Abandoned(_) => return self.conclude(ending).await,
            Ending::Asked(_) | Ending::ReaderGone => Some((self.now() + FAREWELL, Reason::ReaderPatience)),
        };
        self.push(Effect::Settle);
        let request = self.until(Wait::Closing, until, |_, event| match event {
            Event::EndRequested(request) => Some(Some(request)),
            Event::OutputSettled | Event::Deadline => Some(None),
            _ => None,
        });
        let ending = request.await.map_or(ending, Ending::Asked);
        self.conclude(ending).await
    }

    /// Tells the driver to end the application, and waits for its end. Returns how the session really ends.
    async fn end_application(&self, ending: Ending) -> Ending {
        if let Ending::Asked(_) = ending {
            self.push(Effect::Mute);
        }
        self.push(Effect::EndApplication);
        let until = Some((self.now() + GOODBYE, Reason::DriverPatience));
        let mut over = None;
        let request = self.until(Wait::Leaving, until, |_, event| match event {
            Event::ApplicationEnded(ended) => {
                over = Some(ended);
                None
            }
            Event::EndRequested(request) => Some(Some(request)),
            Event::DriverEnded | Event::Deadline => Some(None),
            _ => None,
        });
        match (request.await, ending, over) {
            (Some(request), ..) => Ending::Abandoned(request),
            // The application ended during the last command, before the session received the event.
            (
                None,
                Ending::Left(_),
                Some(over @ (driver::Ending::Removed(_) | driver::Ending::NoMaster { .. })),
            ) => Ending::Over(over),
            (None, ending, _) => ending,
        }
    }

    async fn conclude(&self, ending: Ending) {
        self.wait_for(Wait::Nothing, None);
        self.push(Effect::Finish(ending));
        pending().await
    }
}
