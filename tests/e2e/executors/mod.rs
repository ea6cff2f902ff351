//! Applications and their executors: where they run, what they have, and what happens when they fail.

mod classic;
pub(super) mod driver;
mod dynamic_allocation;
mod environment;
mod exclusion;
mod executor;
mod locality;
mod outcomes;
mod resources;
mod retries;
