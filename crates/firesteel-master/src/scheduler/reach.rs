//! Which executors may be ended for an application.

use firesteel_protocol::time::Timestamp;

use crate::tables::applications::application::Application;
use crate::tables::executors::executor::Executor;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Executors of applications of lower priority.
    Lower,
    /// Also executors of applications of the same priority, if these applications come later and are no gangs. The
    /// executors must have been launched at or after this time.
    AndLaunchedSince(Timestamp),
}

impl Reach {
    /// Whether this executor of `other` may be ended for `application`.
    pub(super) fn includes(
        self,
        application: &Application,
        other: &Application,
        executor: &Executor,
    ) -> bool {
        let (own, theirs) = (&application.description, &other.description);
        let is_lower = theirs.priority < own.priority;
        let is_late = match self {
            Self::Lower => false,
            Self::AndLaunchedSince(since) => {
                theirs.priority == own.priority
                    && application.queue_rank() < other.queue_rank()
                    && theirs.gang <= 1
                    && executor.launched >= since
            }
        };
        other.queue == application.queue && (is_lower || is_late)
    }
}
