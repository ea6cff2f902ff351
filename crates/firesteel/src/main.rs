//! The `firesteel` command.

fn main() {}
