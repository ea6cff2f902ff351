//! The signal actions of the tests' own process, which its children inherit.

use std::sync::{Arc, Once};

use nix::sys::signal::Signal;

use crate::processes;

/// Gives children the default actions of signals, however the tests were started. `nohup` ignores SIGHUP, and a POSIX
/// shell ignores SIGINT and SIGQUIT for background commands of a script. Children inherit ignored signals, but get the
/// default action for caught signals. So this process catches the signals and does nothing.
pub(crate) fn give_children_the_defaults() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM] {
            if processes::ignores(std::process::id(), signal) {
                signal_hook::flag::register(signal as i32, Arc::default()).expect("it can be caught");
            }
        }
    });
}
