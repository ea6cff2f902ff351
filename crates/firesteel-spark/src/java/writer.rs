//! Writes a graph as bytes, in the same way as the JVM.

use bytes::BufMut;

use super::graph::{Class, ClassId, Content, ElementKind, FieldKind, Graph, Object, ObjectId, Value};
use super::{FIRST_HANDLE, HEADER, code};

/// Writes one value and everything that the value refers to. Each class and each object is written once, at its first
/// occurrence; later occurrences are written as handles.
///
/// # Panics
///
/// If the graph is not valid: a part lacks a field's value, or the type of a value differs from the type of its field
/// or array.
pub fn write(graph: &Graph, root: Value) -> Vec<u8> {
    let mut writer = Writer {
        graph,
        out: HEADER.to_vec(),
        next_handle: FIRST_HANDLE,
        classes: vec![None; graph.classes()],
        objects: vec![None; graph.objects()],
    };
    writer.reference(root);
    writer.out
}

struct Writer<'a> {
    graph: &'a Graph,
    out: Vec<u8>,
    next_handle: u32,
    /// The handle of each written class.
    classes: Vec<Option<u32>>,
    /// The handle of each written object.
    objects: Vec<Option<u32>>,
}

impl Writer<'_> {
    /// Writes a value, which is null or an object.
    fn reference(&mut self, value: Value) {
        match value {
            Value::Null => self.out.put_u8(code::NULL),
            Value::Object(id) => self.object(id),
            other => panic!("{other:?} stands where only an object can"),
        }
    }

    fn object(&mut self, id: ObjectId) {
        if let Some(handle) = self.objects[id.index()] {
            return self.handle(handle);
        }
        let graph = self.graph;
        match graph.object(id) {
            Object::Text(text) => {
                self.objects[id.index()] = Some(self.take_handle());
                self.text(text);
            }
            Object::Instance { class, parts } => {
                self.begin(code::OBJECT, *class, id);
                let line = graph.line(*class);
                assert_eq!(line.len(), parts.len(), "a part for each class of {}", graph.class(*class).name);
                for (class, part) in line.into_iter().zip(parts) {
                    self.part(graph.class(class), &part.fields, &part.contents);
                }
            }
            Object::Array { class, elements } => {
                self.begin(code::ARRAY, *class, id);
                self.out
                    .put_i32(i32::try_from(elements.len()).expect("an array of Java's has an int as length"));
                let kind = graph.class(*class).element_kind().expect("an array has a class of arrays");
                for element in elements {
                    match kind {
                        ElementKind::Object => self.reference(*element),
                        ElementKind::Primitive(kind) => self.primitive(kind, *element),
                    }
                }
            }
            Object::Class(class) => self.begin(code::CLASS, *class, id),
            Object::Constant { class, name } => {
                self.begin(code::ENUM, *class, id);
                self.object(*name);
            }
        }
    }

    /// Writes the beginning of an object: its code, and its class. Gives the object its handle.
    fn begin(&mut self, code: u8, class: ClassId, id: ObjectId) {
        self.out.put_u8(code);
        self.class(class);
        self.objects[id.index()] = Some(self.take_handle());
    }

    fn part(&mut self, class: &Class, fields: &[Value], contents: &[Content]) {
        if class.has_field_values() {
            assert_eq!(class.fields.len(), fields.len(), "a value for each field of {}", class.name);
            for (field, value) in class.fields.iter().zip(fields) {
                match field.kind {
                    FieldKind::Object(_) | FieldKind::Array(_) => self.reference(*value),
                    kind => self.primitive(kind, *value),
                }
            }
        }
        if class.has_contents() {
            for content in contents {
                match content {
                    Content::Block(bytes) => self.block(bytes),
                    Content::Value(value) => self.reference(*value),
                }
            }
            self.out.put_u8(code::END_OF_CONTENTS);
        }
    }

    fn block(&mut self, bytes: &[u8]) {
        match u8::try_from(bytes.len()) {
            Ok(length) => {
                self.out.put_u8(code::BLOCK);
                self.out.put_u8(length);
            }
            Err(_) => {
                self.out.put_u8(code::LONG_BLOCK);
                self.out.put_i32(i32::try_from(bytes.len()).expect("a block is shorter than two GiB"));
            }
        }
        self.out.put_slice(bytes);
    }

    fn class(&mut self, id: ClassId) {
        if let Some(handle) = self.classes[id.index()] {
            return self.handle(handle);
        }
        let class = self.graph.class(id);
        self.out.put_u8(code::CLASS_DESCRIPTOR);
        self.name(&class.name);
        self.out.put_i64(class.serial);
        self.classes[id.index()] = Some(self.take_handle());
        self.out.put_u8(class.flags);
        self.out.put_u16(u16::try_from(class.fields.len()).expect("a class of Java's has fewer fields"));
        for field in &class.fields {
            self.out.put_u8(field.kind.letter());
            self.name(&field.name);
            if let FieldKind::Object(kind) | FieldKind::Array(kind) = field.kind {
                self.object(kind);
            }
        }
        self.out.put_u8(code::END_OF_CONTENTS);
        match class.parent {
            Some(parent) => self.class(parent),
            None => self.out.put_u8(code::NULL),
        }
    }

    fn primitive(&mut self, kind: FieldKind, value: Value) {
        match (kind, value) {
            (FieldKind::Byte, Value::Byte(number)) => self.out.put_i8(number),
            (FieldKind::Char, Value::Char(unit)) => self.out.put_u16(unit),
            (FieldKind::Double, Value::Double(number)) => self.out.put_f64(number),
            (FieldKind::Float, Value::Float(number)) => self.out.put_f32(number),
            (FieldKind::Int, Value::Int(number)) => self.out.put_i32(number),
            (FieldKind::Long, Value::Long(number)) => self.out.put_i64(number),
            (FieldKind::Short, Value::Short(number)) => self.out.put_i16(number),
            (FieldKind::Boolean, Value::Boolean(truth)) => self.out.put_u8(u8::from(truth)),
            (kind, value) => panic!("{value:?} stands where a {kind:?} has to"),
        }
    }

    fn text(&mut self, text: &str) {
        let bytes = cesu8::to_java_cesu8(text);
        match u16::try_from(bytes.len()) {
            Ok(length) => {
                self.out.put_u8(code::STRING);
                self.out.put_u16(length);
            }
            Err(_) => {
                self.out.put_u8(code::LONG_STRING);
                self.out.put_u64(bytes.len() as u64);
            }
        }
        self.out.put_slice(&bytes);
    }

    fn name(&mut self, name: &str) {
        let bytes = cesu8::to_java_cesu8(name);
        self.out.put_u16(u16::try_from(bytes.len()).expect("a name of Java's is shorter than 64 KiB"));
        self.out.put_slice(&bytes);
    }

    fn handle(&mut self, handle: u32) {
        self.out.put_u8(code::REFERENCE);
        self.out.put_u32(handle);
    }

    fn take_handle(&mut self) -> u32 {
        self.next_handle += 1;
        self.next_handle - 1
    }
}
