//! Golden scripts of ApplicationMasters: pages of events with all effects.
//!
//! They have the format of a Master's (see `scripts`). A page may have several attempts at an application.

mod stage;

use self::stage::Stage;
use crate::scripts::scripts;

const DIRECTORY: &str = "../tests/logic/on_yarn";

scripts! {
    DIRECTORY, Stage:
    client_mode
    cluster_mode
    driver_returns
    failures
    manager_restarted
    second_attempt
}
