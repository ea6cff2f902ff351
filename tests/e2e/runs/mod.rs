//! Runs that a user starts: `map`, `shell`, `launch`, `submit`, and what they bring along.

mod any_bytes;
mod detach;
mod files;
mod launch;
mod local_cluster;
mod map;
mod map_left;
mod shell;
mod stuck;
mod submit;
