//! Exclusion of executors and hosts by a driver: golden scripts with everything that it decides, nights of an application whose
//! tasks fail now and then, and deliberate bugs in them.
//!
//! Pages are written as those of a Master are (see `scripts`).

mod deliberate;
mod nights;
mod stage;

use self::stage::Stage;
use crate::scripts::scripts;

/// Where the pages are.
const DIRECTORY: &str = "../tests/logic/exclusion";

scripts! {
    DIRECTORY, Stage:
    executor
    failed_everywhere
    host
    spark_s_rule
}
