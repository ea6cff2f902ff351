//! Graphs of a generator's making, written and read again.

use firesteel_spark::java::{
    self, Bounds, Class, ClassId, Content, Field, FieldKind, Graph, Object, ObjectId, Part, Value,
};
use quickcheck::{Arbitrary, Gen, QuickCheck};

/// A random graph and one of its values.
#[derive(Clone, Debug)]
struct Drawn(Graph, Value);

impl Arbitrary for Drawn {
    fn arbitrary(g: &mut Gen) -> Self {
        let mut graph = Graph::default();
        let kind = graph.add_object(Object::Text("Ljava/lang/Object;".to_owned()));
        let classes = classes(&mut graph, kind, g);
        let mut objects = vec![kind];
        for _ in 0..usize::arbitrary(g) % 12 {
            let object = object(&graph, &classes, &objects, g);
            objects.push(graph.add_object(object));
        }
        let root = Value::Object(*g.choose(&objects).expect("there is one"));
        Self(graph, root)
    }
}

/// Random classes, each below an earlier one or below none. The last one is a class of arrays.
fn classes(graph: &mut Graph, kind: ObjectId, g: &mut Gen) -> Vec<ClassId> {
    let mut classes: Vec<ClassId> = Vec::new();
    for number in 0..1 + usize::arbitrary(g) % 6 {
        let primitives =
            [FieldKind::Int, FieldKind::Long, FieldKind::Boolean, FieldKind::Double, FieldKind::Short];
        let field = |g: &mut Gen| match bool::arbitrary(g) {
            true => FieldKind::Object(kind),
            false => *g.choose(&primitives).expect("there are some"),
        };
        let fields = (0..usize::arbitrary(g) % 4)
            .map(|at| Field { name: format!("field{at}"), kind: field(g) })
            .collect();
        let class = Class {
            name: format!("a.Class{number}"),
            serial: i64::arbitrary(g),
            fields,
            flags: Class::SERIALIZABLE + if bool::arbitrary(g) { Class::WRITES } else { 0 },
            parent: g.choose(&classes).copied().filter(|_| number % 2 == 0),
        };
        classes.push(graph.add_class(class));
    }
    let (name, flags) = ("[Ljava.lang.Object;".to_owned(), Class::SERIALIZABLE);
    classes.push(graph.add_class(Class { name, serial: 1, flags, fields: Vec::new(), parent: None }));
    classes
}

fn object(graph: &Graph, classes: &[ClassId], objects: &[ObjectId], g: &mut Gen) -> Object {
    let (arrays, plain) = classes.split_last().expect("there is a class of arrays");
    let class = *g.choose(plain).expect("there is one");
    match u8::arbitrary(g) % 5 {
        0 => Object::Text(String::arbitrary(g)),
        1 => Object::Class(class),
        2 => {
            let elements = (0..usize::arbitrary(g) % 4).map(|_| reference(objects, g)).collect();
            Object::Array { class: *arrays, elements }
        }
        3 => Object::Constant { class, name: objects[0] },
        _ => {
            let part = |class: ClassId| {
                let class = graph.class(class);
                let fields = class.fields.iter().map(|field| value(field.kind, objects, g)).collect();
                let writes = class.flags & Class::WRITES != 0;
                let contents = if writes { contents(objects, g) } else { Vec::new() };
                Part { fields, contents }
            };
            Object::Instance { class, parts: graph.line(class).into_iter().map(part).collect() }
        }
    }
}

fn contents(objects: &[ObjectId], g: &mut Gen) -> Vec<Content> {
    let content = |g: &mut Gen| match u8::arbitrary(g) % 3 {
        0 => Content::Value(reference(objects, g)),
        1 => Content::Block(Vec::arbitrary(g)),
        _ => Content::Block(vec![7; 300]),
    };
    (0..usize::arbitrary(g) % 3).map(|_| content(g)).collect()
}

fn value(kind: FieldKind, objects: &[ObjectId], g: &mut Gen) -> Value {
    match kind {
        FieldKind::Byte => Value::Byte(i8::arbitrary(g)),
        FieldKind::Char => Value::Char(u16::arbitrary(g)),
        FieldKind::Double => Value::Double(f64::from(i32::arbitrary(g))),
        FieldKind::Float => Value::Float(f32::from(i16::arbitrary(g))),
        FieldKind::Int => Value::Int(i32::arbitrary(g)),
        FieldKind::Long => Value::Long(i64::arbitrary(g)),
        FieldKind::Short => Value::Short(i16::arbitrary(g)),
        FieldKind::Boolean => Value::Boolean(bool::arbitrary(g)),
        FieldKind::Object(_) | FieldKind::Array(_) => reference(objects, g),
    }
}

fn reference(objects: &[ObjectId], g: &mut Gen) -> Value {
    let id = *g.choose(objects).expect("there is one");
    if u8::arbitrary(g) % 4 == 0 { Value::Null } else { Value::Object(id) }
}

#[test]
fn what_is_written_is_read_as_the_same_graph() {
    /// A written graph is read as a graph that is written in the same way, and has the same value.
    fn law(Drawn(graph, root): Drawn) {
        let written = java::write(&graph, root);
        let (read, root) = java::read(&written, Bounds::default()).expect("what was written can be read");
        assert_eq!(java::write(&read, root), written);
        let (again, again_root) = java::read(&written, Bounds::default()).expect("it can be read again");
        assert_eq!((again, again_root), (read, root));
    }
    QuickCheck::new().tests(2_000).quickcheck(law as fn(Drawn));
}

#[test]
fn objects_may_refer_to_each_other_in_a_circle() {
    // A throwable that is its own cause, as Java writes one without a cause.
    let mut graph = Graph::default();
    let kind = graph.add_object(Object::Text("LA;".to_owned()));
    let field = Field { name: "cause".to_owned(), kind: FieldKind::Object(kind) };
    let class = graph.add_class(Class {
        name: "A".to_owned(),
        serial: 1,
        flags: Class::SERIALIZABLE,
        fields: vec![field],
        parent: None,
    });
    let itself = graph.next_object();
    let part = Part { fields: vec![Value::Object(itself)], contents: Vec::new() };
    graph.add_object(Object::Instance { class, parts: vec![part] });
    let written = java::write(&graph, Value::Object(itself));
    let (read, root) = java::read(&written, Bounds::default()).expect("it can be read");
    let node = java::Node { graph: &read, value: root };
    assert_eq!(node.field("cause").map(|cause| cause.value), Some(root));
}
