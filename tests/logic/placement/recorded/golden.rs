//! 6,000 calls of the placement rule, with the answers of Spark's Master.

use std::collections::BTreeMap;

use firesteel_placement::{Cores, ExecutorLimit, ExecutorSize, Strategy};
use firesteel_sim::plan::{self, CallWorker, PlacementCall};

use crate::fixtures;
use crate::placement::reference::{self, Ask, Worker};

#[test]
fn every_recorded_call_is_answered_as_spark_answered_it() {
    let mut by_kind: BTreeMap<String, usize> = BTreeMap::new();
    let mut placing = 0;
    let mut wrapped = 0;
    for call in recorded() {
        let kind = call.kind.clone().expect("recorded calls have a kind");
        let recorded = call.recorded.clone().expect("recorded calls have an answer");
        let answer = call.answer().assigned_cores;
        if sum_wraps(&call) {
            // Spark's sum of free cores overflows here, so that it places nothing. The reference gives the right
            // answer.
            assert!(kind == "int_overflow" && recorded.iter().all(|&cores| cores == Cores::ZERO));
            assert_eq!(answer, in_wide_integers(&call), "call {}", call.i);
            assert_ne!(answer, recorded, "call {}", call.i);
            wrapped += 1;
        } else {
            assert_eq!(answer, recorded, "call {}", call.i);
        }
        placing += usize::from(answer.iter().any(|&cores| cores > Cores::ZERO));
        *by_kind.entry(kind).or_default() += 1;
    }
    let expected = [
        ("cores_left_small", 294),
        ("cores_max_not_multiple", 388),
        ("exact_fit", 590),
        ("gpu_bound", 525),
        ("int_overflow", 58),
        ("large_heterogeneous", 226),
        ("limit_bound", 597),
        ("limit_unset_cores", 427),
        ("memory_bound", 394),
        ("no_workers", 108),
        ("odd", 143),
        ("one_worker", 236),
        ("profiles", 339),
        ("random_mid", 307),
        ("random_small", 1052),
        ("unset_cores", 316),
    ];
    let counted: Vec<_> = by_kind.iter().map(|(kind, &count)| (kind.as_str(), count)).collect();
    assert_eq!(counted, expected);
    assert_eq!((placing, wrapped), (3760, 34));
}

/// The laws use the reference in place of Spark, so it must give the same answers.
#[test]
fn the_slow_reference_answers_as_spark_answered() {
    let calls = recorded().filter(|call| !sum_wraps(call));
    let agreeing = calls.filter(|call| call.recorded.as_ref() == Some(&in_wide_integers(call)));
    assert_eq!(agreeing.count(), 5966);
}

fn recorded() -> impl Iterator<Item = PlacementCall> {
    let calls = plan::calls(fixtures::open_gz("conformance/placements.jsonl.gz"));
    calls.map(|call| call.expect("a recorded call is well formed"))
}

fn sum_wraps(call: &PlacementCall) -> bool {
    call.workers.iter().map(|worker| worker.cores_free).sum::<Cores>() > Cores(i64::from(i32::MAX))
}

fn in_wide_integers(call: &PlacementCall) -> Vec<Cores> {
    let demand = &call.demand;
    let ask = Ask {
        cores: match demand.size {
            ExecutorSize::Fixed(cores) => Some(cores.0),
            ExecutorSize::OnePerWorker => None,
        },
        memory: demand.memory.0,
        resources: demand.resources.iter().map(|(name, each)| (name.clone(), each.addresses())).collect(),
        cores_left: demand.cores_left.0,
        limit: match demand.limit {
            ExecutorLimit::Unlimited => None,
            ExecutorLimit::AtMost(limit) => Some(limit),
        },
        held: demand.held,
    };
    let worker = |worker: &CallWorker| Worker {
        id: String::new(),
        cores: worker.cores_free.0,
        memory: worker.memory_free.0,
        resources: (worker.resources_free.iter())
            .map(|(name, addresses)| (name.to_owned(), addresses.count() as u64))
            .collect(),
    };
    let workers: Vec<_> = call.workers.iter().map(worker).collect();
    let assigned = reference::assign(&ask, &workers, call.strategy == Strategy::SpreadOut);
    assigned.into_iter().map(Cores).collect()
}
