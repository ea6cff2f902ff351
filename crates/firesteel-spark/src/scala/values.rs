//! Options, boxed numbers, singletons, and values of enumerations.

use super::Mismatch;
use crate::java::{Node, Object};

/// The class of an `object` of Scala, such as `scala.None$`; `None` for everything else.
///
/// Scala 2.12 writes the `object` as an object of its class. Scala 2.13 writes a proxy that names the class.
pub fn singleton(node: Node<'_>) -> Option<&str> {
    let name = node.class_name()?;
    if name == "scala.runtime.ModuleSerializationProxy" {
        let class = node.field("moduleClass")?;
        return matches!(class.object(), Some(Object::Class(_))).then(|| class.class_name()).flatten();
    }
    name.ends_with('$').then_some(name)
}

/// The value in an `Option`.
///
/// # Errors
///
/// If the value is not an `Option`.
pub fn option(node: Node<'_>) -> Result<Option<Node<'_>>, Mismatch> {
    let mismatch = || Mismatch::new("an option", node);
    if singleton(node) == Some("scala.None$") {
        return Ok(None);
    }
    match node.class_name() {
        Some("scala.Some") => node.field("value").map(Some).ok_or_else(mismatch),
        _ => Err(mismatch()),
    }
}

/// A boxed or plain `int`.
///
/// # Errors
///
/// If the value is neither a boxed nor a plain `int`.
pub fn integer(node: Node<'_>) -> Result<i32, Mismatch> {
    let boxed = || node.field("value").filter(|_| node.class_name() == Some("java.lang.Integer"));
    let number = node.int().or_else(|| boxed()?.int());
    number.ok_or_else(|| Mismatch::new("an integer", node))
}

/// The number of a value of an `Enumeration`, and the class of the enumeration, as in
/// `org.apache.spark.deploy.ExecutorState$`.
///
/// # Errors
///
/// If the value does not belong to an `Enumeration`.
pub fn enumeration_id(node: Node<'_>) -> Result<(&str, i32), Mismatch> {
    let id = node.field("i").filter(|_| node.class_name() == Some("scala.Enumeration$Val"));
    let id = id.and_then(Node::int);
    let outer = node.field("$outer").and_then(singleton);
    outer.zip(id).ok_or_else(|| Mismatch::new("a value of an enumeration", node))
}
