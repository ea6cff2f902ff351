//! The real binary, built with HDFS, on a real YARN cluster with a real HDFS.

mod servers;
mod staged;

pub(crate) use staged::trials;
