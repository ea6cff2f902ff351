//! The allocation core compared with Spark's recorded decisions, with tables, and with a slow reference.

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
