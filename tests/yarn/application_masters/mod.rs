//! ApplicationMasters on a real YARN cluster, with real drivers.

mod application;
mod masters;

pub(crate) use masters::trials;
