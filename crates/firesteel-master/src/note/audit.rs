//! What people ask a Master to change, and what becomes of it: a line of the log for each request, over whatever route
//! it came.

use std::fmt;

use firesteel_placement::advanced::words::none_or;
use firesteel_protocol::Mentions;
use firesteel_protocol::ids::{AppId, DriverId, PeerId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, DecommissionAnswer, KillAnswer, KillDriverAnswer, SubmitDriverAnswer,
};

/// The maximum number of characters of a name that a peer gives.
const LONGEST: usize = 200;

/// A request that changes something, with who sent it and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// The connection that it came on.
    pub peer: PeerId,
    /// The user as the request names it, such as `ann@host`. `None`: the request names nobody.
    pub by: Option<String>,
    /// What was asked for.
    pub action: Action,
    /// What the request names: an application, a Worker or host, a cluster driver, a program.
    pub target: String,
    /// The id that the Master gave or found.
    pub id: Option<AuditedId>,
    /// What became of it.
    pub verdict: Verdict,
    /// The verdict in detail, in words for people.
    pub detail: String,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Register an application.
    RegisterApplication,
    /// End an application.
    KillApplication,
    /// Have Workers leave.
    DecommissionWorkers,
    /// Run a cluster driver.
    SubmitDriver,
    /// End a cluster driver.
    KillDriver,
    /// End all cluster drivers.
    KillAllDrivers,
    /// Forget what has ended.
    ClearCompleted,
}

/// The id of what was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditedId {
    /// An application.
    App(AppId),
    /// A cluster driver.
    Driver(DriverId),
    /// The only Worker, or the first of several.
    Worker(WorkerId),
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is done, or under way.
    Done,
    /// There was nothing left to do.
    Unchanged,
    /// It is refused.
    Refused,
}

impl Action {
    /// Its name in the log.
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
        }
    }
}

impl Verdict {
    /// Its name in the log.
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
    /// A driver registers an application: it got this id, or was refused for this reason.
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

    /// A client asks for the end of an application.
    pub(crate) fn kill(peer: PeerId, which: &str, by: &str, answer: &KillAnswer) -> Self {
        let asked = Self::of(peer, Some(by), Action::KillApplication, which);
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

    /// A client asks for Workers to leave. The request names nobody.
    pub(crate) fn decommission(peer: PeerId, which: &str, answer: &DecommissionAnswer) -> Self {
        let asked = Self::of(peer, None, Action::DecommissionWorkers, which);
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

    /// A client submits a cluster driver that runs this program.
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

    /// A client asks for the end of a cluster driver.
    pub(crate) fn kill_driver(peer: PeerId, driver: &DriverId, by: &str, answer: &KillDriverAnswer) -> Self {
        let asked = Self::of(peer, Some(by), Action::KillDriver, driver.as_str());
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

    /// A client asks for the end of all cluster drivers, of which there are this many.
    pub(crate) fn kill_all_drivers(peer: PeerId, by: &str, drivers: u64) -> Self {
        let asked = Self::of(peer, Some(by), Action::KillAllDrivers, "all");
        let verdict = if drivers == 0 { Verdict::Unchanged } else { Verdict::Done };
        asked.ends(verdict, None, none_or(drivers, "driver"))
    }

    /// A client has the applications and cluster drivers that have ended forgotten.
    pub(crate) fn clear_completed(peer: PeerId, by: &str) -> Self {
        Self::of(peer, Some(by), Action::ClearCompleted, "all").ends(
            Verdict::Done,
            None,
            "what had ended is forgotten",
        )
    }

    fn of(peer: PeerId, by: Option<&str>, action: Action, target: &str) -> Self {
        let by = by.filter(|by| !by.is_empty()).map(short);
        let (id, verdict, detail) = (None, Verdict::Done, String::new());
        Self { peer, by, action, target: short(target), id, verdict, detail }
    }

    fn ends(self, verdict: Verdict, id: Option<AuditedId>, detail: impl fmt::Display) -> Self {
        Self { id, verdict, detail: detail.to_string(), ..self }
    }

    /// The ids that it names.
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

/// Without who asked and from where, which the shell knows better: `kill-application "nightly": done: app-1`.
impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, target, verdict, detail, .. } = self;
        write!(f, "{} {target:?}: {}: {detail}", action.name(), verdict.name())
    }
}
