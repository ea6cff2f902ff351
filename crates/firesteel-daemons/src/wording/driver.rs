//! The state of a cluster driver, as text.

use firesteel_protocol::Timestamp;
use firesteel_protocol::messages::DriverView;

/// The state of a cluster driver, with the number of its restarts, or the reason why the driver waits: `RUNNING, 3
/// restarts, last exit code 1, next start in 4 s`, or `SUBMITTED: no Worker is there that takes drivers`.
#[must_use]
pub fn driver_state(driver: &DriverView, now: Timestamp) -> String {
    let DriverView { state, restarts, wait, .. } = driver;
    match (restarts, wait) {
        (Some(restarts), _) => format!("{state}, {}", restarts.at(now)),
        (None, Some(wait)) => format!("{state}: {wait}"),
        (None, None) => state.to_string(),
    }
}
