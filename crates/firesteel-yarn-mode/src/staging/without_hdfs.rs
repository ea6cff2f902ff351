//! The substitute for HDFS in a program that was built without it.

use std::io::Read;

use super::shared_path::{Described, NameService};

pub(super) const IS_SPOKEN: bool = false;

/// An error that cannot occur, because this program has no operations on HDFS.
#[derive(Debug, thiserror::Error)]
#[error("this firesteel was built without HDFS (cargo build --features hdfs has it)")]
pub struct Failure;

pub(super) fn make_directory(_: &NameService, _: &str) -> Result<(), Failure> {
    Err(Failure)
}

pub(super) fn write(_: &NameService, _: &str, _: &mut (dyn Read + Send)) -> Result<(), Failure> {
    Err(Failure)
}

pub(super) fn described(_: &NameService, _: &str) -> Result<Described, Failure> {
    Err(Failure)
}

pub(super) fn delete(_: &NameService, _: &str) -> Result<(), Failure> {
    Err(Failure)
}
