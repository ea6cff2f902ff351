//! Values of Scala's library in Java's streams, as Scala 2.12 (Spark 3) and 2.13 (Spark 4) write them.
//!
//! The two write nearly everything differently: 2.13 puts a proxy in place of each collection and each singleton, 2.12
//! writes most of them field by field. Readers here take both, and refuse by name what they do not know.
//!
//! - `values.rs`: options, boxed numbers, singletons, values of enumerations
//! - `collections.rs`: sequences and maps

mod collections;
mod values;

use thiserror::Error;

use crate::java::{Node, Value};

pub use collections::{elements, entries};
pub use values::{enumeration_id, integer, option, singleton};

/// A value is not what a message needs in its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{found} stands where {wanted} has to")]
pub struct Mismatch {
    /// What is needed, with its article.
    pub wanted: &'static str,
    /// The class of what is there, `null` or `a primitive value`.
    pub found: String,
}

impl Mismatch {
    /// The mismatch of a value that is not what is wanted.
    pub fn new(wanted: &'static str, node: Node<'_>) -> Self {
        let found = match node.value {
            Value::Null => "null",
            _ => node.class_name().unwrap_or("a primitive value"),
        };
        Self { wanted, found: found.to_owned() }
    }
}
