//! Changes that users request from a Master, and their results: one log line for each request, whatever way it came.

use std::fmt;

use firesteel_placement::advanced::words::none_or;
use firesteel_protocol::Mentions;
use firesteel_protocol::ids::{AppId, DriverId, PeerId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, ClientToMaster, DecommissionAnswer, KillAnswer, KillDriverAnswer, Requester,
    SubmitDriverAnswer,
};

/// The maximum number of characters of a name from a peer.
const LONGEST: usize = 200;

/// The target of a request that concerns everything of its kind.
const ALL: &str = "all";

/// A request for a change: who sent it, and the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// The connection on which the request came.
    pub peer: PeerId,
    /// The user named in the request, such as `ann@host`. `None`: the request names no user.
    pub by: Option<String>,
    /// The requested action.
    pub action: Action,
    /// The object that the request names: an application, a Worker or host, a cluster driver, a program.
    pub target: String,
    /// The id that the Master assigned or found.
    pub id: Option<AuditedId>,
    /// The result of the request.
    pub verdict: Verdict,
    /// The result in detail, in words for people.
    pub detail: String,
}

/// An action that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Register an application.
    RegisterApplication,
    /// End an application.
    KillApplication,
    /// Decommission Workers.
    DecommissionWorkers,
    /// Run a cluster driver.
    SubmitDriver,
    /// End a cluster driver.
    KillDriver,
    /// End all cluster drivers.
    KillAllDrivers,
    /// Forget ended applications and cluster drivers.
    ClearCompleted,
    /// Read a log. Only refusals are audited.
    ReadLog,
}

/// The id of the object that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditedId {
    /// An application.
    App(AppId),
    /// A cluster driver.
    Driver(DriverId),
    /// The only Worker, or the first of several Workers.
    Worker(WorkerId),
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request is fulfilled, or will be soon.
    Done,
    /// There was nothing to do.
    Unchanged,
    /// The request is refused.
    Refused,
}

impl Action {
    /// The action's name in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RegisterApplication => "register-application",
            Self::KillApplication => "kill-application",
            Self::DecommissionWorkers => "decommission-workers",
            Self::SubmitDriver => "submit-driver",
            Self::KillDriver => "kill-driver",
            Self::KillAllDrivers => "kill-all-drivers",
            Self::ClearCompleted => "clear-completed",
            Self::ReadLog => "read-log",
        }
    }
}

impl Verdict {
    /// The verdict's name in the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Unchanged => "unchanged",
            Self::Refused => "refused",
        }
    }
}

impl Audit {
    /// A driver registers an application. The application got this id, or was refused for this reason.
    pub(crate) fn register(
        peer: PeerId,
        description: &ApplicationDescription,
        outcome: Result<&AppId, &str>,
    ) -> Self {
        let asked = Self::of(peer, Some(&description.user), Action::RegisterApplication, &description.name);
        match outcome {
            Ok(app) => asked.ends(Verdict::Done, Some(AuditedId::App(app.clone())), app),
            Err(reason) => asked.ends(Verdict::Refused, None, reason),
        }
    }

    /// A client asks to end an application.
    pub(crate) fn kill(peer: PeerId, which: &str, by: &Requester, answer: &KillAnswer) -> Self {
        let asked = Self::of(peer, Some(by.name()), Action::KillApplication, which);
        let id = |app: &AppId| Some(AuditedId::App(app.clone()));
        match answer {
            KillAnswer::Killed { app, .. } => asked.ends(Verdict::Done, id(app), app),
            KillAnswer::Over { app, .. } => {
                asked.ends(Verdict::Unchanged, id(app), format_args!("{app} had ended before"))
            }
            KillAnswer::Unknown => asked.ends(Verdict::Refused, None, "no application has this id or name"),
            KillAnswer::Ambiguous { apps } => {
                let words = format_args!("{} applications or more have this name", apps.len());
                asked.ends(Verdict::Refused, None, words)
            }
        }
    }

    /// A client asks to decommission Workers.
    pub(crate) fn decommission(
        peer: PeerId,
        which: &str,
        by: &Requester,
        answer: &DecommissionAnswer,
    ) -> Self {
        let asked = Self::of(peer, Some(by.name()), Action::DecommissionWorkers, which);
        match answer {
            DecommissionAnswer::Leaving { workers, more } => {
                let id = workers.first().map(|worker| AuditedId::Worker(worker.id.clone()));
                let mut names: Vec<String> = workers.iter().map(|worker| worker.id.to_string()).collect();
                names.extend((*more > 0).then(|| format!("{more} more")));
                asked.ends(Verdict::Done, id, names.join(", "))
            }
            DecommissionAnswer::Unknown => {
                asked.ends(Verdict::Refused, None, "no living Worker has this id or host")
            }
        }
    }

