//! The outcome of a replay.

use std::collections::BTreeMap;
use std::time::Duration;

use super::allocations::Allocations;
use super::waits::{SizeClass, Waits};
use super::workload::{Size, Workload};
use crate::trace::TraceApplication;

/// The number of equal time spans for averages of the cluster's use. The last span ends when the last application
/// arrives.
const SPANS: u32 = 100;

/// The times of an application, since the beginning of the replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplicationTimes {
    /// The number of executors that the application has.
    pub held: u64,
    /// When the application got its first executor.
    pub first: Option<Duration>,
    /// When the application could run: it had its whole gang, or its first executor.
    pub began: Option<Duration>,
    /// When the application had all its executors.
    pub all: Option<Duration>,
    pub ended: Option<Duration>,
    /// The number of executors that the application lost, by preemption or a failure.
    pub lost: u64,
    /// By how much the application ended later, because the work of lost executors had to be repeated.
    pub redone: Duration,
    /// The number of executors that were launched on the application's preferred host.
    pub near: u64,
}

/// Shares of the cluster. 1 is the whole cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    pub cores: f64,
    pub memory: f64,
    /// The share of the GPUs. 0 if the cluster has no GPUs.
    pub gpus: f64,
}

#[derive(Clone, Debug)]
pub struct Outcome {
    /// The times of each application, in the order of arrival.
    pub times: Vec<ApplicationTimes>,
    /// The share of the Workers without executors while applications arrived: the mean of each time span.
    pub idle: Vec<f64>,
    /// The time from an application's arrival to its first executor.
    pub first: Waits,
    /// The time from an application's arrival until it could run.
    pub began: Waits,
    /// Like `began`, for applications that need several executors at the same time.
    pub gangs: Waits,
    /// Like `began`, by the cores that applications request.
    pub by_size: Vec<(SizeClass, Waits)>,
    /// The time from an application's arrival to its last executor. Applications that ended with fewer executors are
    /// not counted.
    pub all: Waits,
    /// Number of applications that could never run.
    pub stuck: u64,
    /// Number of executors that were launched and kept.
    pub executors: u64,
    /// The used shares of the cluster while applications arrived: the mean of each time span.
    pub used: Vec<Shares>,
    /// The free shares on Workers where the next executor does not fit, at the end of each time span.
    pub stranded: Vec<Shares>,
    /// The number of waiting applications: the mean of each time span.
    pub waiting: Vec<f64>,
    pub span: Duration,
    /// Jain's fairness index. For each application, the share of its time in which it ran is compared. 1 means that all
    /// shares are equal.
    pub fairness: f64,
    pub end: Duration,
}

impl Shares {
    pub(super) fn of(amounts: [f64; 3], capacity: [f64; 3]) -> Self {
        let [cores, memory, gpus] =
            std::array::from_fn(|n| if capacity[n] > 0.0 { amounts[n] / capacity[n] } else { 0.0 });
        Self { cores, memory, gpus }
    }

    #[must_use]
    pub fn mean(all: &[Self]) -> Self {
        let count = all.len().max(1) as f64;
        let mean = |part: fn(&Self) -> f64| all.iter().map(part).sum::<f64>() / count;
        Self { cores: mean(|s| s.cores), memory: mean(|s| s.memory), gpus: mean(|s| s.gpus) }
    }
}

