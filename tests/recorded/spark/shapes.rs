//! Values of Scala's library that a JVM wrote, for both generations of Scala.

use std::path::Path;

use firesteel_spark::java::{self, Bounds, Graph, Node, Value};
use firesteel_spark::scala;

use crate::recorded;

/// Calls `test` with the value of this name from each generation.
fn in_each(name: &str, test: impl Fn(&str, Node<'_>)) {
    for generation in ["2.12", "2.13"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/spark/shapes");
        let recorded = recorded::read(&folder.join(format!("scala-{generation}/{name}.bin")));
        let (graph, value) = java::read(&recorded, Bounds::default()).expect("it is a stream");
        test(&format!("{name} of {generation}"), Node { graph: &graph, value });
    }
}

fn texts(node: Node<'_>) -> Result<Vec<&str>, scala::Mismatch> {
    Ok(scala::elements(node)?.into_iter().map(|element| element.text().expect("it is a text")).collect())
}

#[test]
fn sequences_have_their_elements_in_order() {
    let numbers: Vec<String> = (1..=40).map(|number| number.to_string()).collect();
    let rows: &[(&str, &[&str])] = &[
        ("ArrToSeq", &["a", "b"]),
        ("ArrayBuffer", &["a", "b"]),
        ("ArrayBuffer0", &[]),
        ("IndexedSeq", &["a", "b"]),
        ("Keys", &["a", "b"]),
        ("List1", &["a"]),
        ("List3", &["a", "b", "c"]),
        ("ListBuffer", &["a", "b"]),
        ("MutArraySeq", &["a", "b"]),
        ("Nil", &[]),
        ("SeqMapped", &["ax", "bx"]),
        ("SeqOf", &["a", "b"]),
        ("Split", &["a", "b", "c"]),
        ("Vector0", &[]),
        ("Vector2", &["a", "b"]),
        ("Vector40", &numbers.iter().map(String::as_str).collect::<Vec<_>>()),
    ];
    for (name, expected) in rows {
        in_each(name, |name, node| assert_eq!(texts(node).as_deref(), Ok(*expected), "{name}"));
    }
}

#[test]
fn maps_have_their_entries() {
    let rows: &[(&str, &[(&str, i32)])] = &[
        ("FilterKeys", &[("b", 2)]),
        ("Map0", &[]),
        ("Map1", &[("a", 1)]),
        ("Map2", &[("a", 1), ("b", 2)]),
        ("Map3", &[("a", 1), ("b", 2), ("c", 3)]),
        ("Map4", &[("a", 1), ("b", 2), ("c", 3), ("d", 4)]),
        ("Map5", &[("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5)]),
        ("MapValues", &[("a", 2)]),
        ("MutHashMap", &[("a", 1), ("b", 2)]),
        ("MutMap", &[("a", 1)]),
        ("WithDefaultValue", &[("a", 1)]),
    ];
    for (name, expected) in rows {
        in_each(name, |name, node| {
            let entry = |(key, value): (Node<'_>, Node<'_>)| {
                (key.text().expect("a key").to_owned(), scala::integer(value).expect("a number"))
            };
            let entries = scala::entries(node).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut found: Vec<(String, i32)> = entries.into_iter().map(entry).collect();
            found.sort();
            let expected: Vec<_> = expected.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
            assert_eq!(found, expected, "{name}");
        });
    }
}

#[test]
fn options_hold_one_value_or_none() {
    in_each("None", |name, node| assert!(scala::option(node).expect(name).is_none()));
    in_each("SomeStr", |name, node| {
        assert_eq!(scala::option(node).expect(name).and_then(Node::text), Some("x"), "{name}");
    });
    in_each("SomeInt", |name, node| {
        let value = scala::option(node).expect(name).expect("there is one");
        assert_eq!(scala::integer(value), Ok(5), "{name}");
    });
}

#[test]
fn what_is_something_else_is_named() {
    in_each("URI", |name, node| {
        let refused = scala::elements(node).expect_err("it is no sequence").to_string();
        assert_eq!(refused, "found java.net.URI instead of a sequence", "{name}");
        assert_eq!(node.field("string").and_then(Node::text), Some("spark://h:1"));
    });
    for name in ["Set1", "Stream", "Range", "Exc", "Map1", "TupleII"] {
        in_each(name, |name, node| assert!(scala::elements(node).is_err(), "{name}"));
    }
    for name in ["Nil", "List1", "Set5", "URI", "None"] {
        in_each(name, |name, node| {
            // A proxy of 2.13 does not distinguish an empty list from an empty map.
            let empty = name == "Nil of 2.13";
            assert_eq!(scala::entries(node).is_ok(), empty, "{name}");
            assert!(scala::integer(node).is_err() && scala::enumeration_id(node).is_err(), "{name}");
        });
    }
    let graph = Graph::default();
    let null = Node { graph: &graph, value: Value::Null };
    assert_eq!(scala::option(null).expect_err("it is null").to_string(), "found null instead of an option");
    let number = Node { graph: &graph, value: Value::Int(1) };
    assert_eq!(scala::integer(number), Ok(1));
    assert_eq!(scala::entries(number).expect_err("it is an int").found, "a primitive value");
}
