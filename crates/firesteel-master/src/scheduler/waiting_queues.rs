//! The applications that wait in a pass by queues, and which of them comes next.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use firesteel_placement::advanced::dominant_share::DominantShare;
use firesteel_placement::explain::shortfall::Amounts;
use firesteel_protocol::ids::AppId;

use crate::Master;
use crate::tables::applications::application::Application;
use crate::tables::applications::turn::Turn;

/// The position of an application in its queue: highest priority first, then the earliest turn, then the earliest
/// registration.
pub(crate) type QueueRank = (Reverse<i32>, Turn, u64);

/// The applications that wait, by queue.
#[derive(Debug)]
pub(crate) struct WaitingQueues {
    queues: Vec<WaitingQueue>,
    whole: Amounts,
    /// The application with a reservation. Its queue is served first.
    first: Option<(usize, QueueRank)>,
    /// The applications that were served, or whose executors do not fit.
    passed: Vec<AppId>,
}

#[derive(Debug, Default)]
struct WaitingQueue {
    weight: u32,
    /// The amounts that the queue's applications hold. Not counted if there is only one queue, because it needs no
    /// share.
    held: Amounts,
    /// The waiting applications, the next one first.
    waiting: BTreeMap<QueueRank, AppId>,
}

#[derive(Clone, Debug)]
pub(crate) struct Next {
    pub(crate) app: AppId,
    queue: usize,
    rank: QueueRank,
}

/// How many executors are granted before the next queue is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrantSize {
    Everything,
    One,
}

impl WaitingQueues {
    pub(crate) fn next(&self) -> Option<Next> {
        let waiting = || self.queues.iter().enumerate().filter(|(_, queue)| !queue.waiting.is_empty());
        let first = self.first.filter(|(queue, rank)| self.queues[*queue].waiting.contains_key(rank));
        let share = |queue: &WaitingQueue| DominantShare::of(&queue.held, &self.whole);
        let number = match (first, self.queues.len()) {
            (Some((number, _)), _) => number,
            (None, 1) => 0,
            (None, _) => {
                let least =
                    |a: &WaitingQueue, b: &WaitingQueue| share(a).cmp_weighted(a.weight, share(b), b.weight);
                waiting().min_by(|(_, a), (_, b)| least(a, b))?.0
            }
        };
        let (rank, app) = self.queues[number].waiting.first_key_value()?;
        Some(Next { app: app.clone(), queue: number, rank: *rank })
    }

    pub(super) fn grant_size(&self) -> GrantSize {
        match self.queues.iter().filter(|queue| !queue.waiting.is_empty()).count() {
            0 | 1 => GrantSize::Everything,
            _ => GrantSize::One,
        }
    }

    /// Records that an application got executors with these amounts. If the application had the reservation, its queue
    /// is then served like any other.
    pub(crate) fn gave(&mut self, to: &Next, amounts: &Amounts) {
        self.queues[to.queue].held.add(amounts);
        self.first = self.first.filter(|(_, first)| *first != to.rank);
    }

    pub(crate) fn pass(&mut self, next: Next) {
        self.queues[next.queue].waiting.remove(&next.rank);
        self.passed.push(next.app);
    }

    /// Adds an application if it waits, and removes it if it does not.
    fn consider(&mut self, application: &Application) {
        let rank = application.queue_rank();
        let waiting = &mut self.queues[application.queue].waiting;
        if !application.may_be_served() || !application.may_have_more() {
            waiting.remove(&rank);
        } else {
            waiting.entry(rank).or_insert_with(|| application.id.clone());
        }
    }
}

impl Master {
    /// The applications that wait now. While the application `first` waits, its queue is served first.
    pub(super) fn waiting_queues(&self, first: Option<&AppId>) -> WaitingQueues {
        let weights = self.config.queues.iter().map(|queue| queue.weight);
        let empty = |weight| WaitingQueue { weight, ..WaitingQueue::default() };
        let mut queues: Vec<WaitingQueue> = weights.map(empty).collect();
        if queues.is_empty() {
            queues.push(empty(1));
        }
        if queues.len() > 1 {
            for application in self.applications.queue() {
                queues[application.queue].held.add(&application.held());
            }
        }
        let whole = self.workers.whole().amounts();
        let mut waiting = WaitingQueues { queues, whole, first: self.place_of(first), passed: Vec::new() };
        self.applications.may_wait().for_each(|application| waiting.consider(application));
        waiting
    }

    /// Makes all applications that have had their turn wait again, because executors of `preempted` were ended. The
    /// freed resources may be enough for other applications, too, and the preempted applications want more.
    pub(super) fn wait_again(
        &self,
        waiting: WaitingQueues,
        first: Option<&AppId>,
        next: &Next,
        preempted: &[AppId],
    ) -> WaitingQueues {
        if waiting.queues.len() > 1 {
            return self.waiting_queues(first);
        }
        let mut waiting = WaitingQueues { first: self.place_of(first), ..waiting };
        let passed = std::mem::take(&mut waiting.passed);
        for app in passed.iter().chain([&next.app]).chain(preempted) {
            waiting.consider(self.applications.live(app));
        }
        let apps = |queues: &WaitingQueues| -> Vec<AppId> {
            queues.queues.iter().flat_map(|queue| queue.waiting.values()).cloned().collect()
        };
        debug_assert_eq!(
            apps(&waiting),
            apps(&self.waiting_queues(first)),
            "no other application has changed"
        );
        waiting
    }

    fn place_of(&self, app: Option<&AppId>) -> Option<(usize, QueueRank)> {
        let application = self.applications.get(app?)?;
        Some((application.queue, application.queue_rank()))
    }
}
