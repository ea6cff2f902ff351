//! The directories of a Worker: the directories of executors, and the files of applications.
//! [`cleanup`](super::cleanup) removes both.
//!
//! - [`work_directory`]: the directory that contains the others.
//! - [`files`]: the files of applications.

pub mod files;
pub mod work_directory;
