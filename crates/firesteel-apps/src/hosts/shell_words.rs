//! The messages of POSIX shells when the machine is short of processes or open files. Shells have no exit code for this
//! case.

/// Messages of dash, bash and busybox about shortages. With a limit of ten open files, dash reports an invalid
/// descriptor number.
const SHORTAGES: [&str; 5] = [
    "Cannot fork",
    "fork: Resource temporarily unavailable",
    "can't fork",
    "Too many open files",
    "0: Invalid argument",
];

/// Whether a POSIX shell's last message means a shortage of resources. Such a shortage ends when other processes end.
pub(super) fn tell_of_shortage(words: &str) -> bool {
    SHORTAGES.iter().any(|shortage| words.contains(shortage))
}
