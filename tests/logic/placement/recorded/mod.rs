//! Decisions that were recorded from Spark's Master, made again.

mod golden;
mod schedule;
