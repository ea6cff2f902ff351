//! Traces of applications, and what is replayed and measured with them.

mod replay;
mod trace;
