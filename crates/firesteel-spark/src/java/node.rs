//! A view of one value of a graph.

use super::graph::{Content, Graph, Object, Value};

/// A value with its graph. Fields are found by name, never by position, because other versions of a class may have
/// other fields.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// The graph of the value.
    pub graph: &'a Graph,
    /// The value itself.
    pub value: Value,
}

impl<'a> Node<'a> {
    /// The object that the value is; `None` for null and primitive values.
    pub fn object(self) -> Option<&'a Object> {
        match self.value {
            Value::Object(id) => Some(self.graph.object(id)),
            _ => None,
        }
    }

    /// The full name of the object's class. For a `java.lang.Class`, the name of the class that it represents.
    pub fn class_name(self) -> Option<&'a str> {
        match self.object()? {
            Object::Text(_) => Some("java.lang.String"),
            Object::Instance { class, .. }
            | Object::Array { class, .. }
            | Object::Class(class)
            | Object::Constant { class, .. } => Some(&self.graph.class(*class).name),
        }
    }

    /// The value of the object's field with this name. If several of the object's classes have such a field, the lowest
    /// class counts.
    pub fn field(self, name: &str) -> Option<Self> {
        self.find_field(|field| field == name)
    }

    /// The value of the first field whose name `accept` accepts. Fields of lower classes come first.
    pub fn find_field(self, accept: impl Fn(&str) -> bool) -> Option<Self> {
        let Object::Instance { class, parts } = self.object()? else { return None };
        let line = self.graph.line(*class);
        line.iter().zip(parts).rev().find_map(|(class, part)| {
            let fields = self.graph.class(*class).fields.iter().zip(&part.fields);
            let mut found = fields.filter(|(field, _)| accept(&field.name));
            found.next().map(|(_, value)| self.at(*value))
        })
    }

    /// The custom data of the object's classes, from the topmost class to the object's own class.
    pub fn contents(self) -> impl Iterator<Item = &'a Content> {
        let parts = match self.object() {
            Some(Object::Instance { parts, .. }) => parts.as_slice(),
            _ => &[],
        };
        parts.iter().flat_map(|part| &part.contents)
    }

    /// The elements of the array; `None` if the value is not an array.
    pub fn elements(self) -> Option<impl Iterator<Item = Self>> {
        match self.object()? {
            Object::Array { elements, .. } => Some(elements.iter().map(move |value| self.at(*value))),
            _ => None,
        }
    }

    /// Whether the value is Java's `null`.
    pub fn is_null(self) -> bool {
        self.value == Value::Null
    }

    /// The string; `None` if the value is not a string.
    pub fn text(self) -> Option<&'a str> {
        match self.object()? {
            Object::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The `int`; `None` if the value is not an `int`.
    pub fn int(self) -> Option<i32> {
        match self.value {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    /// The `boolean`; `None` if the value is not a `boolean`.
    pub fn boolean(self) -> Option<bool> {
        match self.value {
            Value::Boolean(truth) => Some(truth),
            _ => None,
        }
    }

    /// The `long`; `None` if the value is not a `long`.
    pub fn long(self) -> Option<i64> {
        match self.value {
            Value::Long(number) => Some(number),
            _ => None,
        }
    }

    /// A view of another value of the same graph.
    pub fn at(self, value: Value) -> Self {
        Self { value, ..self }
    }
}
