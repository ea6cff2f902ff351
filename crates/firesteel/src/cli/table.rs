//! Tables, and times as people say them.

pub(super) use firesteel_apps::table::*;
