//! How many instructions does the hot path take? Counted by Callgrind, so that it is the same on a machine that is busy.
//!
//! What was counted last is in `counts.tsv`; more than a tenth above that fails. Counts are of one call each.
//!
//! ```text
//! .ci/instructions           # counts, and compares
//! .ci/instructions record    # counts, and writes down
//! ```

#![allow(clippy::disallowed_methods, reason = "a bench")]
#![allow(unreachable_pub, reason = "nothing outside can reach into a bench")]

#[path = "../master_events.rs"]
#[allow(dead_code, reason = "other benches use more of it")]
mod master_events;
mod placement;
mod registration;

use gungraun::{Callgrind, EventKind, LibraryBenchmarkConfig, main};

use placement::placements;
use registration::events;

/// What is counted of which: no more than a tenth above what was written down.
const COUNTS: &str = include_str!("counts.tsv");
const TOLERANCE: u64 = 10;

/// The bound for one of them. None while counts are written down.
fn bound(name: &str) -> LibraryBenchmarkConfig {
    let count = COUNTS.lines().filter_map(|line| line.split_once('\t')).find(|(known, _)| *known == name);
    let mut config = LibraryBenchmarkConfig::default();
    if std::env::var_os("FIRESTEEL_RECORD").is_none() {
        let (_, count) =
            count.unwrap_or_else(|| panic!("{name} is not in counts.tsv: .ci/instructions record"));
        let count: u64 = count.parse().expect("counts.tsv has a number for each name");
        let most = count + count / TOLERANCE;
        config.tool(Callgrind::default().hard_limits([(EventKind::Ir, most)]));
    }
    config
}

main!(library_benchmark_groups = placements, events);
