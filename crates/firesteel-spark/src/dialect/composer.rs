//! Makes the objects of a message.

use std::collections::BTreeMap;

use super::classes::{
    BOOLEAN, Described, ENUMERATION_VALUE, EXECUTOR_STATE, INTEGER, MODULE_PROXY, NONE, SOME,
};
use super::{Generation, Reference, Vocabulary};
use crate::envelope::Address;
use crate::java::{self, Class, ClassId, Content, Field, FieldKind, Graph, Object, ObjectId, Part, Value};

/// Collects the objects of one message.
pub(crate) struct Composer<'a> {
    vocabulary: &'a Vocabulary,
    graph: Graph,
    /// The classes of the message, each once. A peer's reference may have others of the same name.
    classes: Vec<ClassId>,
    /// The names of types in descriptions of fields, each once.
    types: BTreeMap<String, ObjectId>,
    /// The singletons of the message, each once.
    singletons: BTreeMap<&'static str, Value>,
}

impl<'a> Composer<'a> {
    pub(crate) fn new(vocabulary: &'a Vocabulary) -> Self {
        Self {
            vocabulary,
            graph: Graph::default(),
            classes: Vec::new(),
            types: BTreeMap::new(),
            singletons: BTreeMap::new(),
        }
    }

    /// The bytes of the message whose object this is.
    pub(crate) fn write(&self, root: Value) -> Vec<u8> {
        java::write(&self.graph, root)
    }

    /// An object. The values are those of the fields of its topmost class, then those of the class below, and so on.
    pub(crate) fn object(&mut self, described: &'static Described, values: &[Value]) -> Value {
        let class = self.class(described);
        let mut left = values;
        let mut parts = Vec::new();
        for class in self.graph.line(class) {
            let (fields, rest) = left.split_at(self.graph.class(class).fields.len());
            parts.push(Part { fields: fields.to_vec(), contents: Vec::new() });
            left = rest;
        }
        assert!(left.is_empty(), "{} has fewer fields", described.name);
        self.add(Object::Instance { class, parts })
    }

    pub(crate) fn text(&mut self, text: impl Into<String>) -> Value {
        self.add(Object::Text(text.into()))
    }

    pub(crate) fn boolean(&mut self, truth: bool) -> Value {
        self.object(&BOOLEAN, &[Value::Boolean(truth)])
    }

    /// A boxed integer.
    pub(crate) fn integer(&mut self, number: i32) -> Value {
        self.object(&INTEGER, &[Value::Int(number)])
    }

    pub(crate) fn option(&mut self, value: Option<Value>) -> Value {
        match value {
            Some(value) => self.object(&SOME, &[value]),
            None => self.singleton(&NONE),
        }
    }

    /// The state of an executor that has this number in `ExecutorState`.
    pub(crate) fn executor_state(&mut self, number: i32) -> Value {
        let outer = self.singleton(&EXECUTOR_STATE);
        self.object(&ENUMERATION_VALUE, &[outer, outer, Value::Int(number), Value::Null])
    }

    /// A class without fields, with that serial version id.
    pub(super) fn bare_class(&mut self, name: &str, serial: i64) -> Value {
        let (name, fields) = (name.to_owned(), Vec::new());
        let class = self.add_class(Class { name, serial, flags: Class::SERIALIZABLE, fields, parent: None });
        self.add(Object::Class(class))
    }

    /// A reference to one of our endpoints, made like the peer's reference to itself.
    pub(crate) fn reference(&mut self, model: &Reference, name: &str, address: &Address) -> Value {
        let copy =
            self.copy(&model.graph, model.root, &mut Reference::MOST.clone()).expect("a model is small");
        let url = format!("spark://{name}@{}:{}", address.host, address.port);
        let (name, host, url) = (self.text(name), self.text(&address.host), self.text(url));
        let endpoint = self.field(copy, "endpointAddress");
        let rpc = self.field(endpoint, "rpcAddress");
        let rows = [
            (endpoint, "name", name),
            (endpoint, "toString", url),
            (rpc, "host", host),
            (rpc, "port", Value::Int(i32::from(address.port))),
        ];
        for (object, field, value) in rows {
            let Value::Object(id) = object else { unreachable!("a model has an address") };
            assert!(self.graph.set_field(id, field, value), "a model has the field {field}");
        }
        copy
    }

    fn field(&self, value: Value, name: &str) -> Value {
        let node = java::Node { graph: &self.graph, value };
        node.field(name).expect("a model has an address").value
    }

    /// An `object` of Scala's. Scala 2.13 names its class. 2.12 writes it with its fields, and its reader takes its own
    /// one instead, so they may be empty.
    fn singleton(&mut self, described: &'static Described) -> Value {
        if let Some(value) = self.singletons.get(described.name) {
            return *value;
        }
        let value = match self.vocabulary.generation {
            Generation::Scala2_12 => {
                let class = self.class(described);
                let line = self.graph.line(class).into_iter();
                let parts = line.map(|class| empty_part(self.graph.class(class))).collect();
                self.add(Object::Instance { class, parts })
            }
            Generation::Scala2_13 => {
                let class = self.class(described);
                let class = self.add(Object::Class(class));
                self.object(&MODULE_PROXY, &[class])
            }
        };
        self.singletons.insert(described.name, value);
        value
    }

