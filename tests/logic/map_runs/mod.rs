//! Map runs: golden scripts with all effects, and thousands of worlds from seeds with deliberate bugs.
//!
//! Pages have the format of a Master's (see `scripts`).

mod deliberate;
mod stage;
mod worlds;

use self::stage::Stage;
use crate::scripts::scripts;

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
