//! What does a granted container cost an allocator, and how many tasks run on hosts with their data?
//!
//! ```text
//! cargo bench -p firesteel-world --bench allocator
//! cargo bench -p firesteel-world --bench allocator -- --test      # small: measures nothing
//! ```

#![allow(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench")]
#![allow(unreachable_pub, reason = "nothing outside can reach into a bench")]

mod cost;
mod hits;
mod matching;
mod resource_manager;
mod setup;
mod trace;

use firesteel_testkit::arguments::{Arguments, Known};

fn main() {
    let small = Arguments::of(Known::default()).test();
    cost::print(if small { 1 } else { 201 });
    println!();
    hits::print(if small { 1 } else { 3 });
}
