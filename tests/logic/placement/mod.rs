//! The allocation core against Spark's recorded decisions, against tables, and against a slow reference.

mod advice;
mod backlog;
mod beside;
mod draft;
mod history;
mod index;
mod locality;
mod outlook;
mod parity;
mod policies;
mod properties;
mod recorded;
mod reference;
mod resources;
mod shortfall;
mod tables;
mod through_master;
mod turns;
