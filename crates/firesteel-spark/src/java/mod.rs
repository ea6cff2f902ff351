//! Java's object serialization, version 5: reads and writes one object and everything that it refers to.
//!
//! This code contains no knowledge of classes of Java, Scala or Spark: a stream describes its own classes, and these
//! descriptions are kept. No class is ever instantiated, so a stream cannot run code.
//!
//! - `graph.rs`: classes and objects, and their references
//! - `node.rs`: a view of one value of a graph
//! - `reader.rs`: reads bytes into a graph, within limits
//! - `writer.rs`: writes a graph as bytes, in the same way as the JVM
//!
//! Source: Java Object Serialization Specification, section 6; streams recorded from Spark.

mod graph;
mod node;
mod reader;
mod writer;

pub use graph::{Class, ClassId, Content, Field, FieldKind, Graph, Object, ObjectId, Part, Value};
pub use node::Node;
pub use reader::{Bounds, Problem, ReadError, read};
pub use writer::write;

/// The first bytes of a stream: its magic number and version.
const HEADER: [u8; 4] = [0xac, 0xed, 0x00, 0x05];
/// The handle of the first class, object or string of a stream. Handles are consecutive.
const FIRST_HANDLE: u32 = 0x7e_0000;

/// The codes before each item of a stream, which say what kind of item follows.
mod code {
    pub(super) const NULL: u8 = 0x70;
    pub(super) const REFERENCE: u8 = 0x71;
    pub(super) const CLASS_DESCRIPTOR: u8 = 0x72;
    pub(super) const OBJECT: u8 = 0x73;
    pub(super) const STRING: u8 = 0x74;
    pub(super) const ARRAY: u8 = 0x75;
    pub(super) const CLASS: u8 = 0x76;
    pub(super) const BLOCK: u8 = 0x77;
    pub(super) const END_OF_CONTENTS: u8 = 0x78;
    pub(super) const LONG_BLOCK: u8 = 0x7a;
    pub(super) const LONG_STRING: u8 = 0x7c;
    pub(super) const ENUM: u8 = 0x7e;
}
