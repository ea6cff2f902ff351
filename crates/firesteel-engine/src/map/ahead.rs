//! Decides how far ahead of the executors items are read.
//!
//! Just enough tasks wait at the driver so that no core waits for an item. The bytes of waiting input are also limited.
//! The number of items that were begun and not printed is limited, too. So outputs do not pile up behind a slow first
//! item or a slow reader of the output.

use firesteel_placement::Cores;

/// The number of waiting tasks per core.
const PER_CORE: i64 = 4;
/// Minimum number of waiting tasks.
const FEWEST: i64 = 64;
/// Maximum number of waiting tasks.
const MOST: i64 = 65_536;
/// Maximum number of bytes of waiting input.
const BYTES: usize = 64 << 20;
/// Maximum number of items that were begun and not printed.
const UNPRINTED: usize = 100_000;

/// How many items were begun, and how much input they contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Begun {
    /// Number of items whose tasks run or wait.
    pub(super) open: usize,
    /// The number of bytes of input that the tasks of open items hold.
    pub(super) bytes: usize,
    /// Number of items that are not printed yet, including the open ones.
    pub(super) unprinted: usize,
}

/// Whether to read one more item. `cores` is the number of cores of all executors.
pub(super) fn wants_more(begun: Begun, cores: Cores) -> bool {
    let waiting = cores.0.saturating_mul(PER_CORE).clamp(FEWEST, MOST);
    let most = usize::try_from(waiting.saturating_add(cores.0)).unwrap_or(usize::MAX);
    let running = usize::try_from(cores.0).unwrap_or(0);
    let average = begun.bytes / begun.open.max(1);
    let bytes = BYTES.saturating_add(running.saturating_mul(average));
    begun.open < most && begun.bytes < bytes && begun.unprinted < UNPRINTED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_ahead_by_cores_by_bytes_and_by_what_is_printed() {
        let begun = |open, bytes, unprinted| Begun { open, bytes, unprinted };
        for (cores, begun, expected) in [
            (0, begun(63, 0, 63), true),
            (0, begun(64, 0, 64), false),
            (2, begun(65, 0, 65), true),
            (2, begun(66, 0, 66), false),
            (100, begun(499, 0, 499), true),
            (100, begun(500, 0, 500), false),
            (1_000_000, begun(99_999, 0, 99_999), true),
            (1_000_000, begun(1, 0, 100_000), false),
            // Blocks of 8 MiB: eight wait, and each core runs one.
            (0, begun(8, 64 << 20, 8), false),
            (2, begun(9, 72 << 20, 9), true),
            (2, begun(10, 80 << 20, 10), false),
        ] {
            assert_eq!(wants_more(begun, Cores(cores)), expected, "{cores} cores, {begun:?}");
        }
    }
}
