//! The identity of a Master's state, and how far the state went before the present run of the Master.

use firesteel_protocol::ids::ExecutorId;
use firesteel_protocol::messages::{GivenNumbers, RunId, StateId, StateMark};
use firesteel_protocol::time::Timestamp;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lineage {
    /// `None`: the Master keeps no state.
    pub(crate) state: Option<StateId>,
    /// The present run of the Master.
    pub(crate) run: RunId,
    /// Whether the identity was drawn in this run, or no Worker and no application had registered before it.
    pub(crate) is_new: bool,
    /// The numbers that were given before this run.
    pub(crate) before: GivenNumbers,
    /// The lowest number that is above those of all executors of any application.
    pub(crate) executors: u32,
    /// The time of the latest decision that is, or will be, durable before anybody is told of it.
    pub(crate) marked: Timestamp,
    /// Whether a peer has shown in this run a mark that the state does not contain.
    pub(crate) is_older: bool,
}

impl Lineage {
    /// Handles the launch of an executor with this number.
    pub(crate) fn see_executor(&mut self, executor: ExecutorId) {
        self.executors = self.executors.max(executor.0.saturating_add(1));
    }

    /// Begins a run. A new state, or one of a release that gave no identities, gets the number of its first run.
    pub(crate) fn begin(&mut self, run: RunId, now: Timestamp, before: GivenNumbers, is_unused: bool) {
        if run != RunId::default() {
            self.is_new = self.state.is_none() || is_unused;
            self.state.get_or_insert(StateId(run.0));
        }
        (self.run, self.before, self.marked) = (run, before, now);
    }

    /// Whether a mark of this state is from the present run, or was reached before it. `ended` is the time of the last
    /// record before this run. Decisions of the same millisecond are told apart by the numbers that they gave.
    pub(crate) fn contains(&self, mark: &StateMark, ended: Timestamp) -> bool {
        mark.run == self.run || mark.at < ended || (mark.at == ended && mark.given.is_within(self.before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_keeps_its_identity_and_contains_the_marks_of_its_run_and_those_before_its_end() {
        let at = |second: u64| Timestamp::from_millis(second * 1000);
        let given = |executors| GivenNumbers { executors, applications: 2, drivers: 0 };
        let mut lineage = Lineage::default();
        lineage.begin(RunId::default(), at(0), given(0), true);
        assert_eq!((lineage.state, lineage.is_new), (None, false));
        for (run, is_unused, is_new) in [(7, false, true), (8, true, true), (9, false, false)] {
            lineage.begin(RunId(run), at(100), given(5), is_unused);
            assert_eq!((lineage.state, lineage.is_new), (Some(StateId(7)), is_new));
        }
        for (run, second, executors, is_contained) in [
            (9, 900, 99, true),
            (8, 49, 99, true),
            (8, 50, 5, true),
            (8, 50, 6, false),
            (8, 51, 5, false),
            (10, 51, 5, false),
        ] {
            let mark =
                StateMark { state: StateId(7), run: RunId(run), at: at(second), given: given(executors) };
            assert_eq!(lineage.contains(&mark, at(50)), is_contained, "{mark:?}");
        }
    }
}
