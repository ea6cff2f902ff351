//! `firesteel map`: a command, once for each item of an input.

pub mod input;
pub mod spool;
pub mod template;
