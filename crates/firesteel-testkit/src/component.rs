//! Components that some tests need and that may be missing on a machine.

use std::collections::BTreeMap;
use std::env;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// The environment variable with the required components, separated by commas. `all` requires every component.
const REQUIRE: &str = "FIRESTEEL_REQUIRE";

/// A program or service that a test needs.
pub struct Component {
    /// The component's name in `FIRESTEEL_REQUIRE`.
    pub name: &'static str,
    /// Checks whether the component is available.
    ///
    /// # Errors
    /// Why the component cannot be used on this machine.
    pub look: fn() -> Result<(), String>,
    /// Makes the component ready for the next test.
    pub prepare: fn() -> Readiness,
}

/// Whether a component is ready for the next test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The test can run.
    Ready,
    /// The component cannot be made ready, for this reason. The test fails.
    Failed(String),
    /// The component could not be made ready for an earlier test, for this reason. The test does not run.
    NotRun(String),
}

impl Component {
    /// These tests, if the component is available. Otherwise tests with the same names that are ignored with a reason,
    /// or fail if the component is required.
    pub fn trials(&self, tests: &[(&str, fn())]) -> Vec<Trial> {
        let found = (self.look)();
        tests.iter().map(|&(name, test)| self.trial(name, test, &found)).collect()
    }

    /// Like `trials`, for one test. `found` is the result of [`look`](Self::look).
    pub fn trial(
        &self,
        name: &str,
        test: impl FnOnce() + Send + 'static,
        found: &Result<(), String>,
    ) -> Trial {
        let (component, prepare) = (self.name, self.prepare);
        match found {
            Ok(()) => Trial::ignorable_test(name, move || match prepare() {
                Readiness::Ready => {
                    test();
                    Ok(Completion::Completed)
                }
                Readiness::Failed(reason) => Err(Failed::from(reason)),
                Readiness::NotRun(reason) => Ok(Completion::ignored_with(reason)),
            }),
            Err(reason) if is_required(component) => {
                let reason = format!("{REQUIRE} asks for {component}, which is missing: {reason}");
                Trial::test(name, move || Err(Failed::from(reason)))
            }
            Err(reason) => Trial::test(name, || Ok(()))
                .with_kind(format!("skipped, no {component}: {reason}"))
                .with_ignored_flag(true),
        }
    }
}

/// Runs the tests. The last line of output contains the number of tests that did not run, and the reason.
pub fn run(arguments: &Arguments, trials: Vec<Trial>) -> ExitCode {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.has_ignored_flag() && is_chosen(arguments, trial.name()))
    {
        *reasons.entry(trial.kind().to_owned()).or_default() += 1;
    }
    let conclusion = libtest_mimic::run(arguments, trials);
    let left_out = usize::try_from(conclusion.num_ignored).unwrap_or(usize::MAX);
    if left_out > 0 {
        let unprepared = left_out.saturating_sub(reasons.values().sum());
        let mut reasons: Vec<String> =
            reasons.into_iter().map(|(reason, tests)| format!("{tests} {reason}")).collect();
        if unprepared > 0 {
            reasons.push(format!("{unprepared} could not be prepared"));
        }
        println!("left out {left_out} tests: {}\n", reasons.join("; "));
    }
    conclusion.exit_code()
}

/// Whether the command-line arguments select this test.
fn is_chosen(arguments: &Arguments, name: &str) -> bool {
    let is = |filter: &String| if arguments.exact { name == filter } else { name.contains(filter.as_str()) };
    arguments.filter.as_ref().is_none_or(is) && !arguments.skip.iter().any(is)
}

pub fn is_required(component: &str) -> bool {
    let required = env::var(REQUIRE).unwrap_or_default();
    required.split(',').map(str::trim).any(|name| name == component || name == "all")
}
