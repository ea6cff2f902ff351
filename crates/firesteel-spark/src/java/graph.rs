//! Classes and objects of a stream, and their references to each other.

/// The objects of a stream, and the classes that the stream describes. Objects refer to each other by number, possibly
/// in cycles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    classes: Vec<Class>,
    objects: Vec<Object>,
}

/// The number of a class in its graph. In other graphs, the number is meaningless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassId(u32);

/// The number of an object in its graph. In other graphs, the number is meaningless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectId(u32);

/// A class as a stream describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// The full name of the class, as in `java.lang.Integer` or `[I`.
    pub name: String,
    /// The class's `serialVersionUID`. The JVM refuses a stream if this number differs from the number of its own
    /// class.
    pub serial: i64,
    /// How objects of the class are written: a sum of the constants below.
    pub flags: u8,
    /// The fields, in the order in which objects have them.
    pub fields: Vec<Field>,
    /// The nearest serializable superclass.
    pub parent: Option<ClassId>,
}

/// A field of a class, by name and type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name of the field in Java's source.
    pub name: String,
    /// The type of the field's values.
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
    /// An object. The text object with this number is its type, such as `Ljava/lang/String;`.
    Object(ObjectId),
    /// An array. The text object with this number is its type, such as `[I`.
    Array(ObjectId),
}

/// A value of a field, of an array's element, or of a whole stream.
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

/// An object of a graph, by its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A `java.lang.String`.
    Text(String),
    /// An object of an ordinary class.
    Instance {
        /// The object's own class.
        class: ClassId,
        /// The object's data for each class, from the topmost superclass to its own class: one entry per class of
        /// [`Graph::line`].
        parts: Vec<Part>,
    },
    /// A Java array.
    Array {
        /// The array's class, whose name begins with `[`.
        class: ClassId,
        /// The elements, all of the type in the class's name.
        elements: Vec<Value>,
    },
    /// A `java.lang.Class`.
    Class(ClassId),
    /// A constant of a Java enumeration.
    Constant {
        /// The class of the enumeration.
        class: ClassId,
        /// The text object with the constant's name.
        name: ObjectId,
    },
}

/// The data of an object for one of its classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// The values of the class's fields, in the order of the fields. Empty if the class does not write its fields.
    pub fields: Vec<Value>,
    /// The class's custom data, if it has [`Class::WRITES`].
    pub contents: Vec<Content>,
}

/// A piece of the custom data that a class wrote.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Bytes, unchanged.
    Block(Vec<u8>),
    /// An object, or null.
    Value(Value),
}

impl Class {
    /// The class writes custom data after its fields (`SC_WRITE_METHOD`).
    pub const WRITES: u8 = 1;
    /// The class is serialized field by field (`SC_SERIALIZABLE`).
    pub const SERIALIZABLE: u8 = 2;
    /// The class writes everything itself (`SC_EXTERNALIZABLE`).
    pub const EXTERNALIZABLE: u8 = 4;
    /// An externalizable class writes blocks, so that the end of its data can be found (`SC_BLOCK_DATA`).
    pub const IN_BLOCKS: u8 = 8;
    /// The class is a Java enumeration (`SC_ENUM`).
    pub const ENUM: u8 = 0x10;

    /// Whether objects have values for the fields of this class. A class with custom data can leave these values out,
    /// although its description lists the fields.
    pub(super) fn has_field_values(&self) -> bool {
        const LIST_BUFFER_OF_SCALA_2_12: (&str, i64) =
            ("scala.collection.mutable.ListBuffer", 3_419_063_961_353_022_662);
        self.flags & Self::EXTERNALIZABLE == 0
            && (self.name.as_str(), self.serial) != LIST_BUFFER_OF_SCALA_2_12
    }

    /// Whether objects have custom data of this class.
    pub(super) fn has_contents(&self) -> bool {
        self.flags & (Self::WRITES | Self::EXTERNALIZABLE) != 0
    }

    /// The type of an array's elements; `None` if this class is not an array class.
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
    /// The primitive type with this letter.
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
    /// A graph of these classes and objects, which refer to each other by index.
    pub(super) fn new(classes: Vec<Class>, objects: Vec<Object>) -> Self {
        Self { classes, objects }
    }

    /// Adds a class. The class's parent and the texts of its fields must already be in the graph.
    pub fn add_class(&mut self, class: Class) -> ClassId {
        self.classes.push(class);
        ClassId::last_of(self.classes.len())
    }

    /// Adds an object. Objects that it refers to may be added later.
    pub fn add_object(&mut self, object: Object) -> ObjectId {
        self.objects.push(object);
        ObjectId::last_of(self.objects.len())
    }

    /// The number that the next added object will have. It is needed for objects that refer to each other in a cycle.
    pub fn next_object(&self) -> ObjectId {
        ObjectId::last_of(self.objects.len() + 1)
    }

    /// The class with this number.
    ///
    /// # Panics
    ///
    /// If the number belongs to another graph.
    pub fn class(&self, id: ClassId) -> &Class {
        &self.classes[id.index()]
    }

    /// The object with this number.
    ///
    /// # Panics
    ///
    /// If the number belongs to another graph.
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.objects[id.index()]
    }

    /// The superclasses of this class, from the topmost down to the class itself.
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

    /// Replaces an object of the graph.
    pub fn set_object(&mut self, id: ObjectId, object: Object) {
        self.objects[id.index()] = object;
    }

    /// The class with this full name, if the graph has one.
    pub fn find_class(&self, name: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.name == name)
    }

    /// Replaces the value of an object's field. If several of the object's classes have a field of this name, the field
    /// of the lowest class is replaced. Returns whether a field was found.
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

    /// How many classes the graph has.
    pub(super) fn classes(&self) -> usize {
        self.classes.len()
    }

    /// How many objects the graph has.
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
