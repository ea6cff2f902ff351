//! Sequences and maps of Scala's library.

use super::{Mismatch, singleton};
use crate::java::{Content, Node};

/// The elements of a sequence, in order.
///
/// # Errors
///
/// If the value is not a sequence, or is of a class that Spark's messages do not use.
pub fn elements(node: Node<'_>) -> Result<Vec<Node<'_>>, Mismatch> {
    let found = match node.class_name() {
        // Of 2.12, with a mark at the end.
        Some(
            "scala.collection.immutable.List$SerializationProxy" | "scala.collection.mutable.ListBuffer",
        ) => until_the_mark(objects(node), "scala.collection.immutable.ListSerializeEnd$"),
        Some("scala.collection.immutable.Vector") => vector(node),
        Some("scala.collection.mutable.ArrayBuffer") => first(node, "size0", "array"),
        // Of both generations.
        Some("scala.collection.mutable.ArraySeq" | "scala.collection.mutable.WrappedArray$ofRef")
        | Some("scala.collection.mutable.ArraySeq$ofRef") => all(node, "array"),
        Some("scala.collection.immutable.ArraySeq$ofRef") => all(node, "unsafeArray"),
        Some("scala.collection.generic.DefaultSerializationProxy") => proxied(node),
        _ => None,
    };
    found.ok_or_else(|| Mismatch::new("a sequence", node))
}

/// The entries of a map, in the order in which they were written.
///
/// # Errors
///
/// If the value is not a map, or is of a class that Spark's messages do not use.
pub fn entries(node: Node<'_>) -> Result<Vec<(Node<'_>, Node<'_>)>, Mismatch> {
    if singleton(node) == Some("scala.collection.immutable.Map$EmptyMap$") {
        return Ok(Vec::new());
    }
    let found = match node.class_name() {
        Some("scala.collection.immutable.Map$Map1") => small_map(node, 1),
        Some("scala.collection.immutable.Map$Map2") => small_map(node, 2),
        Some("scala.collection.immutable.Map$Map3") => small_map(node, 3),
        Some("scala.collection.immutable.Map$Map4") => small_map(node, 4),
        Some("scala.collection.immutable.Map$WithDefault") => {
            return match node.field("underlying") {
                Some(map) if map.class_name() != node.class_name() => entries(map),
                _ => Err(Mismatch::new("a map", node)),
            };
        }
        // Of 2.12, with keys and values in turns.
        Some(
            "scala.collection.immutable.HashMap$SerializationProxy" | "scala.collection.mutable.HashMap",
        ) => {
            let flat: Vec<Node<'_>> = objects(node).collect();
            let pairs = flat.chunks_exact(2);
            pairs.remainder().is_empty().then(|| pairs.map(|pair| (pair[0], pair[1])).collect())
        }
        Some("scala.collection.generic.DefaultSerializationProxy") => {
            proxied(node).and_then(|pairs| pairs.into_iter().map(pair).collect())
        }
        _ => None,
    };
    found.ok_or_else(|| Mismatch::new("a map", node))
}

/// The objects in the custom data of a value's classes.
fn objects(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    node.contents().filter_map(move |content| match content {
        Content::Value(value) => Some(node.at(*value)),
        Content::Block(_) => None,
    })
}

fn until_the_mark<'a>(objects: impl Iterator<Item = Node<'a>>, mark: &str) -> Option<Vec<Node<'a>>> {
    let mut found = Vec::new();
    for object in objects {
        if singleton(object) == Some(mark) {
            return Some(found);
        }
        found.push(object);
    }
    None
}

/// A collection of Scala 2.13. Its data are the number of elements and then the elements, or -1, the elements, and an
/// end mark.
fn proxied(node: Node<'_>) -> Option<Vec<Node<'_>>> {
    let Some(Content::Block(count)) = node.contents().next() else { return None };
    let count = i32::from_be_bytes(count.as_slice().try_into().ok()?);
    if count == -1 {
        return until_the_mark(objects(node), "scala.collection.generic.SerializeEnd$");
    }
    let found: Vec<Node<'_>> = objects(node).collect();
    (usize::try_from(count) == Ok(found.len())).then_some(found)
}

fn all<'a>(node: Node<'a>, array: &str) -> Option<Vec<Node<'a>>> {
    Some(node.field(array)?.elements()?.collect())
}

fn first<'a>(node: Node<'a>, count: &str, array: &str) -> Option<Vec<Node<'a>>> {
    let count = usize::try_from(node.field(count)?.int()?).ok()?;
    let mut found = all(node, array)?;
    (count <= found.len()).then(|| found.truncate(count))?;
    Some(found)
}

/// A vector of 2.12: a tree of arrays with 32 places each. The vector's elements lie between two positions of the tree.
fn vector(node: Node<'_>) -> Option<Vec<Node<'_>>> {
    // Arrays that refer to themselves could make very many places from few bytes.
    const DEEPEST: usize = 3;
    const LONGEST: usize = 32_usize.pow(DEEPEST as u32);
    let int = |name| usize::try_from(node.field(name)?.int()?).ok();
    let (depth, start, end) = (int("depth")?, int("startIndex")?, int("endIndex")?);
    if depth > DEEPEST || end > LONGEST {
        return None;
    }
    if depth == 0 {
        return (start == end).then(Vec::new);
    }
    let mut level = vec![node.field(&format!("display{}", depth - 1))?];
    for _ in 0..depth {
        let mut below = Vec::new();
        // Missing arrays have no elements, and none follow.
        for places in level.into_iter().map_while(Node::elements) {
            below.extend(places);
            if below.len() >= end {
                break;
            }
        }
        level = below;
    }
    Some(level.get(start..end)?.to_vec())
}

/// A map with up to four entries stores the entries in fields: `key1`, `value1`, `key2`, and so on. In 2.13 the class's
/// name precedes these names.
fn small_map(node: Node<'_>, size: usize) -> Option<Vec<(Node<'_>, Node<'_>)>> {
    let field =
        |name: String| node.find_field(|field| field.rsplit("$$").next().is_some_and(|last| last == name));
    (1..=size).map(|at| field(format!("key{at}")).zip(field(format!("value{at}")))).collect()
}

fn pair(node: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let is_pair = node.class_name() == Some("scala.Tuple2");
    node.field("_1").zip(node.field("_2")).filter(|_| is_pair)
}
