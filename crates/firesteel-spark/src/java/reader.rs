//! Reads bytes into a graph, within limits.

use bytes::Buf;
use thiserror::Error;

use super::graph::{
    Class, ClassId, Content, ElementKind, Field, FieldKind, Graph, Object, ObjectId, Part, Value,
};
use super::{FIRST_HANDLE, HEADER, code};

/// Limits for reading a stream. The reader needs at most about 50 bytes of memory per value, and recurses at most
/// `depth` levels deep.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How deeply objects may be nested.
    pub depth: u32,
    /// The number of values of all objects together: fields, elements, custom data, and a fixed amount per class.
    pub values: u32,
    /// The longest chain of superclasses.
    pub line: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { depth: 64, values: 1 << 20, line: 16 }
    }
}

/// Why bytes cannot be read as a stream.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}, at byte {at}")]
pub struct ReadError {
    /// The offset at which reading stopped.
    pub at: usize,
    /// The problem at this offset.
    pub problem: Problem,
}

/// A problem in a stream of Java objects.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// The magic number or the version is wrong.
    #[error("not a stream of Java objects")]
    Header,
    /// The bytes end within the stream.
    #[error("the stream of Java objects ends too early")]
    Truncated,
    /// An item with this code is not allowed at this position.
    #[error("the code 0x{0:02x} cannot be here")]
    Code(u8),
    /// A reference to an item that does not exist, or that is of another kind.
    #[error("the handle 0x{0:08x} does not stand for what is needed")]
    Handle(u32),
    /// A text is not valid modified UTF-8, or has only one half of a surrogate pair.
    #[error("a text is not in modified UTF-8")]
    Text,
    /// The description of a class is not valid.
    #[error("the class {0:?} cannot have objects that are written like this")]
    Class(String),
    /// The stream exceeds [`Bounds::depth`] or [`Bounds::line`].
    #[error("objects or classes are nested too deep")]
    Depth,
    /// The stream exceeds [`Bounds::values`].
    #[error("there are too many values")]
    Values,
}

/// Reads the first object of a stream. Later bytes are ignored: Spark may end a stream with a reset.
///
/// # Errors
///
/// If the bytes are not a stream of Java objects, or exceed the bounds.
pub fn read(bytes: &[u8], bounds: Bounds) -> Result<(Graph, Value), ReadError> {
    let mut reader = Reader {
        bytes,
        bounds,
        values: 0,
        handles: Vec::new(),
        classes: Vec::new(),
        lines: Vec::new(),
        objects: Vec::new(),
    };
    let read = reader.stream();
    let at = bytes.len() - reader.bytes.len();
    let root = read.map_err(|problem| ReadError { at, problem })?;
    let objects = reader.objects.into_iter().map(|object| object.expect("every object was read to its end"));
    Ok((Graph::new(reader.classes, objects.collect()), root))
}

struct Reader<'a> {
    /// The remaining bytes.
    bytes: &'a [u8],
    bounds: Bounds,
    /// The number of values that were read so far.
    values: u32,
    handles: Vec<Handle>,
    classes: Vec<Class>,
    /// The number of classes in each class's chain, including the class itself; `None` until the class's description is
    /// complete.
    lines: Vec<Option<u32>>,
    /// The objects that were read; `None` while an object is being read.
    objects: Vec<Option<Object>>,
}

/// The item that a handle refers to.
#[derive(Clone, Copy)]
enum Handle {
    Class(ClassId),
    Object(ObjectId),
}

type Read<T> = Result<T, Problem>;

impl<'a> Reader<'a> {
    fn stream(&mut self) -> Read<Value> {
        if self.take(HEADER.len())? != HEADER {
            return Err(Problem::Header);
        }
        self.value(0)
    }

    /// Reads null or an object.
    fn value(&mut self, depth: u32) -> Read<Value> {
        let code = self.u8()?;
        self.value_of(code, depth)
    }

    fn value_of(&mut self, code: u8, depth: u32) -> Read<Value> {
        if depth > self.bounds.depth {
            return Err(Problem::Depth);
        }
        self.count(1)?;
        let id = match code {
            code::NULL => return Ok(Value::Null),
            code::REFERENCE => match self.handle()? {
                (_, Handle::Object(id)) => id,
                (number, Handle::Class(_)) => return Err(Problem::Handle(number)),
            },
            code::STRING | code::LONG_STRING => self.text_of(code)?,
            code::OBJECT => self.instance(depth)?,
            code::ARRAY => self.array(depth)?,
            code::CLASS => {
                let class = self.class(depth)?;
                self.object(Object::Class(class))
            }
            code::ENUM => {
                let class = self.class(depth)?;
                let id = self.begin_object();
                let name = self.text()?;
                self.end_object(id, Object::Constant { class, name })
            }
            other => return Err(Problem::Code(other)),
        };
        Ok(Value::Object(id))
    }

