//! Golden scripts of ApplicationMasters: pages of what happens to one, with everything that it did under each.
//!
//! They are written as those of a Master are (see `scripts`). A page may have several attempts at an application.

mod stage;

use self::stage::Stage;
use crate::scripts::scripts;

/// Where the pages are.
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
