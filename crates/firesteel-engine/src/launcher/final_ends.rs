//! Counts executors that ended and are not replaced, and the executors that are still wanted.
//!
//! The Master counts in the same way, so that both agree on when all executors have ended. A Master that does not know
//! the application is asked only for the rest.

use firesteel_placement::{Cores, Demand, ExecutorLimit, ExecutorSize};
use firesteel_protocol::messages::{ApplicationDescription, ExecutorState, limit_after_final_end};

/// The exit code for an executor that could not be started. A shell exits with it when it finds no command.
const NOT_STARTED: i32 = 127;

/// The executors that have ended and are not replaced.
#[derive(Clone, Debug)]
pub(super) struct FinalEnds {
    /// The exit code of the first executor that ended, and the greatest of all.
    codes: Option<(i32, i32)>,
    /// The cores left for other executors: the application's maximum at its Master, less the cores of the ended ones.
    /// [`Cores::UNLIMITED`]: no maximum.
    max_cores: Cores,
}

impl Default for FinalEnds {
    fn default() -> Self {
        Self { codes: None, max_cores: Cores::UNLIMITED }
    }
}

impl FinalEnds {
    /// A Master registered the application with this maximum of cores.
    pub(super) fn set_maximum(&mut self, max_cores: Cores) {
        self.max_cores = max_cores;
    }

    /// Counts an executor that ended and is not replaced; `held` executors are left. A Master that does not know the
    /// application will be asked for one less.
    pub(super) fn add(
        &mut self,
        description: &mut ApplicationDescription,
        end: &ExecutorState,
        cores: Cores,
        held: u64,
    ) {
        let code = end.exit_status().map_or(NOT_STARTED, |status| status.shell_code());
        let (first, greatest) = self.codes.unwrap_or((code, code));
        self.codes = Some((first, greatest.max(code)));
        description.initial_limit = limit_after_final_end(description.initial_limit, self.max_cores, held);
        if self.max_cores < Cores::UNLIMITED {
            self.max_cores -= cores;
            description.max_cores = Some(self.max_cores);
        }
    }

    pub(super) fn first(&self) -> Option<i32> {
        self.codes.map(|(first, _)| first)
    }

    pub(super) fn greatest(&self) -> Option<i32> {
        self.codes.map(|(_, greatest)| greatest)
    }

    /// Whether a number of executors or cores was requested, so that there can be too few.
    pub(super) fn is_bounded(&self, description: &ApplicationDescription) -> bool {
        description.initial_limit != ExecutorLimit::Unlimited || self.max_cores < Cores::UNLIMITED
    }

    /// Whether more executors are wanted than `held`, which have `cores` cores together.
    pub(super) fn want_more(&self, description: &ApplicationDescription, cores: Cores, held: u64) -> bool {
        let demand = Demand {
            size: description.profile.cores.map_or(ExecutorSize::OnePerWorker, ExecutorSize::Fixed),
            cores_left: self.max_cores - cores,
            limit: description.initial_limit,
            held,
            ..Demand::default()
        };
        demand.allows_one_more()
    }
}
