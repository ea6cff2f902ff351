//! The directories of a Worker: those of executors, the files of applications, and the removal of both.
//!
//! - [`work_directory`]: the directory that contains the others.
//! - [`files`]: the files of applications.
//! - [`cleaner`], [`executor_directories`]: the removal of directories after applications and executors have ended.

pub mod files;
pub mod work_directory;
