//! A workload: a number of decisions of a Master, and how long they take.

use std::time::{Duration, Instant};

use firesteel_master::{Effect, Event, Master};
use firesteel_protocol::Machine;
use firesteel_testkit::master_events::NOW;

/// The scale of a run: the measured one, or a small one that only shows that the bench works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Full,
    Small,
}

impl Scale {
    /// A number of Workers, executors or applications.
    pub fn of(self, number: u64) -> u64 {
        match self {
            Self::Full => number,
            Self::Small => (number / 100).max(2),
        }
    }
}

/// What a Master is to decide.
pub struct Workload {
    pub name: String,
    /// The number of decisions: of executors that are placed, or ended.
    pub decisions: u64,
    /// What is required and what is aimed at, in decisions a second.
    pub goal: Option<(f64, f64)>,
    /// Sets up a Master, has it decide, checks the outcome, and returns the time of the decisions alone.
    pub once: Box<dyn Fn() -> Duration>,
}

impl Workload {
    /// The median over some rounds, each with a Master of its own.
    pub fn seconds(&self, rounds: usize) -> f64 {
        let mut times: Vec<f64> = (0..rounds).map(|_| (self.once)().as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }

    /// A row of the table.
    pub fn row(&self, seconds: f64) -> String {
        let (decisions, rate) = (self.decisions, self.decisions as f64 / seconds);
        let (least, aim, verdict) = match self.goal {
            None => (String::new(), String::new(), ""),
            Some((least, aim)) if rate >= aim => (grouped(least), grouped(aim), "aim"),
            Some((least, aim)) if rate >= least => (grouped(least), grouped(aim), "met"),
            Some((least, aim)) => (grouped(least), grouped(aim), "NOT MET"),
        };
        let (name, rate) = (&self.name, grouped(rate));
        format!("| {name} | {decisions} | {:.3} | {rate} | {least} | {aim} | {verdict} |", seconds * 1e3)
    }
}

/// Applies events one after the other. Returns the time of all, and all effects.
pub fn timed(master: &mut Master, events: Vec<Event>) -> (Duration, Vec<Effect>) {
    let mut effects = Vec::with_capacity(events.len());
    let start = Instant::now();
    for event in events {
        effects.push(master.apply(NOW, event));
    }
    (start.elapsed(), effects.into_iter().flatten().collect())
}

/// A whole number with its thousands apart.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
