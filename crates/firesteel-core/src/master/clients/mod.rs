//! What clients ask, and what they are told.

pub(crate) mod questions;
pub(crate) mod reasons;
pub(crate) mod view;
