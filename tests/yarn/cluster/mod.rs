//! The YARN client on a real cluster.

use libtest_mimic::Trial;

mod master;
mod openings;
mod restart;
mod unmanaged;

pub(crate) fn trials() -> Vec<Trial> {
    [unmanaged::trials(), openings::trials(), restart::trials()].into_iter().flatten().collect()
}
