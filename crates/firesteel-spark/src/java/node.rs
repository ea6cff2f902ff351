//! A look at one value of a graph.

use super::graph::{Content, Graph, Object, Value};

/// A value with the graph that it belongs to. Fields are found by name, never by place: a class may have others in
/// another version.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// A value of it.
    pub value: Value,
}

impl<'a> Node<'a> {
    /// The object, unless the value is null or primitive.
    pub fn object(self) -> Option<&'a Object> {
        match self.value {
            Value::Object(id) => Some(self.graph.object(id)),
            _ => None,
        }
    }

    /// The full name of the object's class. A `java.lang.Class` has that of the class that it stands for.
    pub fn class_name(self) -> Option<&'a str> {
        match self.object()? {
            Object::Text(_) => Some("java.lang.String"),
            Object::Instance { class, .. }
            | Object::Array { class, .. }
            | Object::Class(class)
            | Object::Constant { class, .. } => Some(&self.graph.class(*class).name),
        }
    }

    /// The value of a field of the object. If several of its classes have a field of that name, the lowest one's.
    pub fn field(self, name: &str) -> Option<Self> {
        self.find_field(|field| field == name)
    }

    /// The value of the first field whose name is accepted; fields of lower classes come first.
    pub fn find_field(self, accept: impl Fn(&str) -> bool) -> Option<Self> {
        let Object::Instance { class, parts } = self.object()? else { return None };
        let line = self.graph.line(*class);
        line.iter().zip(parts).rev().find_map(|(class, part)| {
            let fields = self.graph.class(*class).fields.iter().zip(&part.fields);
            let mut found = fields.filter(|(field, _)| accept(&field.name));
            found.next().map(|(_, value)| self.at(*value))
        })
    }

    /// What the object's classes wrote by themselves, from the topmost class to its own.
    pub fn contents(self) -> impl Iterator<Item = &'a Content> {
        let parts = match self.object() {
            Some(Object::Instance { parts, .. }) => parts.as_slice(),
            _ => &[],
        };
        parts.iter().flat_map(|part| &part.contents)
    }

    /// The array's elements.
    pub fn elements(self) -> Option<impl Iterator<Item = Self>> {
        match self.object()? {
            Object::Array { elements, .. } => Some(elements.iter().map(move |value| self.at(*value))),
            _ => None,
        }
    }

    /// Whether the value is null.
    pub fn is_null(self) -> bool {
        self.value == Value::Null
    }

    /// The string.
    pub fn text(self) -> Option<&'a str> {
        match self.object()? {
            Object::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The `int`.
    pub fn int(self) -> Option<i32> {
        match self.value {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    /// The `boolean`.
    pub fn boolean(self) -> Option<bool> {
        match self.value {
            Value::Boolean(truth) => Some(truth),
            _ => None,
        }
    }

    /// The `long`.
    pub fn long(self) -> Option<i64> {
        match self.value {
            Value::Long(number) => Some(number),
            _ => None,
        }
    }

    /// Another value of the same graph.
    pub fn at(self, value: Value) -> Self {
        Self { value, ..self }
    }
}
