//! Traces of applications, with their replays and measurements.

mod published;
mod replay;
mod trace;
