//! The end of an application, which happens once.
//!
//! The ApplicationMaster reports the end to the manager only if there should be no other attempt: the application has
//! succeeded, it was killed, or this is the last attempt. Otherwise the ApplicationMaster ends without a message, and
//! the manager begins the next attempt.
//!
//! Source: Spark's ApplicationMaster, 4.0.1, which has the same exit codes.

use firesteel_protocol::messages::{ApplicationEnd, MasterToDriver, Outcome};
use firesteel_protocol::process::{ExitStatus, StartFailure};

use super::effect::{Effect, Exit, FinalStatus, Outbound, Staging};
use super::note::Note;
use super::{ApplicationMaster, Manager, Mode, Phase, Program, Silence};
use crate::allocator::{AllocateFailure, Failure};

/// The exit code if no driver registered in time.
const NO_DRIVER: i32 = 13;
/// The exit code if the daemon ends before the application has ended.
const EARLY: i32 = 16;
/// The exit code if the driver has disappeared.
const DRIVER_GONE: i32 = 17;
/// The exit code for an unexpected failure.
const UNEXPECTED: i32 = 10;
/// The exit code if the driver reported that its work failed. Source: Spark, for a driver that ends with an exception.
const WORK_FAILED: i32 = 15;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) status: FinalStatus,
    pub(super) code: i32,
    pub(super) message: String,
    /// The message for the driver, if it is connected.
    pub(super) end: ApplicationEnd,
}

impl Verdict {
    fn failed(code: i32, message: impl Into<String>) -> Self {
        let message = message.into();
        let end = ApplicationEnd::GivenUp { reason: message.clone() };
        Self { status: FinalStatus::Failed, code, message, end }
    }

    fn succeeded(message: impl Into<String>) -> Self {
        let end = ApplicationEnd::Finished { outcome: None };
        Self { status: FinalStatus::Succeeded, code: 0, message: message.into(), end }
    }

    /// The verdict on an application after its driver has reported that it is done.
    ///
    /// Source: Spark's ApplicationMaster, 4.0.1, which gets the driver's exit code. In Spark, an application that its
    /// user interrupted has succeeded.
    pub(super) fn done(outcome: Option<Outcome>) -> Self {
        let (status, code) = match &outcome {
            None | Some(Outcome::Succeeded) => (FinalStatus::Succeeded, 0),
            Some(Outcome::Failed(_)) => (FinalStatus::Failed, WORK_FAILED),
            Some(Outcome::Cancelled(_)) => (FinalStatus::Killed, EARLY),
        };
        let message = format!("the driver is done{}", said(outcome.as_ref()));
        Self { status, code, message, end: ApplicationEnd::Finished { outcome } }
    }

    pub(super) fn killed(by: String) -> Self {
        let message = format!("it was killed by {by}");
        Self { status: FinalStatus::Killed, code: EARLY, message, end: ApplicationEnd::Killed { by } }
    }
}

impl ApplicationMaster {
    /// Ends the application, or this attempt at it. Only the first verdict counts.
    pub(super) fn finish(&mut self, mut verdict: Verdict) {
        match &self.phase {
            Phase::Idle | Phase::Waiting { .. } | Phase::Serving | Phase::Stopping { .. } => {}
            Phase::Finishing(_) | Phase::Done => return,
        }
        cut(&mut verdict.message, self.config.longest_message);
        let Verdict { status, code, message, .. } = verdict.clone();
        self.effects.note(Note::Finishing { status, code, message });
        if self.program == Program::Running {
            self.effects.push(Effect::EndProgram);
        }
        if self.is_over_for_good(&verdict) {
            self.tell_end(&verdict);
            self.phase = Phase::Finishing(verdict);
            match self.manager {
                Manager::Registered => self.unregister(),
                Manager::Registering => {}
                // The manager must register the attempt before it can receive a message about its end.
                Manager::Unregistered => self.register(),
                Manager::Gone => self.exit(Staging::Needed),
            }
        } else {
            self.phase = Phase::Finishing(verdict);
            self.exit(Staging::Needed);
        }
    }

    /// Whether the manager must not begin another attempt.
    fn is_over_for_good(&self, verdict: &Verdict) -> bool {
        let last = self.config.attempt >= self.config.most_attempts;
        match verdict.status {
            _ if self.manager == Manager::Gone => false,
            // For another attempt there would be no driver.
            _ if matches!(verdict.end, ApplicationEnd::Finished { .. }) => true,
            FinalStatus::Succeeded | FinalStatus::Killed => true,
            FinalStatus::Failed | FinalStatus::Undefined => last,
        }
    }

    /// Informs the driver that its application has ended, unless it knows this already.
    fn tell_end(&mut self, verdict: &Verdict) {
        if let (Some(peer), Phase::Waiting { .. } | Phase::Serving) = (self.drivers.peer(), &self.phase) {
            let message = Outbound::Driver(MasterToDriver::ApplicationRemoved(verdict.end.clone()));
            self.effects.push(Effect::Send { peer, message });
        }
    }

