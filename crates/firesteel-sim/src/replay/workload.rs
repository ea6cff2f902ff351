//! The workload of a replay: a whole trace, or a sample for another cluster or load.

use std::time::Duration;

use firesteel_placement::advanced::resources::WHOLE;
use firesteel_placement::{Amount, Cores, MiB};

use crate::dice::Dice;
use crate::trace::{Models, Request, Trace, TraceApplication, WorkerKind};

/// Workers, and applications in order of arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    pub workers: Vec<Size>,
    pub applications: Vec<TraceApplication>,
}

/// The capacity of a Worker, or of an executor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub cores: Cores,
    pub memory: MiB,
    /// GPUs of a Worker, or of an executor.
    pub gpus: Amount,
    /// The model of a Worker's GPUs, or the set of models that an executor accepts.
    pub models: Models,
}

/// The number of applications that were left out because these Workers can never hold all their executors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut(pub u64);

impl Size {
    #[must_use]
    pub fn of(request: &Request) -> Self {
        Self { cores: request.cores(), memory: request.memory, gpus: request.gpus, models: request.models }
    }

    /// The amounts as numbers: cores, MiB and GPUs.
    #[must_use]
    pub fn amounts(self) -> [f64; 3] {
        [self.cores.0 as f64, self.memory.0 as f64, self.gpus.quantity().as_f64()]
    }

    /// How many executors of this size the GPUs of an empty Worker are enough for.
    fn executors_on(self, whole: Self) -> u64 {
        let gpus = whole.gpus.addresses();
        match self.gpus {
            Amount::Whole(1..) | Amount::Part(_) if !self.models.allows(whole.models) => 0,
            Amount::Whole(each) => gpus.checked_div(each).unwrap_or(u64::MAX),
            Amount::Part(part) => gpus.saturating_mul(WHOLE / part.thousandths()),
        }
    }

    /// How many executors of this size fit on an empty Worker of the size `whole`.
    #[must_use]
    pub fn fits(self, whole: Self) -> u64 {
        let times = |whole: u64, part: u64| whole.checked_div(part).unwrap_or(u64::MAX);
        let amount = |amount: i64| u64::try_from(amount).unwrap_or(0);
        times(amount(whole.cores.0), amount(self.cores.0))
            .min(times(amount(whole.memory.0), amount(self.memory.0)))
            .min(self.executors_on(whole))
    }
}

impl Workload {
    /// The whole trace. The seed determines the order of Workers, which decides between equally good Workers.
    #[must_use]
    pub fn new(trace: &Trace, seed: u64) -> Self {
        let each = |kind: &WorkerKind| {
            let models = trace.models.get(&kind.model).unwrap_or_default();
            let size = Size { cores: kind.cores, memory: kind.memory, gpus: kind.gpus.into(), models };
            (0..kind.count).map(move |_| size)
        };
        let mut workers: Vec<_> = trace.workers.iter().flat_map(each).collect();
        Dice::new(seed).shuffle(&mut workers);
        Self { workers, applications: trace.applications.clone() }
    }

    /// A random sample of `count` applications. An application is repeated only after all applications were taken.
    /// [`at_load`](Self::at_load) gives them new arrival times.
    #[must_use]
    pub fn drawn(mut self, seed: u64, count: usize) -> Self {
        let mut dice = Dice::new(seed ^ 0xD4A3);
        let mut drawn = Vec::with_capacity(count);
        while drawn.len() < count && !self.applications.is_empty() {
            dice.shuffle(&mut self.applications);
            let missing = count - drawn.len();
            drawn.extend(self.applications.iter().take(missing));
        }
        self.applications = drawn;
        self
    }

    /// The same workload, with run times limited to at most `longest`.
    #[must_use]
    pub fn with_longest(mut self, longest: Duration) -> Self {
        for application in &mut self.applications {
            application.lifetime = application.lifetime.min(longest);
        }
        self
    }

    /// The same workload, without applications whose executors do not all fit on the empty cluster. Requests for GPUs
    /// are dropped if no Worker has a GPU. Requests for models are dropped if no GPU has a model.
    #[must_use]
    pub fn without_oversized(mut self) -> (Self, LeftOut) {
        if self.workers.iter().all(|size| size.gpus.is_none()) {
            for application in &mut self.applications {
                application.request.gpus = Amount::NONE;
            }
        }
        if self.workers.iter().all(|size| size.models == Models::ANY) {
            for application in &mut self.applications {
                application.request.models = Models::ANY;
            }
        }
        let all = self.applications.len();
        let mut room = std::collections::BTreeMap::new();
        let workers = &self.workers;
        self.applications.retain(|application| {
            let size = Size::of(&application.request);
            let room = room.entry(application.request).or_insert_with(|| {
                workers.iter().fold(0_u64, |room, whole| room.saturating_add(size.fits(*whole)))
            });
            *room >= application.executors
        });
        let left_out = LeftOut((all - self.applications.len()) as u64);
        (self, left_out)
    }

