//! Exclusion of executors and hosts by a driver: golden scripts with all its effects, simulated nights of an
//! application whose tasks sometimes fail, and deliberate bugs.
//!
//! Pages have the format of a Master's (see `scripts`).

mod deliberate;
mod nights;
mod stage;

use self::stage::Stage;
use crate::scripts::scripts;

const DIRECTORY: &str = "../tests/logic/exclusion";

scripts! {
    DIRECTORY, Stage:
    executor
    failed_everywhere
    host
    spark_s_rule
}
