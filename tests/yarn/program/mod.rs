//! The real binary on a real YARN cluster.

use libtest_mimic::Trial;

pub(crate) mod commands;
mod honoured;
mod losses;
mod refusals;
mod runs;

pub(crate) fn trials() -> Vec<Trial> {
    let trials = [runs::trials(), refusals::trials(), honoured::trials(), losses::trials()];
    trials.into_iter().flatten().collect()
}
