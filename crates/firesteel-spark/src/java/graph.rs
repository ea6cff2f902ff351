//! Classes and objects of a stream, and how they refer to each other.

/// The objects of a stream, with the classes that it describes. Objects refer to each other by number, in circles too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    classes: Vec<Class>,
    objects: Vec<Object>,
}

/// The number of a class in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassId(u32);

/// The number of an object in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectId(u32);

/// A class as a stream describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Its full name, as in `java.lang.Integer` or `[I`.
    pub name: String,
    /// Its `serialVersionUID`. The JVM refuses a stream whose number differs from that of its own class.
    pub serial: i64,
    /// How its objects are written: a sum of the constants here.
    pub flags: u8,
    /// The fields in the order in which objects have them.
    pub fields: Vec<Field>,
    /// The nearest class above it that can be serialized.
    pub parent: Option<ClassId>,
}

/// A field of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in the class.
    pub name: String,
    /// The type of its values.
    pub kind: FieldKind,
}

/// The type of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// `byte`.
    Byte,
    /// `char`.
    Char,
    /// `double`.
    Double,
    /// `float`.
    Float,
    /// `int`.
    Int,
    /// `long`.
    Long,
    /// `short`.
    Short,
    /// `boolean`.
    Boolean,
    /// An object. The text with this number names its type, as in `Ljava/lang/String;`.
    Object(ObjectId),
    /// An array. The text with this number names its type, as in `[I`.
    Array(ObjectId),
}

/// What a field, an element of an array or a stream holds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is the Java type of that name")]
pub enum Value {
    Null,
    Byte(i8),
    Char(u16),
    Double(f64),
    Float(f32),
    Int(i32),
    Long(i64),
    Short(i16),
    Boolean(bool),
    Object(ObjectId),
}

/// An object of a graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A `java.lang.String`.
    Text(String),
    /// An object of a class.
    Instance {
        /// Its class.
        class: ClassId,
        /// What it has of each class, from the topmost to its own: one entry for each class of [`Graph::line`].
        parts: Vec<Part>,
    },
    /// An array.
    Array {
        /// Its class. The name begins with `[`.
        class: ClassId,
        /// Its elements, all of the type that the class's name says.
        elements: Vec<Value>,
    },
    /// A `java.lang.Class`.
    Class(ClassId),
    /// A constant of a Java enumeration.
    Constant {
        /// The enumeration.
        class: ClassId,
        /// The text that is the constant's name.
        name: ObjectId,
    },
}

/// What an object has of one of its classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// The values of the class's fields, one for each, in the same order. Empty if the class does not write its fields.
    pub fields: Vec<Value>,
    /// What the class wrote by itself, if it has [`Class::WRITES`].
    pub contents: Vec<Content>,
}

/// A piece of what a class wrote by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Bytes, as they were written.
    Block(Vec<u8>),
    /// An object, or null.
    Value(Value),
}

impl Class {
    /// The class writes something by itself, after its fields.
    pub const WRITES: u8 = 1;
    /// The class can be serialized field by field.
    pub const SERIALIZABLE: u8 = 2;
    /// The class writes everything by itself.
    pub const EXTERNALIZABLE: u8 = 4;
    /// What an externalizable class writes is in blocks, so that its end can be found.
    pub const IN_BLOCKS: u8 = 8;
    /// The class is a Java enumeration.
    pub const ENUM: u8 = 0x10;

    /// Whether objects have the values of its fields. A class that writes by itself can leave them out, which its
    /// description does not tell.
    pub(super) fn has_field_values(&self) -> bool {
        const LIST_BUFFER_OF_SCALA_2_12: (&str, i64) =
            ("scala.collection.mutable.ListBuffer", 3_419_063_961_353_022_662);
        self.flags & Self::EXTERNALIZABLE == 0
            && (self.name.as_str(), self.serial) != LIST_BUFFER_OF_SCALA_2_12
    }

    /// Whether objects have contents of this class.
    pub(super) fn has_contents(&self) -> bool {
        self.flags & (Self::WRITES | Self::EXTERNALIZABLE) != 0
    }

