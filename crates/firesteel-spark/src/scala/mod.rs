//! Values of Scala's library in Java's streams, as Scala 2.12 (Spark 3) and 2.13 (Spark 4) write them.
//!
//! The two versions write nearly everything differently. Scala 2.13 replaces each collection and each singleton by a
//! proxy. Scala 2.12 writes most of them field by field. The functions here accept both formats. For an unknown class,
//! the error contains the class's name.
//!
//! - `values.rs`: options, boxed numbers, singletons, values of enumerations
//! - `collections.rs`: sequences and maps

mod collections;
mod values;

use thiserror::Error;

use crate::java::{Node, Value};

pub use collections::{elements, entries};
pub use values::{enumeration_id, integer, option, singleton};

/// The error that a value does not have the kind that a message needs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("found {found} instead of {wanted}")]
pub struct Mismatch {
    /// The needed kind, with its article, such as `a sequence`.
    pub wanted: &'static str,
    /// The class of the actual value, or `null`, or `a primitive value`.
    pub found: String,
}

impl Mismatch {
    /// The error for a value that is not of the wanted kind.
    pub fn new(wanted: &'static str, node: Node<'_>) -> Self {
        let found = match node.value {
            Value::Null => "null",
            _ => node.class_name().unwrap_or("a primitive value"),
        };
        Self { wanted, found: found.to_owned() }
    }
}