    fn instance(&mut self, depth: u32) -> Read<ObjectId> {
        let class = self.class(depth)?;
        let line = self.line(class);
        let wrong = |class: &Class| Problem::Class(class.name.clone());
        self.count(u32::try_from(line.len()).unwrap_or(u32::MAX))?;
        let id = self.begin_object();
        let mut parts = Vec::with_capacity(line.len());
        for class in line {
            let class = &self.classes[class.index()];
            let how = class.flags & (Class::SERIALIZABLE | Class::EXTERNALIZABLE | Class::IN_BLOCKS);
            if how != Class::SERIALIZABLE && how != Class::EXTERNALIZABLE | Class::IN_BLOCKS {
                return Err(wrong(class));
            }
            let has_contents = class.has_contents();
            let kinds: Vec<FieldKind> = match class.has_field_values() {
                true => class.fields.iter().map(|field| field.kind).collect(),
                false => Vec::new(),
            };
            let mut part = Part::default();
            for kind in kinds {
                part.fields.push(match kind {
                    FieldKind::Object(_) | FieldKind::Array(_) => self.value(depth + 1)?,
                    kind => self.primitive(kind)?,
                });
            }
            if has_contents {
                part.contents = self.contents(depth)?;
            }
            parts.push(part);
        }
        Ok(self.end_object(id, Object::Instance { class, parts }))
    }

    fn contents(&mut self, depth: u32) -> Read<Vec<Content>> {
        let mut contents = Vec::new();
        loop {
            contents.push(match self.u8()? {
                code::END_OF_CONTENTS => return Ok(contents),
                code::BLOCK => {
                    let length = usize::from(self.u8()?);
                    self.block(length)?
                }
                code::LONG_BLOCK => {
                    let length = self.length()?;
                    self.block(length)?
                }
                code => Content::Value(self.value_of(code, depth + 1)?),
            });
        }
    }

    fn block(&mut self, length: usize) -> Read<Content> {
        self.count(1)?;
        Ok(Content::Block(self.take(length)?.to_vec()))
    }

    fn array(&mut self, depth: u32) -> Read<ObjectId> {
        let class = self.class(depth)?;
        let described = &self.classes[class.index()];
        let kind = described.element_kind().ok_or_else(|| Problem::Class(described.name.clone()))?;
        let id = self.begin_object();
        let length = self.length()?;
        let mut elements = Vec::new();
        for _ in 0..length {
            elements.push(match kind {
                ElementKind::Object => self.value(depth + 1)?,
                ElementKind::Primitive(kind) => self.primitive(kind)?,
            });
        }
        Ok(self.end_object(id, Object::Array { class, elements }))
    }

    /// Reads the class of an object: the class's description, or the handle of a complete description.
    fn class(&mut self, depth: u32) -> Read<ClassId> {
        match self.u8()? {
            code::CLASS_DESCRIPTOR => self.described_class(depth),
            code::REFERENCE => match self.handle()? {
                (_, Handle::Class(class)) if self.lines[class.index()].is_some() => Ok(class),
                (number, _) => Err(Problem::Handle(number)),
            },
            other => Err(Problem::Code(other)),
        }
    }

    fn described_class(&mut self, depth: u32) -> Read<ClassId> {
        if depth > self.bounds.depth {
            return Err(Problem::Depth);
        }
        let name = self.name()?;
        let serial = self.i64()?;
        self.classes.push(Class { name, serial, flags: 0, fields: Vec::new(), parent: None });
        self.lines.push(None);
        let id = ClassId::last_of(self.classes.len());
        self.handles.push(Handle::Class(id));
        let flags = self.u8()?;
        let fields = self.u16()?;
        self.count(u32::from(fields) + 1)?;
        let fields = (0..fields).map(|_| self.field()).collect::<Read<_>>()?;
        // Annotations of a class loader in a description do not concern objects.
        self.contents(depth)?;
        let parent = self.parent(depth)?;
        let above = parent.map_or(Some(0), |parent| self.lines[parent.index()]);
        let line = above.expect("a class is described to its end before it is a parent") + 1;
        if line > self.bounds.line {
            return Err(Problem::Depth);
        }
        self.lines[id.index()] = Some(line);
        let class = &mut self.classes[id.index()];
        (class.flags, class.fields, class.parent) = (flags, fields, parent);
        Ok(id)
    }

    fn parent(&mut self, depth: u32) -> Read<Option<ClassId>> {
        if self.bytes.first() == Some(&code::NULL) {
            self.u8()?;
            return Ok(None);
        }
        self.class(depth + 1).map(Some)
    }

