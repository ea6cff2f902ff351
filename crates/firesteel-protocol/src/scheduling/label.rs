//! Labels: they limit which applications' executors a Worker can run.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A set of possible Spark releases, such as 3.4 and 3.5: the application or Worker has one of them.
///
/// A Worker with a label runs only executors of applications whose label has a release in common with it. A Worker
/// without a label runs executors of all applications.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Label(BTreeSet<String>);

impl Label {
    /// The label with these releases. `None` if there are none.
    pub fn of(releases: impl IntoIterator<Item = impl Into<String>>) -> Option<Self> {
        let releases: BTreeSet<String> = releases.into_iter().map(Into::into).collect();
        (!releases.is_empty()).then_some(Self(releases))
    }

    /// Whether a Worker with the label `worker` runs executors of an application with the label `application`.
    pub fn admits(worker: Option<&Self>, application: Option<&Self>) -> bool {
        match (worker, application) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(Self(one)), Some(Self(other))) => !one.is_disjoint(other),
        }
    }

    pub fn releases(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub fn length(&self) -> usize {
        self.0.iter().map(String::len).sum()
    }
}

/// Formats a label as `Spark 3.4 or 3.5`.
impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let releases: Vec<&str> = self.releases().collect();
        write!(f, "Spark {}", releases.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_with_a_label_admits_applications_that_have_a_release_in_common() {
        let label = |releases: &[&str]| Label::of(releases.iter().copied());
        for (worker, application, admits) in [
            (label(&[]), label(&[]), true),
            (label(&[]), label(&["4.0"]), true),
            (label(&["4.0"]), label(&[]), false),
            (label(&["4.0"]), label(&["4.0"]), true),
            (label(&["4.0"]), label(&["3.5"]), false),
            (label(&["4.1", "4.2", "4.3"]), label(&["4.3"]), true),
        ] {
            assert_eq!(Label::admits(worker.as_ref(), application.as_ref()), admits);
        }
    }

    #[test]
    fn a_label_is_shown_with_all_its_releases() {
        assert_eq!(Label::of(["3.5", "3.4"]).expect("it has two").to_string(), "Spark 3.4 or 3.5");
    }
}
