//! The allocation core against Spark's recorded decisions, against tables, and against a slow reference.

mod advice;
mod amounts;
mod backlog;
mod beside;
mod case;
mod draft;
mod draft_of_master;
mod expressions;
mod golden;
mod history;
mod index;
mod locality;
mod needs;
mod outlook;
mod parity;
mod plain_victims;
mod plan;
mod policies;
mod properties;
mod reference;
mod schedule;
mod shares;
mod shortfall;
mod tables;
mod through_master;
mod turns;
