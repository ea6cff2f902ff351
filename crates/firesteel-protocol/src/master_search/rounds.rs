//! The rounds of a search: how they begin, which connections they make, and how the search ends.

use std::collections::BTreeSet;
use std::time::Duration;

use super::pace::jittered;
use super::{ANSWER_TIMEOUT, Due, GiveUp, MasterSearch, Order, Remark, State};
use crate::master_search::connect_error::ConnectError;
use crate::time::{Timestamp, doubled};

/// The last round begins this long before the time of [`GiveUp::After`], so that a Master can still answer.
const LAST_CHANCE: Duration = Duration::from_secs(1);

impl<SentReport: Default, Terms: Clone> MasterSearch<SentReport, Terms> {
    /// When the seeker must be called next, and why.
    pub fn next_deadline(&self) -> Option<(Timestamp, Due)> {
        let State::Seeking { next_round, give_up, .. } = self.state else { return None };
        let silent = self.asked.values().map(|asked| asked.until);
        let timeouts = silent.chain(give_up).map(|at| (at, Due::Timeout));
        timeouts.chain([(next_round, Due::Round)]).min()
    }

    pub fn start(&mut self, now: Timestamp) -> Vec<Order<Terms>> {
        let give_up = match self.give_up {
            GiveUp::After(time) => Some(now + time),
            GiveUp::Rounds(_) => None,
        };
        self.state = State::Seeking { next_round: now, rounds: 0, give_up };
        self.on_deadline(now)
    }

    /// Closes connections to Masters that have not answered in time, and begins a round if one is due.
    pub fn on_deadline(&mut self, now: Timestamp) -> Vec<Order<Terms>> {
        let mut orders = Vec::new();
        for (peer, asked) in self.asked.extract_if(.., |_, asked| asked.until <= now) {
            self.errors.insert(asked.master.clone(), ConnectError::no_answer("no answer"));
            orders.extend([Order::Remark(Remark::Silent { master: asked.master }), Order::Close(peer)]);
        }
        let left = !orders.is_empty();
        let State::Seeking { next_round, rounds, give_up } = self.state else { return orders };
        let is_over = match self.give_up {
            GiveUp::After(_) => give_up.is_some_and(|at| at <= now),
            GiveUp::Rounds(_) => self.is_last(rounds) && next_round <= now,
        };
        if is_over {
            orders.push(Order::GiveUp);
        } else if next_round <= now {
            orders.extend(self.begin_round(now, rounds.saturating_add(1), give_up));
        } else if left {
            orders.extend(self.end_round(now));
        }
        orders
    }

    fn begin_round(&mut self, now: Timestamp, rounds: u32, give_up: Option<Timestamp>) -> Vec<Order<Terms>> {
        let mut next_round = now + self.pause(rounds);
        if self.is_last(rounds) {
            next_round = next_round.max(now + ANSWER_TIMEOUT);
        }
        if let Some(last) = give_up.map(|give_up| give_up - LAST_CHANCE).filter(|last| now < *last) {
            next_round = next_round.min(last);
        }
        self.state = State::Seeking { next_round, rounds, give_up };
        let mut orders = self.dial();
        orders.extend(self.end_round(now));
        orders
    }

    /// Connects to all Masters that are neither connected nor being connected to.
    fn dial(&mut self) -> Vec<Order<Terms>> {
        let Self { masters, leaders, asked, standbys, dialling, .. } = self;
        let asked = asked.values().map(|asked| &asked.master);
        let connected: BTreeSet<_> = asked.chain(standbys.values()).collect();
        let others = leaders.with_named(masters).filter(|master| !connected.contains(master));
        others.filter(|master| dialling.insert((*master).clone())).cloned().map(Order::Connect).collect()
    }

    /// Ends the round if no Master that could still answer is left. Then plans the next round, or gives up.
    pub(super) fn end_round(&self, now: Timestamp) -> Option<Order<Terms>> {
        let State::Seeking { next_round, rounds, .. } = self.state else { return None };
        if !self.asked.is_empty() || !self.dialling.is_empty() {
            return None;
        }
        if self.is_last(rounds) {
            return Some(Order::GiveUp);
        }
        let next = Remark::NextRound { failed: rounds, pause: next_round.since(now) };
        self.remarks().then_some(Order::Remark(next))
    }

    /// Whether to report the result of the present round. A seeker that was registered before may try for days. So it
    /// reports only the first, second, fourth, eighth round and so on.
    pub(super) fn remarks(&self) -> bool {
        let rounds = self.rounds();
        !self.was_registered || rounds == 0 || rounds.is_power_of_two()
    }

    /// Whether the round with this number is the last one.
    fn is_last(&self, rounds: u32) -> bool {
        match self.give_up {
            GiveUp::Rounds(most) => !self.was_registered && rounds >= most,
            GiveUp::After(_) => false,
        }
    }

    fn pause(&mut self, rounds: u32) -> Duration {
        let longest = if self.was_registered { self.pace.returning } else { self.pace.longest };
        let pause = doubled(self.pace.first, rounds.saturating_sub(1), longest);
        jittered(pause, &mut self.chance)
    }

    /// Makes the next round begin after this pause, unless it begins earlier.
    pub(super) fn hurry(&mut self, now: Timestamp, pause: Duration) -> Vec<Order<Terms>> {
        if let State::Seeking { next_round, .. } = &mut self.state {
            *next_round = (now + pause).min(*next_round);
        }
        self.on_deadline(now)
    }

    pub(super) fn seeking_again(&mut self, now: Timestamp) -> State<Terms> {
        State::Seeking { next_round: now + self.pause(0), rounds: 0, give_up: None }
    }
}