    /// The same workload with random arrival times that lead to this load (see [`load`](Self::load)).
    #[must_use]
    pub fn at_load(mut self, seed: u64, load: f64) -> Self {
        let span = self.busy() / load;
        let mut dice = Dice::new(seed ^ 0xA221);
        let mut arrivals: Vec<f64> = self.applications.iter().map(|_| dice.part() * span).collect();
        arrivals.sort_by(f64::total_cmp);
        for (application, arrival) in self.applications.iter_mut().zip(arrivals) {
            application.arrival = Duration::from_millis((arrival * 1000.0) as u64);
        }
        self
    }

    /// The load until the last application arrives: the mean share of the cluster that applications would use if no
    /// application ever waited. An application counts with its dominant share, which is its share of the resource of
    /// which it needs most. 0 if all applications arrive at the same time.
    #[must_use]
    pub fn load(&self) -> f64 {
        let span = self.applications.last().map_or(0.0, |last| last.arrival.as_secs_f64());
        if span == 0.0 { 0.0 } else { self.busy() / span }
    }

    /// The work of all applications, as seconds in which the whole cluster is busy.
    fn busy(&self) -> f64 {
        let capacity = self.capacity();
        let work = |application: &TraceApplication| {
            let amounts = Size::of(&application.request).amounts();
            let shares = amounts.iter().zip(capacity).filter(|(_, whole)| *whole > 0.0);
            let dominant = shares.map(|(amount, whole)| amount / whole).fold(0.0, f64::max);
            dominant * application.executors as f64 * application.lifetime.as_secs_f64()
        };
        self.applications.iter().map(work).sum()
    }

    /// The first applications that together request this share of the cluster (see [`asked`](Self::asked)).
    /// Applications are repeated if there are too few. The last applications get fewer executors, to match the share.
    #[must_use]
    pub fn with_demand(mut self, part: f64) -> Self {
        const ROUNDING: f64 = 1e-9;
        let has_gpus = self.capacity()[2] > 0.0;
        let counted = |application: &&TraceApplication| !has_gpus || !application.request.gpus.is_none();
        let gpus = |application: &TraceApplication| application.request.gpus.quantity();
        let least = self.applications.iter().filter(counted).map(gpus).min();
        let (mut chosen, mut asked) = (Vec::new(), [0.0; 3]);
        for application in self.applications.iter().cycle().take_while(|_| least.is_some()) {
            let amounts = Size::of(&application.request).amounts();
            let after =
                |count: u64| -> [f64; 3] { std::array::from_fn(|n| asked[n] + count as f64 * amounts[n]) };
            let fits = |count: &u64| self.asked(after(*count)) <= part + ROUNDING;
            let executors = (1..=application.executors).take_while(fits).count() as u64;
            if executors > 0 {
                asked = after(executors);
                chosen.push(TraceApplication {
                    executors,
                    gang: application.gang.min(executors),
                    ..*application
                });
            } else if Some(gpus(application)) == least {
                break;
            }
        }
        self.applications = chosen;
        self
    }

    /// The share of the cluster that these cores, MiB and GPUs make up. In a cluster with GPUs, only GPUs count. In any
    /// other cluster, the greater share of cores and memory counts.
    #[must_use]
    pub fn asked(&self, amounts: [f64; 3]) -> f64 {
        let capacity = self.capacity();
        let [cores, memory, gpus] =
            std::array::from_fn(|n| if capacity[n] > 0.0 { amounts[n] / capacity[n] } else { 0.0 });
        if capacity[2] > 0.0 { gpus } else { f64::max(cores, memory) }
    }

    /// The cores, MiB and GPUs of all Workers.
    #[must_use]
    pub fn capacity(&self) -> [f64; 3] {
        self.workers.iter().fold([0.0; 3], |mut all, size| {
            all.iter_mut().zip(size.amounts()).for_each(|(all, amount)| *all += amount);
            all
        })
    }
}
