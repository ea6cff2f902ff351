//! How many instructions does the hot path take? Callgrind counts them, so that other load does not change the result.
//!
//! `counts.tsv` has the recorded counts, each of one call. A count that is more than a tenth higher fails.
//!
//! ```text
//! .ci/instructions           # counts, and compares
//! .ci/instructions record    # counts, and records
//! ```

#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]
#![allow(unreachable_pub, reason = "nothing outside can reach into a bench")]

mod daemon;
mod placement;
mod registration;

use gungraun::{Callgrind, EventKind, LibraryBenchmarkConfig, main};

use daemon::served;
use placement::placements;
use registration::events;

/// The recorded counts. A new count may be higher by this percentage.
const COUNTS: &str = include_str!("counts.tsv");
const TOLERANCE: u64 = 10;

/// The configuration of one bench, with its limit. While counts are recorded there is no limit.
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

main!(library_benchmark_groups = placements, events, served);
