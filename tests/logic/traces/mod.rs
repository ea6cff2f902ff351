//! Traces of applications, and what is replayed and measured with them.

mod published;
mod replay;
mod trace;
