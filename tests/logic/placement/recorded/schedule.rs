//! 1,000 whole scheduling passes of Spark's Master, repeated by Firesteel's.

use std::collections::BTreeMap;

use firesteel_placement::{Strategy, WorkerOrder};
use firesteel_sim::plan::{self, PassAnswer};

use crate::fixtures;

#[test]
fn every_recorded_pass_comes_out_as_sparks_master_made_it() {
    let mut by_group: BTreeMap<String, usize> = BTreeMap::new();
    let mut by_setting: BTreeMap<(String, bool), usize> = BTreeMap::new();
    let (mut apps, mut workers, mut launches, mut launching) = (0, 0, 0, 0);
    for pass in plan::passes(fixtures::open_gz("conformance/passes.jsonl.gz")) {
        let pass = pass.expect("a recorded pass is well formed");
        let recorded = pass.recorded.as_ref().expect("a recorded pass has its answer");
        let answer = pass.answer().expect("a recorded pass is consistent");
        assert_eq!(answer.launches, recorded.launches, "pass {}", pass.i);
        assert_eq!(answer.apps_after, recorded.apps_after, "pass {}", pass.i);
        assert_eq!(written_and_read(&answer), *recorded, "pass {}", pass.i);

        apps += pass.apps.len();
        workers += pass.workers.len();
        launches += answer.launches.len();
        launching += usize::from(!answer.launches.is_empty());
        *by_setting.entry((pass.order.to_string(), pass.strategy == Strategy::SpreadOut)).or_default() += 1;
        *by_group.entry(pass.group.expect("a recorded pass has a group")).or_default() += 1;
    }
    assert_eq!((apps, workers, launches, launching), (5938, 14_484, 24_054, 885));
    assert_eq!(by_group, BTreeMap::from([("distinct".to_owned(), 661), ("ties".to_owned(), 339)]));
    for order in WorkerOrder::ALL {
        assert_eq!(
            [true, false].map(|spread| by_setting[&(order.to_string(), spread)]),
            [100, 100],
            "{order}"
        );
    }
}

/// Recorded answers are parsed into the same type, so written answers have their form.
fn written_and_read(answer: &PassAnswer) -> PassAnswer {
    let mut line = Vec::new();
    plan::write_line(&mut line, answer).expect("a vector takes it");
    serde_json::from_slice(&line).expect("what was written can be read")
}