    /// A client submits a cluster driver with this program.
    pub(crate) fn submit_driver(
        peer: PeerId,
        program: &str,
        user: &str,
        answer: &SubmitDriverAnswer,
    ) -> Self {
        let asked = Self::of(peer, Some(user), Action::SubmitDriver, program);
        match answer {
            SubmitDriverAnswer::Submitted { driver } => {
                asked.ends(Verdict::Done, Some(AuditedId::Driver(driver.clone())), driver)
            }
            SubmitDriverAnswer::Refused(refusal) => asked.ends(Verdict::Refused, None, refusal),
        }
    }

    /// A client asks to end a cluster driver.
    pub(crate) fn kill_driver(
        peer: PeerId,
        driver: &DriverId,
        by: &Requester,
        answer: &KillDriverAnswer,
    ) -> Self {
        let asked = Self::of(peer, Some(by.name()), Action::KillDriver, driver.as_str());
        let id = |driver: &DriverId| Some(AuditedId::Driver(driver.clone()));
        match answer {
            KillDriverAnswer::Asked { driver } | KillDriverAnswer::Killed { driver } => {
                asked.ends(Verdict::Done, id(driver), driver)
            }
            KillDriverAnswer::Over { driver, .. } => {
                asked.ends(Verdict::Unchanged, id(driver), format_args!("{driver} had ended before"))
            }
            KillDriverAnswer::Unknown => asked.ends(Verdict::Refused, None, "no driver has this id"),
        }
    }

    /// A client asks to end all cluster drivers, of which there are `drivers`.
    pub(crate) fn kill_all_drivers(peer: PeerId, by: &Requester, drivers: u64) -> Self {
        let asked = Self::of(peer, Some(by.name()), Action::KillAllDrivers, ALL);
        let verdict = if drivers == 0 { Verdict::Unchanged } else { Verdict::Done };
        asked.ends(verdict, None, none_or(drivers, "driver"))
    }

    /// A client asks to forget the ended applications and cluster drivers.
    pub(crate) fn clear_completed(peer: PeerId, by: &Requester) -> Self {
        let asked = Self::of(peer, Some(by.name()), Action::ClearCompleted, ALL);
        asked.ends(Verdict::Done, None, "what had ended is forgotten")
    }

    /// A client asks for something that it may not have, for this reason.
    pub(crate) fn forbidden(peer: PeerId, message: &ClientToMaster, why: &str) -> Self {
        let (action, target) = match message {
            ClientToMaster::KillApplication { app, .. } => (Action::KillApplication, &**app),
            ClientToMaster::RequestKillDriver { driver, .. } => (Action::KillDriver, driver.as_str()),
            ClientToMaster::RequestKillAllDrivers { .. } => (Action::KillAllDrivers, ALL),
            ClientToMaster::DecommissionWorkers { which, .. } => (Action::DecommissionWorkers, &**which),
            ClientToMaster::RequestClearCompletedDriversAndApps { .. } => (Action::ClearCompleted, ALL),
            ClientToMaster::RequestLog { range, .. } => (Action::ReadLog, range.author.directory_id()),
            ClientToMaster::RequestMasterState { .. }
            | ClientToMaster::RequestApplication { .. }
            | ClientToMaster::RequestReadyz
            | ClientToMaster::RequestSubmitDriver(_)
            | ClientToMaster::RequestDriverStatus { .. }
            | ClientToMaster::RequestHistory { .. } => unreachable!("everybody admitted may ask and submit"),
        };
        let by = message.requester().map(Requester::name);
        Self::of(peer, by, action, target).ends(Verdict::Refused, None, why)
    }

    fn of(peer: PeerId, by: Option<&str>, action: Action, target: &str) -> Self {
        let by = by.filter(|by| !by.is_empty()).map(short);
        let (id, verdict, detail) = (None, Verdict::Done, String::new());
        Self { peer, by, action, target: short(target), id, verdict, detail }
    }

    fn ends(self, verdict: Verdict, id: Option<AuditedId>, detail: impl fmt::Display) -> Self {
        Self { id, verdict, detail: detail.to_string(), ..self }
    }

    /// The ids that the audit line names.
    #[must_use]
    pub fn mentions(&self) -> Mentions<'_> {
        let mentions = match &self.id {
            Some(AuditedId::App(app)) => app.into(),
            Some(AuditedId::Driver(driver)) => driver.into(),
            Some(AuditedId::Worker(worker)) => worker.into(),
            None => Mentions::NONE,
        };
        Mentions { peer: Some(self.peer), ..mentions }
    }
}

fn short(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

/// Formats the line as `kill-application "nightly": done: app-1`. It leaves out the user and the address, which the
/// daemon adds because it knows them better.
impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, target, verdict, detail, .. } = self;
        write!(f, "{} {target:?}: {}: {detail}", action.name(), verdict.name())
    }
}
