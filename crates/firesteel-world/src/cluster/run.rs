//! One run: a cluster from its start, through its faults, until it has recovered.

use super::laws::coverage::Coverage;
use super::laws::healing::{CLEAN_AFTER, HEALED_AFTER};
use super::sabotage::Sabotage;
use super::sabotage::saboteur::Saboteur;
use super::scenario::Scenario;
use super::world::World;

/// Whether a run records a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum TraceMode {
    /// The run records only its outcome.
    #[display("silent")]
    Silent,
    /// The run records one line for each event and effect.
    #[display("everything")]
    Everything,
}

#[derive(Debug)]
pub struct Outcome {
    pub coverage: Coverage,
    pub failure: Option<Failure>,
    /// The trace, one line for each event and effect, if it was requested.
    pub trace: Vec<String>,
    /// The virtual duration of the run in milliseconds.
    pub millis: u64,
}

/// An invariant that broke, and when.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at {millis} ms, after {events} events: {sentence}")]
pub struct Failure {
    /// Virtual milliseconds since the start.
    pub millis: u64,
    pub events: u64,
    /// What should be true, and what was found.
    pub sentence: String,
}

/// Runs a cluster with correct machines.
#[must_use]
pub fn run(scenario: Scenario, telling: TraceMode) -> Outcome {
    finish(World::new(scenario, None, telling == TraceMode::Everything))
}

/// Runs a cluster with a deliberate bug in one kind of machine.
#[must_use]
pub fn run_sabotaged(scenario: Scenario, sabotage: Sabotage, telling: TraceMode) -> Outcome {
    finish(World::new(scenario, Some(Saboteur::new(sabotage)), telling == TraceMode::Everything))
}

fn finish(mut world: World) -> Outcome {
    let latest = world.scenario.faults.until + HEALED_AFTER;
    while world.violation.is_none() {
        if !world.step() {
            world.violate("nothing will ever happen again");
        }
        let over = if world.is_calm { world.all_over_since() } else { None };
        match over {
            Some(at) if world.now >= at.max(world.scenario.faults.until) + CLEAN_AFTER => {
                world.check_end();
                break;
            }
            Some(_) => {}
            None if world.now > latest => {
                let (app, _) = world.first_living_driver().expect("not all are over");
                world.violate(format!("application {app} is not over an hour after the last fault"));
            }
            None => {}
        }
    }
    let World { violation, coverage, trace, now: millis, .. } = world;
    let failure = violation.map(|sentence| Failure { millis, events: coverage.events, sentence });
    Outcome { coverage, failure, trace: trace.unwrap_or_default(), millis }
}
