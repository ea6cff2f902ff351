//! Applications and their executors: where they run, their environment and resources, and their failures.

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
