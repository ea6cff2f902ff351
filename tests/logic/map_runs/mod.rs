//! Map runs: golden scripts of what happens to one, with everything that it did under each, and thousands of worlds from
//! seeds with deliberate bugs among them.
//!
//! Pages are written as those of a Master are (see `scripts`).

mod deliberate;
mod stage;
mod worlds;

use self::stage::Stage;
use crate::scripts::scripts;

/// Where the pages are.
const DIRECTORY: &str = "../tests/logic/map_runs";

scripts! {
    DIRECTORY, Stage:
    applications
    bad_input
    interrupted
    lost_output
    one_run
    read_ahead
    session
}
