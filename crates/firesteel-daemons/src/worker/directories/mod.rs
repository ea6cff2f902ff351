//! The directories of a Worker: those of executors, the files that applications bring, and the removal of both.
//!
//! - [`work_directory`]: the directory that contains the others; [`scratch`]: the scratch directories of applications.
//! - [`files`]: the files that applications bring.
//! - [`cleaner`], [`left_directories`]: the removal of what ended applications and executors leave.

pub mod cleaner;
pub mod files;
pub mod left_directories;
pub mod scratch;
pub mod work_directory;
