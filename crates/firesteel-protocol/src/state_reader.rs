//! A client that reads a Master's state, page by page.

use std::collections::BTreeMap;

use crate::messages::{ClientToMaster, MasterView, StateCursor, StateHead, StatePage, StateRow, StateTotals};
use crate::time::Timestamp;

/// Which part of a Master's state a client reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Whole,
    /// At least the Workers.
    Workers,
    /// The Workers, the applications, and at least this number of executors, if there are as many.
    Executors(u64),
}

/// Asks for the pages of a state, and puts them together.
///
/// A row that exists from the first page to the last is in the result exactly once. A row that appears or disappears
/// meanwhile may be missing.
#[derive(Clone, Debug)]
pub struct StateReader {
    extent: Extent,
    /// The place from which to ask next. `None`: everything wanted has been read.
    from: Option<StateCursor>,
    state: Option<MasterView>,
    totals: StateTotals,
    /// The places of live applications in the state, by number.
    cursors: BTreeMap<u64, usize>,
    rows: u64,
    executors: u64,
    /// Whether there are rows that the client does not want.
    is_cut: bool,
}

/// The error for a page that does not continue the pages before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the page does not continue those before")]
pub struct UnexpectedPage;

impl StateReader {
    #[must_use]
    pub fn new(extent: Extent) -> Self {
        Self {
            extent,
            from: Some(StateCursor::beginning()),
            state: None,
            totals: StateTotals::default(),
            cursors: BTreeMap::new(),
            rows: 0,
            executors: 0,
            is_cut: false,
        }
    }

    /// The next question to send to the Master. `None`: everything wanted has been read.
    #[must_use]
    pub fn question(&self) -> Option<ClientToMaster> {
        self.from.clone().map(|from| ClientToMaster::RequestMasterState { from })
    }

    /// The number of rows read so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds the answer to the latest question.
    ///
    /// # Errors
    /// The page does not answer that question. The reader must not be used after that.
    pub fn read(&mut self, page: StatePage) -> Result<(), UnexpectedPage> {
        let from = self.from.take().ok_or(UnexpectedPage)?;
        let cursors: Vec<StateCursor> = page.rows.iter().map(StateRow::cursor).collect();
        let ascend = cursors.is_sorted_by(|one, other| one < other);
        let begins = cursors.first().is_none_or(|first| *first >= from);
        // A page that is not the last but does not advance would be requested again and again.
        let goes_on = page
            .next
            .as_ref()
            .is_none_or(|next| *next > from && cursors.last().is_none_or(|last| last < next));
        if !(ascend && begins && goes_on) {
            return Err(UnexpectedPage);
        }
        let StatePage { now, head, rows, next } = page;
        let mut state = match (self.state.take(), head) {
            (None, Some(head)) => {
                self.totals = head.totals;
                empty(head, now)
            }
            (Some(state), None) => state,
            (None, None) | (Some(_), Some(_)) => return Err(UnexpectedPage),
        };
        state.now = now;
        for row in rows {
            self.add(&mut state, row);
        }
        self.state = Some(state);
        let more = next.is_some();
        self.from = next.filter(|next| self.wants(next));
        self.is_cut = more && self.from.is_none();
        Ok(())
    }

    fn add(&mut self, state: &mut MasterView, row: StateRow) {
        self.rows += 1;
        match row {
            StateRow::Worker(worker) => state.workers.push(*worker),
            StateRow::Application { number, view } if view.ended.is_none() => {
                self.cursors.insert(number, state.applications.len());
                state.applications.push(*view);
            }
            StateRow::Application { view, .. } => state.completed.push(*view),
            StateRow::Driver { view, .. } => state.drivers.push(*view),
            StateRow::Executor { application, view } => {
                self.executors += 1;
                // If an application registered after the reader had passed its place, its executors are not shown.
                if let Some(cursor) = self.cursors.get(&application) {
                    state.applications[*cursor].executors.push(view);
                }
            }
        }
    }

    fn wants(&self, next: &StateCursor) -> bool {
        match (self.extent, next) {
            (Extent::Whole, _)
            | (Extent::Workers | Extent::Executors(_), StateCursor::Worker(_))
            | (Extent::Executors(_), StateCursor::Application(_) | StateCursor::Driver(_)) => true,
            (
                Extent::Workers,
                StateCursor::Application(_) | StateCursor::Driver(_) | StateCursor::Executor { .. },
            ) => false,
            (Extent::Executors(most), StateCursor::Executor { .. }) => self.executors < most,
        }
    }

    /// The state, once there is no further question. `None` before that.
    #[must_use]
    pub fn finish(self) -> Option<MasterView> {
        let mut state = self.state.filter(|_| self.from.is_none())?;
        state.workers.sort_by_key(|worker| worker.state.is_gone());
        state.completed.sort_by_key(|application| application.ended);
        state.unread_executors = match self.is_cut {
            true => self.totals.executors.saturating_sub(self.executors),
            false => 0,
        };
        Some(state)
    }
}

