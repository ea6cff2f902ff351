//! Copies a part of one graph into another.

use std::collections::BTreeMap;

use super::Composer;
use crate::java::{Bounds, Class, ClassId, Content, Field, FieldKind, Graph, Object, ObjectId, Part, Value};

/// A copy in progress. An object with several references is copied once.
pub(super) struct Copy<'a, 'b> {
    to: &'a mut Composer<'b>,
    from: &'a Graph,
    /// The copies that were made so far, by the original objects.
    objects: BTreeMap<ObjectId, ObjectId>,
    /// The number of values that may still be copied.
    left: u32,
}

impl<'a, 'b> Copy<'a, 'b> {
    /// A copy of at most `most` values, including classes and their fields.
    pub(super) fn new(to: &'a mut Composer<'b>, from: &'a Graph, most: u32) -> Self {
        Self { to, from, objects: BTreeMap::new(), left: most }
    }

    /// Copies a value, with everything that the value refers to. `None` if there are too many values, or if they are
    /// nested too deeply. A copy may be nested more deeply than the original stream was.
    pub(super) fn value(&mut self, value: Value, depth: u32) -> Option<Value> {
        self.count(1)?;
        match value {
            Value::Object(id) => self.object(id, depth).map(Value::Object),
            plain => Some(plain),
        }
    }

    fn object(&mut self, id: ObjectId, depth: u32) -> Option<ObjectId> {
        if let Some(copy) = self.objects.get(&id) {
            return Some(*copy);
        }
        if depth > Bounds::default().depth {
            return None;
        }
        // The copy gets its number first, since the objects that it refers to may refer back.
        let copy = self.to.graph.add_object(Object::Text(String::new()));
        self.objects.insert(id, copy);
        let object = match self.from.object(id) {
            Object::Text(text) => Object::Text(text.clone()),
            Object::Class(class) => Object::Class(self.class(*class)?),
            Object::Constant { class, name } => {
                Object::Constant { class: self.class(*class)?, name: self.object(*name, depth + 1)? }
            }
            Object::Array { class, elements } => {
                Object::Array { class: self.class(*class)?, elements: self.values(elements, depth)? }
            }
            Object::Instance { class, parts } => {
                let class = self.class(*class)?;
                let parts = parts.iter().map(|part| self.part(part, depth)).collect::<Option<_>>()?;
                Object::Instance { class, parts }
            }
        };
        self.to.graph.set_object(copy, object);
        Some(copy)
    }

    fn values(&mut self, values: &[Value], depth: u32) -> Option<Vec<Value>> {
        values.iter().map(|value| self.value(*value, depth + 1)).collect()
    }

    fn part(&mut self, part: &Part, depth: u32) -> Option<Part> {
        let fields = self.values(&part.fields, depth)?;
        let mut contents = Vec::new();
        for content in &part.contents {
            contents.push(match content {
                Content::Block(bytes) => Content::Block(bytes.clone()),
                Content::Value(value) => Content::Value(self.value(*value, depth + 1)?),
            });
        }
        Some(Part { fields, contents })
    }

    fn class(&mut self, id: ClassId) -> Option<ClassId> {
        let class = self.from.class(id);
        self.count(1 + u32::try_from(class.fields.len()).ok()?)?;
        let parent = match class.parent {
            Some(parent) => Some(self.class(parent)?),
            None => None,
        };
        let fields = class.fields.iter().map(|field| self.field(field)).collect();
        Some(self.to.add_class(Class { fields, parent, ..class.clone() }))
    }

    fn field(&mut self, field: &Field) -> Field {
        let kind = match field.kind {
            FieldKind::Object(name) => FieldKind::Object(self.type_name(name)),
            FieldKind::Array(name) => FieldKind::Array(self.type_name(name)),
            primitive => primitive,
        };
        Field { name: field.name.clone(), kind }
    }

    fn type_name(&mut self, name: ObjectId) -> ObjectId {
        let Object::Text(name) = self.from.object(name) else { unreachable!("the name of a type is a text") };
        self.to.type_name(name)
    }

    fn count(&mut self, values: u32) -> Option<()> {
        self.left = self.left.checked_sub(values)?;
        Some(())
    }
}
