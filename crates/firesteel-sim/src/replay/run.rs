//! Replays a workload: applications arrive, run and end.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_core::Timestamp;
use firesteel_core::master::Config;
use firesteel_core::messages::{
    ApplicationDescription, Placing, ResourceProfile, Submitter, WantedExecutors, Work,
};
use firesteel_core::process::Command;
use firesteel_placement::{Cores, ExecutorLimit, ResourceAmounts};

use super::outcome::{ApplicationTimes, Meter, Outcome};
use super::stage::{Apply, ExecutorChange, GPU, Stage};
use super::workload::Workload;
use crate::trace::TraceApplication;

/// How applications that need several executors at once get them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gangs {
    /// They keep what they get and wait for the rest, as in Spark. Two of them can wait for each other for ever.
    Keep,
    /// One that does not get all at once gives back what it got, and retries each time an application ends, in order of
    /// arrival. Others may overtake it.
    #[default]
    Retry,
    /// They ask the Master for all at once. The Master reserves room for the first one that waits (`firesteel.app.gang`).
    Reserve,
}

/// The settings of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The Master's settings.
    pub config: Config,
    /// How gangs get their executors.
    pub gangs: Gangs,
}

/// Replays the workload until its last application ends.
pub fn replay(how: &Replay, workload: &Workload, apply: &mut impl Apply) -> Outcome {
    let stage = Stage::new(how.config.clone(), &workload.workers, apply);
    let mut run = Run {
        gangs: how.gangs,
        applications: &workload.applications,
        times: vec![ApplicationTimes::default(); workload.applications.len()],
        calendar: BTreeMap::new(),
        waiting: Vec::new(),
        meter: Meter::new(workload),
        stage,
    };
    for (driver, application) in workload.applications.iter().enumerate() {
        run.schedule(application.arrival, driver, Happening::Arrival);
    }
    while let Some(((at, _, driver), happening)) = run.calendar.pop_first() {
        run.pass_time(at);
        match happening {
            Happening::Arrival => run.arrive(driver),
            Happening::End => run.end(driver),
        }
    }
    run.finish()
}

/// An event of an application. Ends come before arrivals at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    End,
    Arrival,
}

struct Run<'a, A> {
    stage: Stage<'a, A>,
    gangs: Gangs,
    applications: &'a [TraceApplication],
    times: Vec<ApplicationTimes>,
    calendar: BTreeMap<(Duration, Happening, usize), Happening>,
    /// Applications that retry, in order of arrival.
    waiting: Vec<usize>,
    meter: Meter,
}

impl<A: Apply> Run<'_, A> {
    fn schedule(&mut self, at: Duration, driver: usize, happening: Happening) {
        self.calendar.insert((at, happening, driver), happening);
    }

    fn pass_time(&mut self, at: Duration) {
        let waiting = self.meter.came - self.meter.began;
        self.meter.advance(at, &self.stage.allocations, waiting);
        self.stage.advance(Timestamp::default() + at);
        self.learn();
    }

    fn arrive(&mut self, driver: usize) {
        self.meter.came += 1;
        if self.try_to_begin(driver) == Registration::Withdrawn {
            self.waiting.push(driver);
        }
    }

    fn end(&mut self, driver: usize) {
        self.times[driver].ended = Some(self.meter.now);
        self.stage.unregister(driver as u64);
        self.learn();
        self.try_again();
    }

    /// Lets waiting applications retry. One that needs as much as another one that has just failed does not retry.
    fn try_again(&mut self) {
        let mut failed: BTreeMap<_, u64> = BTreeMap::new();
        for driver in std::mem::take(&mut self.waiting) {
            let application = &self.applications[driver];
            let is_hopeless = failed.get(&application.request).is_some_and(|gang| application.gang >= *gang);
            if is_hopeless || self.try_to_begin(driver) == Registration::Withdrawn {
                let least = failed.entry(application.request).or_insert(application.gang);
                *least = application.gang.min(*least);
                self.waiting.push(driver);
            }
        }
    }

    /// Registers an application, and unregisters it if it cannot begin and gives back incomplete gangs.
    fn try_to_begin(&mut self, driver: usize) -> Registration {
        let application = self.applications[driver];
        let gang = match self.gangs {
            Gangs::Keep | Gangs::Retry => 0,
            Gangs::Reserve => application.gang,
        };
        self.stage.register(driver as u64, describe(&application, Placing { gang, ..Placing::default() }));
        self.learn();
        let waits = match self.gangs {
            Gangs::Keep | Gangs::Reserve => true,
            Gangs::Retry => false,
        };
        if waits || self.times[driver].began.is_some() {
            return Registration::Registered;
        }
        self.stage.unregister(driver as u64);
        self.learn();
        let own = &mut self.times[driver];
        (own.held, own.first) = (0, None);
        Registration::Withdrawn
    }

    /// Tells drivers of their executors.
    fn learn(&mut self) {
        while let Some(change) = self.stage.next_change() {
            match change {
                ExecutorChange::Launched { driver } => self.launched(driver as usize),
                ExecutorChange::Lost { driver } => self.times[driver as usize].held -= 1,
            }
        }
    }

    fn launched(&mut self, driver: usize) {
        let (application, own) = (&self.applications[driver], &mut self.times[driver]);
        let now = self.meter.now;
        own.held += 1;
        own.first.get_or_insert(now);
        if own.held >= application.gang && own.began.is_none() {
            own.began = Some(now);
            self.meter.began += 1;
            self.schedule(now + application.lifetime, driver, Happening::End);
        }
        let own = &mut self.times[driver];
        if own.held >= application.executors {
            own.all.get_or_insert(now);
        }
    }

    fn finish(self) -> Outcome {
        Outcome::new(self.applications, self.times, self.meter)
    }
}

/// The result of an attempt to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registration {
    /// The application stays registered.
    Registered,
    /// The application was unregistered.
    Withdrawn,
}

/// The application as its driver registers it.
pub(super) fn describe(application: &TraceApplication, placing: Placing) -> ApplicationDescription {
    let TraceApplication { executors, request, .. } = application;
    let cores = request.cores();
    let all = i64::try_from(*executors).expect("a trace has no such number of executors");
    let mut resources = ResourceAmounts::new();
    if !request.gpus.is_none() {
        resources.insert(GPU.to_owned(), request.gpus);
    }
    ApplicationDescription::new(
        Submitter::new("trace", "trace"),
        WantedExecutors {
            profile: ResourceProfile { cores: Some(cores), memory: Some(request.memory), resources },
            max_cores: Some(Cores(cores.0.saturating_mul(all))),
            limit: ExecutorLimit::AtMost(*executors),
            ..WantedExecutors::default()
        },
        placing,
        Work::of(Command::of("true")),
    )
}
