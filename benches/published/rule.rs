//! The policies that are compared: yardsticks, and Firesteel's own.

use std::borrow::Cow;
use std::fmt;

use firesteel_sim::setup::Setup;

use crate::arrivals::Arrivals;
use crate::best_fit::BestFit;
use crate::chooser::Chooser;
use crate::cluster::Cluster;
use crate::fgd::Fgd;
use crate::master::Master;
use crate::random::Random;
use crate::request::Workload;
use crate::scored::Scored;

/// A policy of the experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Any node on which a request fits.
    Random,
    BestFit,
    Fgd,
    /// Firesteel's Master with this set-up.
    Firesteel(Setup),
}

impl Rule {
    /// The yardsticks, and then the set-ups that were asked for: without any, those that look at GPUs.
    pub(crate) fn all(asked: &[Setup]) -> Vec<Self> {
        let usual = [Setup::BestFit, Setup::LeastFragmentation, Setup::LearnedFragmentation];
        let asked = if asked.is_empty() { &usual } else { asked };
        let own = asked.iter().cloned().map(Self::Firesteel);
        [Self::Random, Self::BestFit, Self::Fgd].into_iter().chain(own).collect()
    }

    /// Its name; for yardsticks that of the published results.
    pub(crate) fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Random => "Random".into(),
            Self::BestFit => "BestFit".into(),
            Self::Fgd => "FGD".into(),
            Self::Firesteel(setup) => setup.name(),
        }
    }

    /// The policy, to be used for one run.
    pub(crate) fn chooser(
        &self,
        cluster: &Cluster,
        workload: &Workload,
        arrivals: &Arrivals,
        seed: u64,
    ) -> Box<dyn Chooser> {
        match self {
            Self::Random => Box::new(Random::new(seed)),
            Self::BestFit => Box::new(Scored::new(BestFit)),
            Self::Fgd => Box::new(Scored::new(Fgd::new(workload))),
            Self::Firesteel(setup) => Box::new(Master::new(setup, cluster, &arrivals.ranks)),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}
