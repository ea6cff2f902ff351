//! A workload: a number of a Master's decisions, and the time that they take.

use std::time::{Duration, Instant};

use firesteel_master::{Effect, Event, Master};
use firesteel_protocol::Machine;
use firesteel_testkit::master_events::NOW;

/// The scale of a run: full scale for measurements, or small to show that the bench works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Full,
    Small,
}

impl Scale {
    /// The number at full scale, or a small one.
    pub fn of(self, number: u64) -> u64 {
        match self {
            Self::Full => number,
            Self::Small => (number / 100).max(2),
        }
    }
}

/// A named workload with its goals.
pub struct Workload {
    pub name: String,
    /// The number of decisions: executors that are placed or ended.
    pub decisions: u64,
    /// The required rate and the desired rate, in decisions per second.
    pub goal: Option<(f64, f64)>,
    /// Sets up a Master, makes it decide, checks the result, and returns the time of the decisions only.
    pub once: Box<dyn Fn() -> Duration>,
}

impl Workload {
    /// The median time of several rounds, each with a new Master.
    pub fn seconds(&self, rounds: usize) -> f64 {
        let mut times: Vec<f64> = (0..rounds).map(|_| (self.once)().as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }

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

/// Applies events in turn. Returns the total time, and all effects.
pub fn timed(master: &mut Master, events: Vec<Event>) -> (Duration, Vec<Effect>) {
    let mut effects = Vec::with_capacity(events.len());
    let start = Instant::now();
    for event in events {
        effects.push(master.apply(NOW, event));
    }
    (start.elapsed(), effects.into_iter().flatten().collect())
}

/// A whole number with separators between thousands.
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
