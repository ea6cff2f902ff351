//! The signals of the tests' own process, which its children inherit.

use std::sync::{Arc, Once};

use nix::sys::signal::Signal;

use crate::processes;

/// Lets children have the default actions of signals, wherever the tests were started: `nohup` ignores SIGHUP, and a shell
/// ignores SIGINT and SIGQUIT for what it runs in the background of a script. A child inherits what is ignored. What
/// is caught has its default action in a child, and this process goes on as if it ignored it.
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
