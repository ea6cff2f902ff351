//! Tables, and durations for people.

pub(super) use firesteel_apps::table::*;