impl Outcome {
    pub(super) fn new(applications: &[TraceApplication], times: Vec<ApplicationTimes>, meter: Meter) -> Self {
        let each = || applications.iter().zip(&times);
        let end = meter.now;
        // An application that never began waits until the end.
        let wait = |application: &TraceApplication, times: &ApplicationTimes| {
            times.began.unwrap_or(end).saturating_sub(application.arrival)
        };
        let until = |until: fn(&ApplicationTimes) -> Option<Duration>| {
            Waits::of(each().filter_map(|(application, times)| Some(until(times)? - application.arrival)))
        };
        let of_class = |class: SizeClass| {
            let those = each().filter(|(application, _)| SizeClass::of(application) == class);
            (class, Waits::of(those.map(|(application, times)| wait(application, times))))
        };
        let gangs = each().filter(|(application, _)| application.gang > 1);
        Self {
            first: until(|times| times.first),
            began: Waits::of(each().map(|(application, times)| wait(application, times))),
            gangs: Waits::of(gangs.map(|(application, times)| wait(application, times))),
            by_size: SizeClass::ALL.into_iter().map(of_class).collect(),
            all: until(|times| times.all),
            stuck: times.iter().filter(|times| times.began.is_none()).count() as u64,
            executors: each()
                .filter(|(_, times)| times.began.is_some())
                .map(|(application, _)| application.executors)
                .sum(),
            fairness: jain(each().map(|(application, times)| {
                let ran = application.lifetime.as_secs_f64().max(1.0);
                ran / (ran + wait(application, times).as_secs_f64())
            })),
            used: meter.used,
            stranded: meter.stranded,
            waiting: meter.waiting,
            idle: meter.idle,
            span: meter.span,
            end,
            times,
        }
    }
}

/// Jain's fairness index: 1 if all values are equal, 1/n if only one of n values is not zero.
fn jain(all: impl Iterator<Item = f64>) -> f64 {
    let (count, sum, squares) =
        all.fold((0.0, 0.0, 0.0), |(count, sum, squares), x| (count + 1.0, sum + x, squares + x * x));
    if squares == 0.0 { 1.0 } else { sum * sum / (count * squares) }
}

/// Measures the use of the cluster over time.
#[derive(Debug)]
pub(super) struct Meter {
    pub(super) now: Duration,
    pub(super) came: u64,
    pub(super) began: u64,
    capacity: [f64; 3],
    requests: Vec<(Size, f64)>,
    span: Duration,
    /// Amounts multiplied by seconds in the current time span.
    sum: [f64; 5],
    workers: f64,
    idle: Vec<f64>,
    used: Vec<Shares>,
    stranded: Vec<Shares>,
    waiting: Vec<f64>,
}

impl Meter {
    pub(super) fn new(workload: &Workload) -> Self {
        let last = workload.applications.last().map_or(Duration::ZERO, |last| last.arrival);
        Self {
            now: Duration::ZERO,
            came: 0,
            began: 0,
            capacity: workload.capacity(),
            requests: requests(workload),
            span: (last / SPANS).max(Duration::from_millis(1)),
            sum: [0.0; 5],
            workers: workload.workers.len().max(1) as f64,
            idle: Vec::new(),
            used: Vec::new(),
            stranded: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Advances the time without a change of the allocations.
    pub(super) fn advance(&mut self, to: Duration, allocations: &Allocations, waiting: u64) {
        while self.now < to {
            let end = self.span * (self.used.len() as u32 + 1);
            let is_over = self.used.len() >= SPANS as usize;
            let until = if is_over { to } else { to.min(end) };
            let [cores, memory, gpus] = allocations.used();
            let passed = (until - self.now).as_secs_f64();
            let amounts = [cores, memory, gpus, waiting as f64, allocations.idle() as f64];
            self.sum.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += amount * passed);
            self.now = until;
            if !is_over && until == end {
                let seconds = self.span.as_secs_f64();
                let [cores, memory, gpus, waiting, idle] = self.sum.map(|sum| sum / seconds);
                self.used.push(Shares::of([cores, memory, gpus], self.capacity));
                self.waiting.push(waiting);
                self.idle.push(idle / self.workers);
                self.stranded.push(Shares::of(allocations.stranded(&self.requests), self.capacity));
                self.sum = [0.0; 5];
            }
        }
    }
}

/// The sizes of executors, each with its share of all applications.
pub(super) fn requests(workload: &Workload) -> Vec<(Size, f64)> {
    let mut counts: BTreeMap<_, f64> = BTreeMap::new();
    for application in &workload.applications {
        *counts.entry(application.request).or_default() += 1.0;
    }
    let all = workload.applications.len() as f64;
    counts.into_iter().map(|(request, count)| (Size::of(&request), count / all)).collect()
}
