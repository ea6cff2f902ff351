//! Orders to launch executors that a Worker has not answered.

use std::collections::VecDeque;

use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey};
use firesteel_protocol::time::Timestamp;

/// An unanswered order is repeated after this number of heartbeats. The Worker may have sent the first heartbeat before
/// the order arrived.
const REPEATED_AFTER: u32 = 2;

/// After this number of heartbeats without an answer, the executor goes to another Worker.
const GIVEN_UP_AFTER: u32 = 4;

/// The orders that a Worker has not answered.
///
/// A heartbeat names the last order that the Worker received, so it answers that order and all orders before it. If the
/// connection stalls in the direction of the Worker, its heartbeats arrive but answer nothing. The first report about
/// an executor answers only the order for this executor. Spark's Workers give no other answer.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    /// The orders, oldest first. If a report has answered an order, it stays in the list while older ones are before
    /// it, because a heartbeat may name it.
    sent: VecDeque<Order>,
}

#[derive(Clone, Debug)]
struct Order {
    /// The executor's application. It is stored apart from the executor's number, because an `ExecutorKey` would make
    /// an order larger.
    app: AppId,
    executor: ExecutorId,
    sent: Timestamp,
    /// The number of heartbeats since the order was sent that did not answer it.
    heartbeats: u32,
    /// Whether a report has answered the order.
    is_answered: bool,
}

impl Order {
    fn launches(&self, executor: &ExecutorKey) -> bool {
        self.executor == executor.executor && self.app == executor.app
    }

    fn into_key(self) -> ExecutorKey {
        ExecutorKey { app: self.app, executor: self.executor }
    }
}

/// The orders that need an action after a heartbeat, oldest first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Overdue {
    /// The executors whose orders are to be repeated.
    pub(crate) repeated: Vec<ExecutorKey>,
    /// The executors that are given to other Workers.
    pub(crate) given_up: Vec<ExecutorKey>,
}

impl Orders {
    pub(crate) fn sent(&mut self, now: Timestamp, executor: ExecutorKey) {
        let ExecutorKey { app, executor } = executor;
        self.sent.push_back(Order { app, executor, sent: now, heartbeats: 0, is_answered: false });
    }

    /// Records that the Worker has reported on an executor, so it has received the order. Returns whether the order was
    /// unanswered.
    pub(crate) fn answer(&mut self, executor: &ExecutorKey) -> bool {
        let mut unanswered = self.sent.iter_mut().filter(|order| !order.is_answered);
        let is_answer =
            unanswered.find(|order| order.launches(executor)).map(|order| order.is_answered = true);
        self.forget_answered();
        is_answer.is_some()
    }

    /// Drops the answered orders at the beginning of the list. If the list becomes empty, frees its memory, because
    /// there are many Workers.
    fn forget_answered(&mut self) {
        let answered = self.sent.iter().take_while(|order| order.is_answered).count();
        self.sent.drain(..answered);
        if self.sent.is_empty() {
            self.sent = VecDeque::new();
        }
    }

    /// Handles a heartbeat that arrived at this time. `last_order` is the last order that the Worker received.
    pub(crate) fn hear(&mut self, arrived: Timestamp, last_order: Option<&ExecutorKey>) -> Overdue {
        let named = self.sent.iter().rposition(|order| last_order.is_some_and(|last| order.launches(last)));
        if let Some(last) = named {
            self.sent.drain(..=last);
        }
        for order in &mut self.sent {
            // The Master may handle a heartbeat late: the heartbeat arrived before the order was sent.
            order.heartbeats += u32::from(order.sent < arrived);
        }
        let given_up = self.sent.partition_point(|order| order.heartbeats >= GIVEN_UP_AFTER);
        let given_up = self.sent.drain(..given_up).filter(|order| !order.is_answered);
        let given_up = given_up.map(Order::into_key).collect();
        self.forget_answered();
        let overdue = |order: &&Order| !order.is_answered && order.heartbeats >= REPEATED_AFTER;
        let repeated = self.sent.iter().filter(overdue).cloned().map(Order::into_key).collect();
        Overdue { repeated, given_up }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> ExecutorKey {
        ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(number) }
    }

    fn second(number: u64) -> Timestamp {
        Timestamp::from_millis(number * 1000)
    }

    fn repeated<const N: usize>(executors: [u32; N]) -> Overdue {
        Overdue { repeated: executors.map(key).to_vec(), given_up: Vec::new() }
    }

    #[test]
    fn a_heartbeat_answers_the_order_that_it_names_and_all_before_it() {
        let mut orders = Orders::default();
        (0..3).for_each(|number| orders.sent(second(0), key(number)));
        assert_eq!(orders.hear(second(1), Some(&key(1))), Overdue::default());
        assert_eq!(orders.hear(second(2), Some(&key(7))), repeated([2]), "nobody sent that one");
        assert_eq!(orders.hear(second(3), Some(&key(2))), Overdue::default());
        assert!(orders.sent.is_empty());
    }

    #[test]
    fn an_order_that_nobody_answers_is_repeated_twice_and_then_given_elsewhere() {
        let mut orders = Orders::default();
        orders.sent(second(0), key(0));
        assert_eq!(orders.hear(second(15), None), Overdue::default());
        orders.sent(second(16), key(1));
        assert_eq!(orders.hear(second(30), None), repeated([0]));
        assert_eq!(orders.hear(second(45), None), repeated([0, 1]));
        let last = Overdue { repeated: vec![key(1)], given_up: vec![key(0)] };
        assert_eq!(orders.hear(second(60), None), last);
    }

    #[test]
    fn a_report_answers_the_order_of_its_executor_only() {
        let mut orders = Orders::default();
        (0..3).for_each(|number| orders.sent(second(0), key(number)));
        assert!(orders.answer(&key(1)));
        assert!(!orders.answer(&key(1)) && !orders.answer(&key(7)));
        assert_eq!(orders.hear(second(1), None), Overdue::default());
        assert_eq!(orders.hear(second(2), None), repeated([0, 2]));
    }

    #[test]
    fn a_heartbeat_may_name_an_order_that_a_report_has_answered() {
        let mut orders = Orders::default();
        (0..3).for_each(|number| orders.sent(second(0), key(number)));
        assert!(orders.answer(&key(1)));
        assert_eq!(orders.hear(second(2), Some(&key(1))), Overdue::default());
        assert_eq!(orders.hear(second(3), None), repeated([2]), "order 0 came before");
    }

    #[test]
    fn a_heartbeat_that_arrived_before_an_order_left_says_nothing_of_it() {
        let mut orders = Orders::default();
        orders.sent(second(40), key(0));
        for arrived in [0, 15, 30, 40] {
            assert_eq!(orders.hear(second(arrived), None), Overdue::default());
        }
    }
}
