//! What shells say when the machine is short of processes or open files. They have no exit code for it.

/// The words of dash, bash and busybox. Where at most ten files may be open, dash calls the number of its own file invalid.
const SHORTAGES: [&str; 5] = [
    "Cannot fork",
    "fork: Resource temporarily unavailable",
    "can't fork",
    "Too many open files",
    "0: Invalid argument",
];

/// Whether the last words of a shell are those of a shortage, which passes when something else has ended.
pub(super) fn tell_of_shortage(words: &str) -> bool {
    SHORTAGES.iter().any(|shortage| words.contains(shortage))
}