    /// The type of an array's elements. `None` if this is no class of arrays.
    pub(super) fn element_kind(&self) -> Option<ElementKind> {
        let kind = match self.name.as_bytes() {
            [b'[', b'L' | b'[', ..] => ElementKind::Object,
            [b'[', letter] => ElementKind::Primitive(FieldKind::primitive(*letter)?),
            _ => return None,
        };
        Some(kind)
    }
}

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementKind {
    Primitive(FieldKind),
    Object,
}

impl FieldKind {
    /// The primitive type with that letter.
    pub(crate) fn primitive(letter: u8) -> Option<Self> {
        let kind = match letter {
            b'B' => Self::Byte,
            b'C' => Self::Char,
            b'D' => Self::Double,
            b'F' => Self::Float,
            b'I' => Self::Int,
            b'J' => Self::Long,
            b'S' => Self::Short,
            b'Z' => Self::Boolean,
            _ => return None,
        };
        Some(kind)
    }

    /// The letter that stands for the type in a description.
    pub(super) fn letter(self) -> u8 {
        match self {
            Self::Byte => b'B',
            Self::Char => b'C',
            Self::Double => b'D',
            Self::Float => b'F',
            Self::Int => b'I',
            Self::Long => b'J',
            Self::Short => b'S',
            Self::Boolean => b'Z',
            Self::Object(_) => b'L',
            Self::Array(_) => b'[',
        }
    }
}

impl Graph {
    /// A graph of these classes and objects, which refer to each other by their places here.
    pub(super) fn new(classes: Vec<Class>, objects: Vec<Object>) -> Self {
        Self { classes, objects }
    }

    /// Adds a class. Its parent and the texts of its fields are in the graph already.
    pub fn add_class(&mut self, class: Class) -> ClassId {
        self.classes.push(class);
        ClassId::last_of(self.classes.len())
    }

    /// Adds an object. What it refers to is in the graph already, or follows.
    pub fn add_object(&mut self, object: Object) -> ObjectId {
        self.objects.push(object);
        ObjectId::last_of(self.objects.len())
    }

    /// The number that the next object will have: objects that refer to each other in a circle need it.
    pub fn next_object(&self) -> ObjectId {
        ObjectId::last_of(self.objects.len() + 1)
    }

    /// The class with that number.
    ///
    /// # Panics
    ///
    /// If the number is another graph's.
    pub fn class(&self, id: ClassId) -> &Class {
        &self.classes[id.index()]
    }

    /// The object with that number.
    ///
    /// # Panics
    ///
    /// If the number is another graph's.
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.objects[id.index()]
    }

    /// The classes of an object of that class, from the topmost to its own.
    pub fn line(&self, id: ClassId) -> Vec<ClassId> {
        let mut line = vec![id];
        let mut above = self.class(id).parent;
        while let Some(parent) = above {
            line.push(parent);
            above = self.class(parent).parent;
        }
        line.reverse();
        line
    }

    /// Puts another object in the place of one that is in the graph.
    pub fn set_object(&mut self, id: ObjectId, object: Object) {
        self.objects[id.index()] = object;
    }

    /// The class with that name, if the graph has one.
    pub fn find_class(&self, name: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.name == name)
    }

    /// Replaces the value of a field of an object, in the lowest class that has one of that name. Returns whether there
    /// is one.
    pub fn set_field(&mut self, id: ObjectId, name: &str, value: Value) -> bool {
        let Object::Instance { class, .. } = self.object(id) else { return false };
        let place = |class: &ClassId| self.class(*class).fields.iter().position(|field| field.name == name);
        let line = self.line(*class);
        let Some((part, field)) =
            line.iter().map(place).enumerate().rev().find_map(|(part, at)| Some((part, at?)))
        else {
            return false;
        };
        let Object::Instance { parts, .. } = &mut self.objects[id.index()] else { return false };
        let slot = parts.get_mut(part).and_then(|part| part.fields.get_mut(field));
        slot.map(|slot| *slot = value).is_some()
    }

    /// The number of classes.
    pub(super) fn classes(&self) -> usize {
        self.classes.len()
    }

    /// The number of objects.
    pub(super) fn objects(&self) -> usize {
        self.objects.len()
    }
}

impl ClassId {
    pub(super) fn last_of(count: usize) -> Self {
        Self(u32::try_from(count - 1).expect("a graph has fewer than four billion classes"))
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl ObjectId {
    pub(super) fn last_of(count: usize) -> Self {
        Self(u32::try_from(count - 1).expect("a graph has fewer than four billion objects"))
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}
