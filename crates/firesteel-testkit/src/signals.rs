//! The signal actions of the tests' own process, which its children inherit.

use std::sync::{Arc, Once};

use nix::sys::signal::Signal;

use crate::processes;

/// Gives children the default actions of signals, however the tests were started: `nohup` ignores SIGHUP, and a shell
/// ignores SIGINT and SIGQUIT for background commands of a script. A child inherits ignored signals. A caught signal
/// has its default action in a child, so this process catches them and does nothing.
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