    fn field(&mut self) -> Read<Field> {
        let letter = self.u8()?;
        let name = self.name()?;
        let kind = match letter {
            b'L' => FieldKind::Object(self.text()?),
            b'[' => FieldKind::Array(self.text()?),
            letter => FieldKind::primitive(letter).ok_or(Problem::Code(letter))?,
        };
        Ok(Field { name, kind })
    }

    /// The superclasses of this class, from the topmost down to the class itself.
    fn line(&self, class: ClassId) -> Vec<ClassId> {
        let above = |class: &ClassId| self.classes[class.index()].parent;
        let mut line: Vec<ClassId> = std::iter::successors(Some(class), above).collect();
        line.reverse();
        line
    }

    fn primitive(&mut self, kind: FieldKind) -> Read<Value> {
        self.count(1)?;
        let bytes = &mut self.bytes;
        let value = match kind {
            FieldKind::Byte => bytes.try_get_i8().map(Value::Byte),
            FieldKind::Char => bytes.try_get_u16().map(Value::Char),
            FieldKind::Double => bytes.try_get_f64().map(Value::Double),
            FieldKind::Float => bytes.try_get_f32().map(Value::Float),
            FieldKind::Int => bytes.try_get_i32().map(Value::Int),
            FieldKind::Long => bytes.try_get_i64().map(Value::Long),
            FieldKind::Short => bytes.try_get_i16().map(Value::Short),
            FieldKind::Boolean => bytes.try_get_u8().map(|byte| Value::Boolean(byte != 0)),
            FieldKind::Object(_) | FieldKind::Array(_) => return self.value(0),
        };
        value.map_err(|_| Problem::Truncated)
    }

    /// Reads a string, or a reference to an earlier string.
    fn text(&mut self) -> Read<ObjectId> {
        match self.u8()? {
            code @ (code::STRING | code::LONG_STRING) => self.text_of(code),
            code::REFERENCE => match self.handle()? {
                (_, Handle::Object(id)) if matches!(self.objects[id.index()], Some(Object::Text(_))) => {
                    Ok(id)
                }
                (number, _) => Err(Problem::Handle(number)),
            },
            other => Err(Problem::Code(other)),
        }
    }

    fn text_of(&mut self, code: u8) -> Read<ObjectId> {
        let length = match code {
            code::STRING => usize::from(self.u16()?),
            _ => usize::try_from(self.i64()?).map_err(|_| Problem::Truncated)?,
        };
        let text = self.utf(length)?;
        Ok(self.object(Object::Text(text)))
    }

    fn name(&mut self) -> Read<String> {
        let length = usize::from(self.u16()?);
        self.utf(length)
    }

    fn utf(&mut self, length: usize) -> Read<String> {
        let bytes = self.take(length)?;
        let text = cesu8::from_java_cesu8(bytes).map_err(|_| Problem::Text)?;
        Ok(text.into_owned())
    }

    fn object(&mut self, object: Object) -> ObjectId {
        let id = self.begin_object();
        self.end_object(id, object)
    }

    /// Gives the next object its number and its handle, before its contents are read. The contents may refer to the
    /// object itself.
    fn begin_object(&mut self) -> ObjectId {
        self.objects.push(None);
        let id = ObjectId::last_of(self.objects.len());
        self.handles.push(Handle::Object(id));
        id
    }

    fn end_object(&mut self, id: ObjectId, object: Object) -> ObjectId {
        self.objects[id.index()] = Some(object);
        id
    }

    fn handle(&mut self) -> Read<(u32, Handle)> {
        let number = self.bytes.try_get_u32().map_err(|_| Problem::Truncated)?;
        let index = number.checked_sub(FIRST_HANDLE).map(|index| index as usize);
        let handle = index.and_then(|index| self.handles.get(index)).ok_or(Problem::Handle(number))?;
        Ok((number, *handle))
    }

    fn count(&mut self, values: u32) -> Read<()> {
        self.values = self.values.saturating_add(values);
        if self.values > self.bounds.values { Err(Problem::Values) } else { Ok(()) }
    }

    fn take(&mut self, length: usize) -> Read<&'a [u8]> {
        let (taken, left) = self.bytes.split_at_checked(length).ok_or(Problem::Truncated)?;
        self.bytes = left;
        Ok(taken)
    }

    fn length(&mut self) -> Read<usize> {
        let length = self.bytes.try_get_i32().map_err(|_| Problem::Truncated)?;
        usize::try_from(length).map_err(|_| Problem::Truncated)
    }

    fn u8(&mut self) -> Read<u8> {
        self.bytes.try_get_u8().map_err(|_| Problem::Truncated)
    }

    fn u16(&mut self) -> Read<u16> {
        self.bytes.try_get_u16().map_err(|_| Problem::Truncated)
    }

    fn i64(&mut self) -> Read<i64> {
        self.bytes.try_get_i64().map_err(|_| Problem::Truncated)
    }
}
