//! The cases of `fixtures/conformance`, used as by other projects. The runner checks Firesteel's Master with them, and
//! finds deliberate mistakes. The schemas describe the files. `tests/real-spark` compares them with Spark's own Master.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

#[path = "../e2e/cluster/mod.rs"]
#[allow(dead_code, reason = "others use more of it")]
mod binary;
mod cases;
#[path = "../heavy/component.rs"]
#[allow(dead_code, reason = "others use more of it")]
mod component;
mod firesteel;
mod mistakes;
mod runner;
mod schemas;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = runner::PYTHON.trials(&[
        ("firesteel::decides_as_sparks_master_does", firesteel::decides_alike),
        ("firesteel::is_not_shown_what_spark_decided", firesteel::is_not_shown_the_results),
        ("mistakes::a_master_with_a_wrong_rule_is_caught", mistakes::wrong_rules),
        ("mistakes::one_wrong_value_is_found_and_named", mistakes::wrong_values),
        ("mistakes::an_adapter_that_does_not_keep_to_the_protocol_is_refused", mistakes::broken_adapters),
        ("mistakes::wrong_usage_is_refused", mistakes::wrong_usage),
    ]);
    let plain: [(&str, fn()); 4] = [
        ("firesteel::answers_the_example_of_the_readme", firesteel::answers_the_example),
        ("schemas::every_case_is_valid", schemas::cases_are_valid),
        ("schemas::every_decision_of_firesteel_is_valid", schemas::decisions_are_valid),
        ("schemas::a_case_with_a_missing_an_unknown_or_a_wrong_field_is_not_valid", schemas::wrong_cases),
    ];
    trials.extend(plain.map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    }));
    component::run(&arguments, trials)
}
