//! Builds the objects of a message.

use std::collections::BTreeMap;

use super::classes::{
    BOOLEAN, COLLECTION_PROXY, DRIVER_STATE, Described, EMPTY_MAP, ENUMERATION_VALUE, EXCEPTION,
    EXECUTOR_STATE, HASH_MAP, HASH_MAP_MODULE, INTEGER, MAP_FACTORY, MAP_OF_ONE, MODULE_PROXY, NONE, PAIR,
    RESOURCE_INFORMATION, RPC_ADDRESS, SOME, STRINGS,
};
use super::copy::Copy;
use super::{ClassNames, Fragment, Generation, Reference};
use crate::envelope::Address;
use crate::java::{self, Class, ClassId, Content, Field, FieldKind, Graph, Object, ObjectId, Part, Value};
use crate::messages::{DriverState, ExecutorState};

/// Collects the objects of one message in a graph.
pub(crate) struct Composer<'a> {
    vocabulary: &'a ClassNames,
    pub(super) graph: Graph,
    /// The classes of the message, each once. A peer's reference may add other classes with the same name.
    classes: Vec<ClassId>,
    /// The type names in descriptions of fields, each once.
    types: BTreeMap<String, ObjectId>,
    /// The singletons of the message, each once.
    singletons: BTreeMap<&'static str, Value>,
}

impl<'a> Composer<'a> {
    pub(crate) fn new(vocabulary: &'a ClassNames) -> Self {
        Self {
            vocabulary,
            graph: Graph::default(),
            classes: Vec::new(),
            types: BTreeMap::new(),
            singletons: BTreeMap::new(),
        }
    }

    /// Writes the message, whose outermost object is `root`.
    pub(crate) fn write(&self, root: Value) -> Vec<u8> {
        java::write(&self.graph, root)
    }

    /// Adds an object. `values` are the values of the fields: first those of the topmost class, then those of the class
    /// below, and so on.
    pub(crate) fn object(&mut self, described: &'static Described, values: &[Value]) -> Value {
        self.object_with(described, values, Vec::new())
    }

    /// Adds an object with data that its class writes beyond its fields.
    fn object_with(
        &mut self,
        described: &'static Described,
        values: &[Value],
        contents: Vec<Content>,
    ) -> Value {
        let class = self.class(described);
        let mut left = values;
        let mut parts = Vec::new();
        for class in self.graph.line(class) {
            let (fields, rest) = left.split_at(self.graph.class(class).fields.len());
            parts.push(Part { fields: fields.to_vec(), contents: Vec::new() });
            left = rest;
        }
        assert!(left.is_empty(), "{} has fewer fields", described.name);
        parts.last_mut().expect("an object has a class").contents = contents;
        self.add(Object::Instance { class, parts })
    }

    pub(crate) fn text(&mut self, text: impl Into<String>) -> Value {
        self.add(Object::Text(text.into()))
    }

    pub(crate) fn boolean(&mut self, truth: bool) -> Value {
        self.object(&BOOLEAN, &[Value::Boolean(truth)])
    }

    /// Adds a boxed integer.
    pub(crate) fn integer(&mut self, number: i32) -> Value {
        self.object(&INTEGER, &[Value::Int(number)])
    }

    pub(crate) fn option(&mut self, value: Option<Value>) -> Value {
        match value {
            Some(value) => self.object(&SOME, &[value]),
            None => self.singleton(&NONE),
        }
    }

    pub(crate) fn executor_state(&mut self, state: ExecutorState) -> Value {
        self.enumeration_value(&EXECUTOR_STATE, state.number())
    }

    pub(crate) fn driver_state(&mut self, state: DriverState) -> Value {
        self.enumeration_value(&DRIVER_STATE, state.number())
    }

    fn enumeration_value(&mut self, enumeration: &'static Described, number: i32) -> Value {
        let outer = self.singleton(enumeration);
        self.object(&ENUMERATION_VALUE, &[outer, outer, Value::Int(number), Value::Null])
    }

    /// Adds a `java.lang.Exception` with this message and without a stack.
    pub(crate) fn exception(&mut self, message: &str) -> Value {
        let message = self.text(message);
        self.object(&EXCEPTION, &[message])
    }