    fn class(&mut self, described: &'static Described) -> ClassId {
        let parent = described.parent.map(|parent| self.class(parent));
        let field = |(name, kind): &(&str, &str)| self.described_field(name, kind);
        let fields = described.fields.iter().map(field).collect();
        let serial = self.vocabulary.serial(described);
        let name = described.name.to_owned();
        self.add_class(Class { name, serial, flags: Class::SERIALIZABLE, fields, parent })
    }

    fn described_field(&mut self, name: &str, kind: &str) -> Field {
        let kind = match kind.as_bytes() {
            [letter] => FieldKind::primitive(*letter).expect("a type of one letter is primitive"),
            [b'[', ..] => FieldKind::Array(self.type_name(kind)),
            _ => FieldKind::Object(self.type_name(kind)),
        };
        Field { name: name.to_owned(), kind }
    }

    fn type_name(&mut self, name: &str) -> ObjectId {
        if let Some(id) = self.types.get(name) {
            return *id;
        }
        let id = self.graph.add_object(Object::Text(name.to_owned()));
        self.types.insert(name.to_owned(), id);
        id
    }

    fn add_class(&mut self, class: Class) -> ClassId {
        if let Some(id) = self.classes.iter().find(|id| *self.graph.class(**id) == class) {
            return *id;
        }
        let id = self.graph.add_class(class);
        self.classes.push(id);
        id
    }

    fn add(&mut self, object: Object) -> Value {
        Value::Object(self.graph.add_object(object))
    }

    /// Copies a value of another graph, with all that it refers to, each as often as it is referred to. `None` if that is
    /// more than this number of values: a circle never ends.
    pub(super) fn copy(&mut self, from: &Graph, value: Value, left: &mut u32) -> Option<Value> {
        *left = left.checked_sub(1)?;
        let Value::Object(id) = value else { return Some(value) };
        let copy = match from.object(id) {
            Object::Text(text) => Object::Text(text.clone()),
            Object::Class(class) => Object::Class(self.copy_class(from, *class, left)?),
            Object::Constant { class, name } => {
                let class = self.copy_class(from, *class, left)?;
                let Object::Text(name) = from.object(*name) else { return None };
                Object::Constant { class, name: self.graph.add_object(Object::Text(name.clone())) }
            }
            Object::Array { class, elements } => Object::Array {
                class: self.copy_class(from, *class, left)?,
                elements: self.copy_all(from, elements, left)?,
            },
            Object::Instance { class, parts } => {
                let class = self.copy_class(from, *class, left)?;
                let parts =
                    parts.iter().map(|part| self.copy_part(from, part, left)).collect::<Option<_>>()?;
                Object::Instance { class, parts }
            }
        };
        Some(self.add(copy))
    }

    fn copy_all(&mut self, from: &Graph, values: &[Value], left: &mut u32) -> Option<Vec<Value>> {
        values.iter().map(|value| self.copy(from, *value, left)).collect()
    }

    fn copy_part(&mut self, from: &Graph, part: &Part, left: &mut u32) -> Option<Part> {
        let fields = self.copy_all(from, &part.fields, left)?;
        let mut contents = Vec::new();
        for content in &part.contents {
            contents.push(match content {
                Content::Block(bytes) => Content::Block(bytes.clone()),
                Content::Value(value) => Content::Value(self.copy(from, *value, left)?),
            });
        }
        Some(Part { fields, contents })
    }

    fn copy_class(&mut self, from: &Graph, id: ClassId, left: &mut u32) -> Option<ClassId> {
        let class = from.class(id);
        *left = left.checked_sub(1 + u32::try_from(class.fields.len()).ok()?)?;
        let parent = match class.parent {
            Some(parent) => Some(self.copy_class(from, parent, left)?),
            None => None,
        };
        let mut fields = Vec::new();
        for field in &class.fields {
            let kind = match field.kind {
                FieldKind::Object(name) => FieldKind::Object(self.copy_type_name(from, name)),
                FieldKind::Array(name) => FieldKind::Array(self.copy_type_name(from, name)),
                primitive => primitive,
            };
            fields.push(Field { name: field.name.clone(), kind });
        }
        Some(self.add_class(Class { fields, parent, ..class.clone() }))
    }

    fn copy_type_name(&mut self, from: &Graph, name: ObjectId) -> ObjectId {
        let Object::Text(name) = from.object(name) else { unreachable!("the name of a type is a text") };
        self.type_name(name)
    }

    /// The graph of what was made.
    pub(super) fn into_graph(self) -> Graph {
        self.graph
    }
}

/// What an object has of a class while nothing was assigned to its fields.
fn empty_part(class: &Class) -> Part {
    let value = |field: &Field| match field.kind {
        FieldKind::Byte => Value::Byte(0),
        FieldKind::Char => Value::Char(0),
        FieldKind::Double => Value::Double(0.0),
        FieldKind::Float => Value::Float(0.0),
        FieldKind::Int => Value::Int(0),
        FieldKind::Long => Value::Long(0),
        FieldKind::Short => Value::Short(0),
        FieldKind::Boolean => Value::Boolean(false),
        FieldKind::Object(_) | FieldKind::Array(_) => Value::Null,
    };
    Part { fields: class.fields.iter().map(value).collect(), contents: Vec::new() }
}
