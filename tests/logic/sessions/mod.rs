//! Sessions of `firesteel shell`: golden scripts of what happens to one, with everything that it did under each, and
//! thousands of worlds from seeds with deliberate bugs among them.
//!
//! Pages are written as those of a Master are (see `scripts`).

mod deliberate;
mod stage;
mod words;
mod worlds;

use self::stage::Stage;
use crate::scripts::scripts;

/// Where the pages are.
const DIRECTORY: &str = "../tests/logic/sessions";

scripts! {
    DIRECTORY, Stage:
    application_lost
    executors
    first_failure
    leaving
    source
    typed
}