    pub(crate) fn address(&mut self, address: &Address) -> Value {
        let fields = [Value::Int(i32::from(address.port)), self.text(&address.host)];
        self.object(&RPC_ADDRESS, &fields)
    }

    /// Adds a map of Scala: addresses of custom resources by name.
    pub(crate) fn resources(&mut self, resources: &BTreeMap<String, Vec<String>>) -> Value {
        let mut entries = Vec::new();
        for (name, addresses) in resources {
            let class = self.class(&STRINGS);
            let elements = addresses.iter().map(|address| self.text(address)).collect();
            let fields = [self.add(Object::Array { class, elements }), self.text(name)];
            entries.push((self.text(name), self.object(&RESOURCE_INFORMATION, &fields)));
        }
        self.map(&entries)
    }

    /// Adds a map. For two to four entries, Spark itself uses other classes with the same meaning.
    fn map(&mut self, entries: &[(Value, Value)]) -> Value {
        let block = |count: usize| {
            let count = i32::try_from(count).expect("a message has few entries");
            Content::Block(count.to_be_bytes().to_vec())
        };
        match (entries, self.vocabulary.generation) {
            ([], _) => self.singleton(&EMPTY_MAP),
            ([(key, value)], _) => self.object(&MAP_OF_ONE, &[*key, *value]),
            (_, Generation::Scala2_12) => {
                let flat = entries.iter().flat_map(|(key, value)| [*key, *value]).map(Content::Value);
                let contents = [block(entries.len())].into_iter().chain(flat).collect();
                self.object_with(&HASH_MAP, &[], contents)
            }
            (_, Generation::Scala2_13) => {
                let factory = self.singleton(&HASH_MAP_MODULE);
                let factory = self.object(&MAP_FACTORY, &[factory]);
                let mut contents = vec![block(entries.len())];
                for (key, value) in entries {
                    contents.push(Content::Value(self.object(&PAIR, &[*key, *value])));
                }
                self.object_with(&COLLECTION_PROXY, &[factory], contents)
            }
        }
    }

    /// Adds a class without fields, with this serial version id.
    pub(super) fn bare_class(&mut self, name: &str, serial: i64) -> Value {
        let (name, fields) = (name.to_owned(), Vec::new());
        let class = self.add_class(Class { name, serial, flags: Class::SERIALIZABLE, fields, parent: None });
        self.add(Object::Class(class))
    }

    /// Adds a reference to one of the Master's endpoints, modelled on the peer's reference to itself.
    pub(crate) fn reference(&mut self, peer: &Reference, name: &str, address: &Address) -> Value {
        let copy = self.fragment(&peer.model);
        let url = format!("spark://{name}@{address}");
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

    /// Adds a part of another message.
    pub(crate) fn fragment(&mut self, fragment: &Fragment) -> Value {
        let copy = Copy::new(self, &fragment.graph, u32::MAX).value(fragment.root, 0);
        copy.expect("a fragment is no deeper than when it was made")
    }

    fn field(&self, value: Value, name: &str) -> Value {
        let node = java::Node { graph: &self.graph, value };
        node.field(name).expect("a model has an address").value
    }

    /// Adds an `object` of Scala. Scala 2.13 writes only the name of the object's class. Scala 2.12 writes the object
    /// with its fields. The receiver uses its own object instead, so the fields may be empty.
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
        self.add_class(Class { name, serial, flags: described.flags, fields, parent })
    }

    fn described_field(&mut self, name: &str, kind: &str) -> Field {
        let kind = match kind.as_bytes() {
            [letter] => FieldKind::primitive(*letter).expect("a type of one letter is primitive"),
            [b'[', ..] => FieldKind::Array(self.type_name(kind)),
            _ => FieldKind::Object(self.type_name(kind)),
        };
        Field { name: name.to_owned(), kind }
    }

    pub(super) fn type_name(&mut self, name: &str) -> ObjectId {
        if let Some(id) = self.types.get(name) {
            return *id;
        }
        let id = self.graph.add_object(Object::Text(name.to_owned()));
        self.types.insert(name.to_owned(), id);
        id
    }

    pub(super) fn add_class(&mut self, class: Class) -> ClassId {
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

    /// The graph of all objects that were made.
    pub(super) fn into_graph(self) -> Graph {
        self.graph
    }
}

/// An object's data for one class, with default values in all fields.
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