fn empty(head: StateHead, now: Timestamp) -> MasterView {
    let StateHead { url, web_address, scheduling, reserved, lag_millis, totals: _, is_exposed } = head;
    let (began, empty) = (now, MasterView::empty(url));
    MasterView { web_address, began, now, scheduling, reserved, lag_millis, is_exposed, ..empty }
}

#[cfg(test)]
mod tests {
    use firesteel_placement::Cores;

    use super::*;
    use crate::address::Address;
    use crate::ids::{ExecutorId, WorkerId};
    use crate::messages::{Offered, WorkerDescription, WorkerState, WorkerView};
    use crate::scheduling::SchedulingSettings;

    fn worker(id: &str, state: WorkerState) -> StateRow {
        let (address, offered) =
            (Address::new("h".to_owned(), 1), Offered { cores: Cores(1), ..Offered::default() });
        let worker = WorkerDescription::new(WorkerId::new(id), address, offered, "/work");
        StateRow::Worker(Box::new(WorkerView { state, ..WorkerView::unused(&worker, Timestamp::default()) }))
    }

    fn head() -> Option<StateHead> {
        let totals = StateTotals { executors: 9, ..StateTotals::default() };
        Some(StateHead {
            url: "spark://h:1".to_owned(),
            web_address: None,
            scheduling: SchedulingSettings::default(),
            reserved: Vec::new(),
            lag_millis: 0,
            totals,
            is_exposed: false,
        })
    }

    fn page(millis: u64, ids: &[&str], next: Option<StateCursor>) -> StatePage {
        let rows = ids.iter().map(|id| worker(id, WorkerState::Alive)).collect();
        let head = if millis == 1 { head() } else { None };
        StatePage { now: Timestamp::from_millis(millis), head, rows, next }
    }

    fn at(id: &str) -> Option<StateCursor> {
        Some(StateCursor::Worker(WorkerId::new(id)))
    }

    #[test]
    fn pages_are_put_together_with_the_times_of_the_first_and_the_last() {
        let mut reader = StateReader::new(Extent::Whole);
        let mut first = page(1, &["b"], at("c"));
        first.rows.insert(0, worker("a", WorkerState::Dead));
        assert_eq!(reader.read(first), Ok(()));
        assert_eq!(
            reader.question(),
            Some(ClientToMaster::RequestMasterState { from: at("c").expect("a place") })
        );
        assert_eq!(reader.clone().finish(), None);
        assert_eq!(reader.read(page(2, &["d"], None)), Ok(()));
        assert_eq!((reader.question(), reader.rows()), (None, 3));
        let state = reader.finish().expect("it is whole");
        assert_eq!((state.began.millis(), state.now.millis()), (1, 2));
        let ids: Vec<&str> = state.workers.iter().map(|worker| worker.id.as_str()).collect();
        assert_eq!(ids, ["b", "d", "a"], "the living come first");
    }

    #[test]
    fn a_page_that_does_not_continue_those_before_is_refused() {
        for (second, why) in [
            (page(2, &["b"], None), "it begins before the place that was asked for"),
            (page(2, &["d", "d"], None), "a row is there twice"),
            (page(2, &["e", "d"], None), "the rows are not in order"),
            (page(2, &["d"], at("d")), "the next page would repeat a row"),
            (page(2, &[], at("c")), "it leads no further"),
            (page(1, &["d"], None), "it is a first page"),
        ] {
            let mut reader = StateReader::new(Extent::Whole);
            assert_eq!(reader.read(page(1, &["b"], at("c"))), Ok(()));
            assert_eq!(reader.read(second), Err(UnexpectedPage), "{why}");
        }
        assert_eq!(StateReader::new(Extent::Whole).read(page(2, &[], None)), Err(UnexpectedPage));
    }

    #[test]
    fn a_reader_asks_for_no_more_than_it_wants() {
        let executor = StateCursor::Executor { application: 0, executor: ExecutorId(3) };
        for (extent, next, goes_on) in [
            (Extent::Workers, at("b").expect("a place"), true),
            (Extent::Workers, StateCursor::Application(0), false),
            (Extent::Executors(2), StateCursor::Application(0), true),
            (Extent::Executors(2), executor.clone(), true),
            (Extent::Executors(0), executor.clone(), false),
            (Extent::Whole, executor, true),
        ] {
            let mut reader = StateReader::new(extent);
            assert_eq!(reader.read(page(1, &["a"], Some(next.clone()))), Ok(()));
            assert_eq!(reader.question().is_some(), goes_on, "{extent:?} {next:?}");
            let unread = reader.finish().map(|state| state.unread_executors);
            assert_eq!(unread, (!goes_on).then_some(9), "{extent:?} {next:?}");
        }
    }
}
