//! Custom resources: amounts, and parts of addresses.

mod amounts;
mod shares;
