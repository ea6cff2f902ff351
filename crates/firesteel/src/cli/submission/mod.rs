//! The commands that start an application or submit a driver, and their options.
//!
//! - `map`, `shell`, `launch`, `submit_driver`: one command per module.
//! - `submit`: the options of spark-submit, which these commands share; `misplaced`: advice on misplaced options.
//! - `command_context`, `command_file`, `placeholders`, `default_name`: the command that an application runs, and its
//!   name.

mod command_context;
mod command_file;
mod default_name;
pub(super) mod launch;
pub(super) mod map;
pub(super) mod misplaced;
mod placeholders;
pub(super) mod shell;
pub(super) mod submit;
pub(super) mod submit_driver;
