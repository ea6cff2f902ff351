//! The directories of a Worker: those of executors, the files of applications, and the removal of both.
//!
//! - [`work_directory`]: the directory that contains the others; [`scratch`]: the scratch directories of applications.
//! - [`files`]: the files of applications.
//! - [`cleaner`], [`left_directories`]: the removal of directories after applications and executors have ended.

pub mod cleaner;
pub mod files;
pub mod left_directories;
pub mod scratch;
pub mod work_directory;
