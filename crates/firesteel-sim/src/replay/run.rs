//! Replays a workload: applications arrive, run and end.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_master::Config;
use firesteel_placement::{Cores, ExecutorLimit, ResourceAmounts};
use firesteel_protocol::Timestamp;
use firesteel_protocol::messages::{
    ApplicationDescription, Placing, ResourceProfile, Submitter, WantedExecutors, Work,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::scheduling::run_time::{RUN_TIME, value};

use super::allocations::resource;
use super::outcome::{ApplicationTimes, Meter, Outcome};
use super::stage::{Apply, ExecutorChange, Stage};
use super::workload::Workload;
use crate::dice::Dice;
use crate::trace::TraceApplication;

/// The way in which applications that need several executors at the same time get them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gangs {
    /// An application keeps a partial gang and waits for the rest, as in Spark. Two applications can wait for each
    /// other forever.
    Keep,
    /// An application that does not get its whole gang gives its executors back. It retries each time an application
    /// ends, in order of arrival. Other applications may get executors before it.
    #[default]
    Retry,
    /// An application requests the whole gang from the Master (`firesteel.app.gang`). The Master reserves resources for
    /// the first waiting gang.
    Reserve,
}

/// How often Workers fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// The mean time until a Worker fails. Zero: no Worker fails.
    pub every: Duration,
    pub seed: u64,
}

/// How long a Worker is unavailable after a failure.
const REPAIR: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, Default)]
pub struct Replay {
    pub config: Config,
    /// How applications get their gangs.
    pub gangs: Gangs,
    pub failures: Failures,
}

/// Replays the workload until its last application ends.
pub fn replay(how: &Replay, workload: &Workload, apply: &mut impl Apply) -> Outcome {
    let stage = Stage::new(how.config.clone(), &workload.workers, apply);
    let mut run = Run {
        gangs: how.gangs,
        failures: how.failures,
        dice: Dice::new(how.failures.seed ^ 0xFA11),
        workers: workload.workers.len(),
        ends: vec![None; workload.applications.len()],
        pauses: vec![None; workload.applications.len()],
        last_arrival: workload.applications.last().map_or(Duration::ZERO, |last| last.arrival),
        applications: &workload.applications,
        times: vec![ApplicationTimes::default(); workload.applications.len()],
        calendar: BTreeMap::new(),
        waiting: Vec::new(),
        meter: Meter::new(workload),
        stage,
    };
    for (driver, application) in workload.applications.iter().enumerate() {
        run.schedule(application.arrival, driver, ScheduledEvent::Arrival);
    }
    for worker in 0..run.workers {
        run.schedule_failure(worker);
    }
    while let Some(((at, _, driver), scheduled)) = run.next() {
        run.pass_time(at);
        match scheduled {
            ScheduledEvent::Arrival => run.arrive(driver),
            ScheduledEvent::End => run.end(driver),
            ScheduledEvent::Failure => run.fail(driver),
            ScheduledEvent::Return => run.come_back(driver),
        }
    }
    run.finish()
}

/// An event of an application or of a Worker. At the same time, ends come before arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ScheduledEvent {
    End,
    Return,
    Failure,
    Arrival,
}

struct Run<'a, A> {
    stage: Stage<'a, A>,
    gangs: Gangs,
    failures: Failures,
    dice: Dice,
    workers: usize,
    /// When each running application ends.
    ends: Vec<Option<Duration>>,
    /// For each application that has begun, since when it has had no executors.
    pauses: Vec<Option<Duration>>,
    last_arrival: Duration,
    applications: &'a [TraceApplication],
    times: Vec<ApplicationTimes>,
    calendar: BTreeMap<(Duration, ScheduledEvent, usize), ScheduledEvent>,
    /// Applications that retry, in order of arrival.
    waiting: Vec<usize>,
    meter: Meter,
}