    pub(super) fn unregister(&mut self) {
        if let Phase::Finishing(Verdict { status, message, .. }) = &self.phase {
            let (status, message) = (*status, message.clone());
            self.effects.push(Effect::Unregister { status, message });
        }
    }

    fn exit(&mut self, staging: Staging) {
        if let Phase::Finishing(Verdict { status, code, message, .. }) =
            std::mem::replace(&mut self.phase, Phase::Done)
        {
            self.effects.push(Effect::Exit(Exit { status, code, message, staging }));
        }
    }

    pub(super) fn on_unregistered(&mut self) {
        if matches!(self.phase, Phase::Finishing(_)) {
            self.exit(Staging::Unneeded);
        }
    }

    pub(super) fn on_unregister_failed(&mut self, error: String) {
        if matches!(self.phase, Phase::Finishing(_)) {
            self.effects.note(Note::UnregisterFailed { error });
            self.exit(Staging::Needed);
        }
    }

    pub(super) fn on_register_failed(&mut self, error: String) {
        if self.manager != Manager::Registering {
            return;
        }
        self.manager = Manager::Gone;
        match self.phase {
            Phase::Finishing(_) => self.on_unregister_failed(error),
            Phase::Idle | Phase::Waiting { .. } | Phase::Serving | Phase::Stopping { .. } | Phase::Done => {
                let message = format!("the ResourceManager did not register the attempt: {error}");
                self.finish(Verdict::failed(UNEXPECTED, message));
            }
        }
    }

    pub(super) fn on_allocator_failed(&mut self, failure: &Failure) {
        if let Failure::Manager { last: AllocateFailure::Replaced, .. } = failure {
            self.manager = Manager::Gone;
        }
        self.finish(Verdict::failed(failure.exit_code(), failure.to_string()));
    }

    pub(super) fn give_up_waiting(&mut self) {
        let seconds = self.config.wait_time.as_secs_f64();
        let message = format!("no driver registered within {seconds} s (spark.yarn.am.waitTime)");
        self.finish(Verdict::failed(NO_DRIVER, message));
    }

    /// Ends the application in client mode, because its driver does not return. By default this is a success, as in
    /// Spark.
    pub(super) fn on_driver_silent(&mut self) {
        let message = "the driver is gone and has not said that it is done";
        self.finish(match self.config.silence {
            Silence::Success => Verdict::succeeded(message),
            Silence::Failure => Verdict::failed(DRIVER_GONE, message),
        });
    }

    pub(super) fn on_program_not_started(&mut self, failure: &StartFailure) {
        self.program = Program::None;
        self.finish(Verdict::failed(UNEXPECTED, failure.to_string()));
    }

    /// Ends the application with the exit code of the program, even if the program never had a driver.
    ///
    /// Source: Spark's ApplicationMaster, 4.0.1. In Spark, a program that ends without a driver has failed with code
    /// 13, even if it had nothing to do.
    pub(super) fn on_program_ended(&mut self, status: ExitStatus) {
        if self.program != Program::Running {
            return;
        }
        self.program = Program::Ended(status);
        let message = format!("the program ended with {status}{}", said(self.drivers.outcome()));
        let verdict = match status {
            ExitStatus::Code(0) => Verdict::succeeded(message),
            ExitStatus::Code(_) | ExitStatus::Signal(_) => Verdict::failed(status.shell_code(), message),
        };
        self.finish(verdict);
    }

    /// Handles a request to end the daemon. Source: Spark's ApplicationMaster, 4.0.1, which does the same in its
    /// shutdown hook.
    pub(super) fn on_shutdown(&mut self) {
        let verdict = Verdict::failed(EARLY, "the ApplicationMaster was asked to end");
        let status = match self.config.mode {
            Mode::Cluster => FinalStatus::Failed,
            Mode::Client | Mode::Unmanaged => FinalStatus::Undefined,
        };
        match std::mem::replace(&mut self.phase, Phase::Done) {
            // The report to the manager is on its way. After a second request, the daemon does not wait for the answer.
            Phase::Finishing(verdict) => {
                self.phase = Phase::Finishing(verdict);
                self.exit(Staging::Needed);
            }
            phase => {
                self.phase = phase;
                self.finish(Verdict { status, ..verdict });
            }
        }
    }
}

/// The suffix of a message about the application's end, if the driver reported an outcome: `; failed: 3 of 10 items
/// failed`. Empty for a success.
fn said(outcome: Option<&Outcome>) -> String {
    match outcome {
        None | Some(Outcome::Succeeded) => String::new(),
        Some(outcome @ (Outcome::Failed(_) | Outcome::Cancelled(_))) => format!("; {outcome}"),
    }
}

/// Cuts a message to this number of bytes, including the ellipsis.
fn cut(message: &mut String, longest: usize) {
    const ELLIPSIS: &str = "...";
    if message.len() > longest {
        let end = message.floor_char_boundary(longest.saturating_sub(ELLIPSIS.len()));
        message.truncate(end);
        message.push_str(ELLIPSIS);
    }
}
