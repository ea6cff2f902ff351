//! Laws: statements that hold for every case of a generator.
//!
//! A law is a function from a case to its error. Case `n` is made from seed `s + n`, where `s` is `FIRESTEEL_SEED`, or
//! else a fixed number, so that failures repeat. A broken law shows its smallest case and the command that repeats it.
//! `FIRESTEEL_CASES` sets the number of cases per law, for a long run.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use quickcheck::{Arbitrary, Gen};

const SEED: u64 = 20_261_120;
const SIZE: usize = 24;

/// A law's result: `Err` describes what is wrong with a case.
pub type Verdict = Result<(), String>;

/// Tries a law on this number of cases. `test` is the path of the calling test, for the command that repeats it.
pub fn hold<C: Arbitrary + Debug>(test: &str, cases: u64, law: impl Fn(&C) -> Verdict) {
    let first = number("FIRESTEEL_SEED").unwrap_or(SEED);
    let cases = number("FIRESTEEL_CASES").unwrap_or(cases);
    for seed in first..first.wrapping_add(cases) {
        let case = C::arbitrary(&mut Gen::from_size_and_seed(SIZE, seed));
        if let Err(wrong) = judge(&law, &case) {
            let (case, wrong) = smallest(&law, case, wrong);
            panic!(
                "{wrong}\nsmallest case: {case:#?}\n\
                 repeat: FIRESTEEL_SEED={seed} cargo test -p firesteel-world --test logic {test}"
            );
        }
    }
}

/// Fails a law with a sentence unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $($wrong:tt)+) => {
        if !$holds {
            return Err(format!($($wrong)+));
        }
    };
}
pub(crate) use ensure;

#[expect(
    clippy::disallowed_methods,
    reason = "the variable repeats one failure, or sets the number of cases"
)]
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

/// Applies a law to a case. A panic in the code under test also breaks the law.
fn judge<C>(law: &impl Fn(&C) -> Verdict, case: &C) -> Verdict {
    catch_unwind(AssertUnwindSafe(|| law(case))).unwrap_or_else(|_| Err("it panicked (see above)".to_owned()))
}

fn smallest<C: Arbitrary>(law: &impl Fn(&C) -> Verdict, mut case: C, mut wrong: String) -> (C, String) {
    const MOST_STEPS: usize = 1000;
    for _ in 0..MOST_STEPS {
        let broken = case.shrink().find_map(|case| judge(law, &case).err().map(|wrong| (case, wrong)));
        let Some(smaller) = broken else { break };
        (case, wrong) = smaller;
    }
    (case, wrong)
}

#[test]
fn a_broken_law_shows_its_smallest_case_and_how_to_come_back_to_it() {
    let broken = catch_unwind(|| {
        hold("some_test", 1000, |number: &u64| {
            ensure!(*number < 1000, "{number} is too large");
            Ok(())
        })
    });
    let shown = broken.expect_err("it is broken");
    let shown = shown.downcast_ref::<String>().expect("a panic with words");
    assert!(shown.starts_with("1000 is too large\nsmallest case: 1000\nrepeat: FIRESTEEL_SEED="), "{shown}");
    assert!(shown.ends_with("cargo test -p firesteel-world --test logic some_test"), "{shown}");
}
