//! The cases of `fixtures/conformance` as others use them: the runner holds Firesteel's Master to them, finds
//! deliberate mistakes, and the schemas describe what is there. What Spark's own Master says to them is in
//! `tests/spark`.

use libtest_mimic::Trial;

mod cases;
mod firesteel;
mod mistakes;
pub(crate) mod runner;
mod schemas;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = runner::PYTHON.trials(&[
        ("conformance::firesteel::decides_as_sparks_master_does", firesteel::decides_alike),
        ("conformance::firesteel::is_not_shown_what_spark_decided", firesteel::is_not_shown_the_results),
        ("conformance::mistakes::a_master_with_a_wrong_rule_is_caught", mistakes::wrong_rules),
        ("conformance::mistakes::one_wrong_value_is_found_and_named", mistakes::wrong_values),
        (
            "conformance::mistakes::an_adapter_that_does_not_keep_to_the_protocol_is_refused",
            mistakes::broken_adapters,
        ),
        ("conformance::mistakes::wrong_usage_is_refused", mistakes::wrong_usage),
    ]);
    let plain: [(&str, fn()); 4] = [
        ("conformance::firesteel::answers_the_example_of_the_readme", firesteel::answers_the_example),
        ("conformance::schemas::every_case_is_valid", schemas::cases_are_valid),
        ("conformance::schemas::every_decision_of_firesteel_is_valid", schemas::decisions_are_valid),
        (
            "conformance::schemas::a_case_with_a_missing_an_unknown_or_a_wrong_field_is_not_valid",
            schemas::wrong_cases,
        ),
    ];
    trials.extend(plain.map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    }));
    trials
}
