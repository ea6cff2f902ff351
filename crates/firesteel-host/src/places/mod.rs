//! What the machines at the other ends of connections share: places and memory.
//!
//! - `shares`: how much of a limited amount each machine may take
//! - `entrance`: connections that have not identified themselves yet, and who of them makes room for others

mod entrance;
mod shares;

pub use entrance::{Entrance, Occupant};
pub use shares::{Machine, Share, Shares, TooMuch, machine_of};
