//! Counts executors that ended and are not replaced, and the executors that are still wanted.
//!
//! The Master counts in the same way, so that both agree on when all executors have ended. The launcher asks a Master
//! that does not know the application only for the executors that are still wanted.

use firesteel_placement::{Cores, Demand, ExecutorLimit, ExecutorSize};
use firesteel_protocol::messages::{
    ApplicationDescription, ExecutorState, LossReason, limit_after_final_end,
};

/// The exit code for an executor that could not be started. A POSIX shell returns it if it does not find a command.
const NOT_STARTED: i32 = 127;

/// The exit code for an executor that used more than its Worker or container allows: it was killed.
const OVER_LIMIT: i32 = 128 + 9;

/// The executors that have ended and are not replaced.
#[derive(Clone, Debug)]
pub(super) struct FinalEnds {
    /// The exit code of the first executor that ended, and the greatest exit code of all.
    codes: Option<(i32, i32)>,
    /// The application's maximum number of cores at its Master, minus the cores of the executors that have ended and
    /// are not replaced. [`Cores::UNLIMITED`]: no maximum.
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

    /// Counts an executor that ended and is not replaced; `held` executors are left. Later registrations at a Master
    /// that does not know the application ask for one executor less.
    pub(super) fn add(
        &mut self,
        description: &mut ApplicationDescription,
        end: &ExecutorState,
        cores: Cores,
        held: u64,
    ) {
        let code = match end {
            ExecutorState::Lost(LossReason::OverLimit { .. }) => OVER_LIMIT,
            end => end.exit_status().map_or(NOT_STARTED, |status| status.shell_code()),
        };
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

    /// Whether the application requests a limited number of executors or cores. Only then can there be too few.
    pub(super) fn is_bounded(&self, description: &ApplicationDescription) -> bool {
        description.initial_limit != ExecutorLimit::Unlimited || self.max_cores < Cores::UNLIMITED
    }

    /// Whether the application wants more executors than the `held` ones, which have `cores` cores in all.
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
