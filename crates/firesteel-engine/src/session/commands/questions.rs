//! `why` and `profile add`: what only the Master can answer.

use std::time::Duration;

use firesteel_protocol::ids::ProfileId;
use firesteel_protocol::messages::ResourceProfile;

use crate::driver::View;
use crate::session::wait::{Inquiry, Question, Wait};
use crate::session::{AddedProfile, Answer, Complaint, Effect, Session, Shortfalls, Standing, TaskShare};

/// Timeout for the Master's answer.
const ANSWER: Duration = Duration::from_secs(10);

impl Session {
    /// Says why executors are missing. The exit code is `code`, unless that is 0.
    pub(super) fn why(&mut self, code: u8) {
        self.ask_master(Question::Why { code });
    }

    fn ask_master(&mut self, question: Question) {
        self.effects.push(Effect::AskMaster);
        self.wait(Wait::Master { until: self.now + ANSWER, question });
    }

    pub(in crate::session) fn on_master_answered(&mut self, answer: Option<Shortfalls>) {
        match self.take_wait() {
            Some(Wait::Master { question: Question::Why { code }, .. }) => match answer {
                Some(shortfalls) => self.look(Inquiry::Why { shortfalls, code }),
                None => self.fail(at_least_1(code), Complaint::NoMaster),
            },
            Some(Wait::Master { question: question @ Question::Profile { .. }, .. }) => {
                let standing = match answer {
                    Some(_) => Standing::Answered,
                    None => Standing::Unanswered,
                };
                self.keep_profile(question, standing);
            }
            None => self.explain_missing(answer),
            other => self.put_back(other),
        }
    }

    pub(in crate::session) fn on_master_silent(&mut self) {
        match self.take_wait() {
            Some(Wait::Master { question, .. }) => {
                self.effects.push(Effect::Forget);
                match question {
                    Question::Why { code } => {
                        self.fail(at_least_1(code), Complaint::MasterSilent { limit: ANSWER });
                    }
                    Question::Profile { .. } => self.keep_profile(question, Standing::Unanswered),
                }
            }
            other => self.put_back(other),
        }
    }

    /// The user does not wait for the Master.
    pub(in crate::session) fn interrupt_question(&mut self, question: Question) {
        self.effects.push(Effect::Forget);
        match question {
            Question::Why { code: 0 } => self.interrupt_command(),
            Question::Why { code } => self.interrupt_failed_command(code),
            Question::Profile { refusal: Some(note), .. } => self.fail(1, Complaint::Refused(note)),
            Question::Profile { added, refusal: None, .. } => {
                self.profiles.push(added);
                self.interrupt_command();
            }
        }
    }

    pub(super) fn add_profile(&mut self, needs: ResourceProfile, task: TaskShare, total: u64, view: &View) {
        let last = view.targets.iter().map(|(profile, _)| profile.0).max().unwrap_or(0);
        let profile = ProfileId(last.saturating_add(1));
        self.effects.push(Effect::AddProfile { profile, needs: needs.clone(), total });
        let added = AddedProfile { id: profile, needs, task };
        self.ask_master(Question::Profile { added, total, refusal: None });
    }

    /// A refusal comes before the Master's answer.
    fn keep_profile(&mut self, question: Question, standing: Standing) {
        match question {
            Question::Why { .. } => {}
            Question::Profile { refusal: Some(note), .. } => self.fail(1, Complaint::Refused(note)),
            Question::Profile { added, total, refusal: None } => {
                let AddedProfile { id: profile, needs, .. } = added.clone();
                self.profiles.push(added);
                self.print(Answer::ProfileAdded { profile, needs, total, standing });
            }
        }
    }
}

fn at_least_1(code: u8) -> u8 {
    code.max(1)
}
