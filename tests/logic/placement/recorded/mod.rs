//! Repeats decisions that were recorded from Spark's Master.

mod golden;
mod schedule;
