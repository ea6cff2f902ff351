//! Traces of applications, with their replays and measurements.

mod replay;
mod trace;