impl<A: Apply> Run<'_, A> {
    fn schedule(&mut self, at: Duration, driver: usize, scheduled: ScheduledEvent) {
        self.calendar.insert((at, scheduled, driver), scheduled);
    }

    /// The next event. Earlier deadlines of the Master, such as preemptions, are handled first.
    fn next(&mut self) -> Option<((Duration, ScheduledEvent, usize), ScheduledEvent)> {
        loop {
            let (at, ..) = *self.calendar.first_key_value()?.0;
            match self.stage.next_deadline() {
                Some(due) if self.meter.now < due && due < at => self.pass_time(due),
                Some(_) | None => return self.calendar.pop_first(),
            }
        }
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
        self.ends[driver] = None;
        self.stage.unregister(driver as u64);
        self.learn();
        self.try_again();
    }

    /// Lets waiting applications retry. An application is skipped if an application with equal needs has just failed.
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

    /// Registers an application. If the application cannot begin and incomplete gangs are given back, unregisters it
    /// again.
    fn try_to_begin(&mut self, driver: usize) -> Registration {
        let application = self.applications[driver];
        let gang = match self.gangs {
            Gangs::Keep | Gangs::Retry => 0,
            Gangs::Reserve => application.gang,
        };
        // A driver can name hosts only once it is registered, so it requests executors after that.
        let near = application.near.filter(|_| application.gang <= 1);
        let wanted = if near.is_some() { 0 } else { application.executors };
        let mut description = describe(&application, placing(&application, gang));
        description.initial_limit = ExecutorLimit::AtMost(wanted);
        self.stage.register(driver as u64, description);
        if let Some(near) = near {
            self.stage.prefer(driver as u64, near as usize % self.workers, application.executors);
        }
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

    /// Reports changes of executors to drivers.
    fn learn(&mut self) {
        while let Some(change) = self.stage.next_change() {
            match change {
                ExecutorChange::Launched { driver, worker } => self.launched(driver as usize, worker),
                ExecutorChange::Lost { driver, ran } => self.lost(driver as usize, ran),
            }
        }
    }

    fn launched(&mut self, driver: usize, worker: usize) {
        let (application, own) = (&self.applications[driver], &mut self.times[driver]);
        let now = self.meter.now;
        own.held += 1;
        own.near += u64::from(application.near.is_some_and(|near| near as usize % self.workers == worker));
        own.first.get_or_insert(now);
        if own.held >= application.gang && own.began.is_none() {
            own.began = Some(now);
            self.meter.began += 1;
            self.set_end(driver, Some(now + application.lifetime));
        } else if let Some(since) = self.pauses[driver].take() {
            own.redone += now - since;
            let end = own.began.unwrap_or(now) + application.lifetime + own.redone;
            self.set_end(driver, Some(end));
        }
        let own = &mut self.times[driver];
        if own.held >= application.executors {
            own.all.get_or_insert(now);
        }
    }

    /// An executor was taken from an application. All executors of the application together repeat the lost work.
    /// Without executors, the application makes no progress.
    fn lost(&mut self, driver: usize, ran: Duration) {
        let (application, own) = (&self.applications[driver], &mut self.times[driver]);
        own.held -= 1;
        own.lost += 1;
        let Some(end) = self.ends[driver] else { return };
        let again = ran / u32::try_from(application.executors.max(1)).unwrap_or(u32::MAX);
        own.redone += again;
        if own.held == 0 {
            self.pauses[driver] = Some(self.meter.now);
            self.set_end(driver, None);
        } else {
            self.set_end(driver, Some(end + again));
        }
    }

    fn set_end(&mut self, driver: usize, end: Option<Duration>) {
        if let Some(before) = std::mem::replace(&mut self.ends[driver], end) {
            self.calendar.remove(&(before, ScheduledEvent::End, driver));
        }
        if let Some(end) = end {
            self.schedule(end, driver, ScheduledEvent::End);
        }
    }

    /// Chooses a random time for the Worker's next failure. After the last arrival no Worker fails, so that the replay
    /// ends.
    fn schedule_failure(&mut self, worker: usize) {
        if self.failures.every.is_zero() {
            return;
        }
        let after = self.failures.every.mul_f64(-(1.0 - self.dice.part()).ln());
        let at = self.meter.now + after;
        if at <= self.last_arrival {
            self.schedule(at, worker, ScheduledEvent::Failure);
        }
    }

    fn fail(&mut self, worker: usize) {
        self.stage.fail_worker(worker);
        self.learn();
        self.schedule(self.meter.now + REPAIR, worker, ScheduledEvent::Return);
    }

    fn come_back(&mut self, worker: usize) {
        self.stage.return_worker(worker);
        self.learn();
        self.try_again();
        self.schedule_failure(worker);
    }

    fn finish(self) -> Outcome {
        Outcome::new(self.applications, self.times, self.meter)
    }
}

/// The result of an attempt to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registration {
    Registered,
    /// The application was unregistered.
    Withdrawn,
}

/// The scheduling options of an application.
fn placing(application: &TraceApplication, gang: u64) -> Placing {
    let queue = (application.queue > 0).then(|| format!("q{}", application.queue));
    Placing { gang, queue, priority: application.priority, ..Placing::default() }
}

/// The description of the application, as its driver registers it.
pub(super) fn describe(application: &TraceApplication, placing: Placing) -> ApplicationDescription {
    let TraceApplication { executors, request, run_time, family, .. } = application;
    let cores = request.cores();
    let all = i64::try_from(*executors).expect("a trace has no such number of executors");
    let mut resources = ResourceAmounts::new();
    if !request.gpus.is_none() {
        resources.insert(resource(request.models), request.gpus);
    }
    let name = family.map_or_else(|| "trace".to_owned(), |family| format!("family-{family}"));
    let mut command = Command::of("true");
    command.environment.extend(run_time.map(|run_time| (RUN_TIME.to_owned(), value(run_time))));
    ApplicationDescription::new(
        Submitter::new(name, "trace"),
        WantedExecutors {
            profile: ResourceProfile { cores: Some(cores), memory: Some(request.memory), resources },
            max_cores: Some(Cores(cores.0.saturating_mul(all))),
            limit: ExecutorLimit::AtMost(*executors),
            ..WantedExecutors::default()
        },
        placing,
        Work::of(command),
    )
}
