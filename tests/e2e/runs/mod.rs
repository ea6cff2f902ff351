//! Runs of a user: `map`, `shell`, `launch`, `submit`, and the files that they bring along.

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
