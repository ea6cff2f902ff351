//! Tests that run on several releases of Spark.

use libtest_mimic::Trial;

use crate::cluster::{MAIN, RELEASES, SPARK, line_of, look, named_releases};

/// An application's scenario on a cluster, run as a test for each release.
pub(crate) struct Scenario {
    name: &'static str,
    test: fn(&str),
    tried: Tried,
    /// The first releases, such as 4.0, that support it.
    since: &'static str,
}

/// On which releases a scenario runs if `FIRESTEEL_SPARKS` is not set.
enum Tried {
    OnAll,
    OnMain,
}

impl Scenario {
    /// Skips releases before this one, which do not support it.
    pub(crate) const fn on_all(name: &'static str, test: fn(&str)) -> Self {
        Self { name, test, tried: Tried::OnAll, since: "" }
    }

    pub(crate) const fn on_main(name: &'static str, test: fn(&str)) -> Self {
        Self { name, test, tried: Tried::OnMain, since: "" }
    }

    pub(crate) const fn since(self, since: &'static str) -> Self {
        Self { since, ..self }
    }

    pub(crate) fn trials(scenarios: Vec<Self>) -> Vec<Trial> {
        let found = look();
        let trials = |scenario: Self| {
            let Self { name, test, tried, since } = scenario;
            let versions = named_releases().unwrap_or_else(|| match tried {
                Tried::OnAll => RELEASES.map(str::to_owned).to_vec(),
                Tried::OnMain => vec![MAIN.to_owned()],
            });
            let versions = versions.into_iter().filter(move |version| line_of(version) >= since);
            let trial = |version: String| {
                let name = format!("{name}_on_{}", line_of(&version).replace('.', "_"));
                SPARK.trial(&name, move || test(&version), &found)
            };
            versions.map(trial).collect::<Vec<Trial>>()
        };
        scenarios.into_iter().flat_map(trials).collect()
    }
}
