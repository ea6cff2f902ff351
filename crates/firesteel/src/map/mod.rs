//! `firesteel map`: a command, once for each item of an input.

pub mod input;
pub mod printer;
pub mod progress;
pub mod spool;
pub mod template;
