//! The fields of an object, by name and type.

use thiserror::Error;

use crate::envelope::Address;
use crate::java::{Graph, Node, ReadError};
use crate::scala::{self, Mismatch};

/// Why a message cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unreadable {
    /// The message is not a stream of Java objects.
    #[error(transparent)]
    Stream(#[from] ReadError),
    /// The message's class is not one of the known messages.
    #[error("unknown message class {0}")]
    Unknown(String),
    /// The class lacks a field that the message needs.
    #[error("{class} without the field {field}")]
    Missing {
        /// The class's name without its package.
        class: String,
        /// The name of the missing field.
        field: &'static str,
    },
    /// A field holds a value of another kind.
    #[error("the field {field} of {class}: {mismatch}")]
    Field {
        /// The class's name without its package.
        class: String,
        /// The name of the field.
        field: &'static str,
        /// The expected and the actual value.
        mismatch: Mismatch,
    },
}

/// An object of a known class, whose fields are read by name.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    node: Node<'a>,
    class: &'a str,
}

impl<'a> Fields<'a> {
    /// Checks that the object has this class.
    pub(crate) fn of(node: Node<'a>, class: &'static str) -> Result<Self, Unreadable> {
        let object = Self::any(node)?;
        if object.class == class { Ok(object) } else { Err(Unreadable::Unknown(object.class.to_owned())) }
    }

    /// Accepts an object of any class.
    pub(crate) fn any(node: Node<'a>) -> Result<Self, Unreadable> {
        match node.class_name() {
            Some(class) => Ok(Self { node, class }),
            None => Err(Unreadable::Unknown(Mismatch::new("an object", node).found)),
        }
    }

    /// The graph that contains the object.
    pub(crate) fn graph(&self) -> &'a Graph {
        self.node.graph
    }

    /// The full name of the object's class.
    pub(crate) fn class_name(&self) -> &'a str {
        self.class
    }

    pub(crate) fn value(&self, field: &'static str) -> Result<Node<'a>, Unreadable> {
        self.node
            .field(field)
            .ok_or_else(|| Unreadable::Missing { class: short(self.class).to_owned(), field })
    }

    pub(crate) fn has(&self, field: &str) -> bool {
        self.node.field(field).is_some()
    }

    pub(crate) fn text(&self, field: &'static str) -> Result<String, Unreadable> {
        self.optional_text(field)?.ok_or_else(|| self.wrong(field, "a text"))
    }

    /// A text, or `None` for null.
    pub(crate) fn optional_text(&self, field: &'static str) -> Result<Option<String>, Unreadable> {
        let value = self.value(field)?;
        if value.is_null() {
            return Ok(None);
        }
        value.text().map(|text| Some(text.to_owned())).ok_or_else(|| self.wrong(field, "a text"))
    }

    pub(crate) fn int(&self, field: &'static str) -> Result<i32, Unreadable> {
        self.value(field)?.int().ok_or_else(|| self.wrong(field, "an int"))
    }

    pub(crate) fn boolean(&self, field: &'static str) -> Result<bool, Unreadable> {
        self.value(field)?.boolean().ok_or_else(|| self.wrong(field, "a boolean"))
    }

    pub(crate) fn long(&self, field: &'static str) -> Result<i64, Unreadable> {
        self.value(field)?.long().ok_or_else(|| self.wrong(field, "a long"))
    }

    pub(crate) fn integer_in_option(&self, field: &'static str) -> Result<Option<i32>, Unreadable> {
        let value = self.value(field)?;
        let read = || scala::option(value)?.map(scala::integer).transpose();
        read().map_err(|mismatch| self.mismatch(field, mismatch))
    }

    /// The text in a Scala `Option`.
    pub(crate) fn text_in_option(&self, field: &'static str) -> Result<Option<String>, Unreadable> {
        let value = self.value(field)?;
        let held = scala::option(value).map_err(|mismatch| self.mismatch(field, mismatch))?;
        held.map(|held| self.text_of(field, held)).transpose()
    }

    /// An address with a valid port.
    pub(crate) fn address(&self, field: &'static str) -> Result<Address, Unreadable> {
        let address = self.object(field, "org.apache.spark.rpc.RpcAddress")?;
        Ok(Address { host: address.text("host")?, port: address.port("port")? })
    }

    pub(crate) fn port(&self, field: &'static str) -> Result<u16, Unreadable> {
        u16::try_from(self.int(field)?).map_err(|_| self.wrong(field, "a TCP port"))
    }

    pub(crate) fn texts(&self, field: &'static str) -> Result<Vec<String>, Unreadable> {
        self.elements(field)?.into_iter().map(|element| self.text_of(field, element)).collect()
    }

    pub(crate) fn elements(&self, field: &'static str) -> Result<Vec<Node<'a>>, Unreadable> {
        let value = self.value(field)?;
        scala::elements(value).map_err(|mismatch| self.mismatch(field, mismatch))
    }

    pub(crate) fn entries(&self, field: &'static str) -> Result<Vec<(Node<'a>, Node<'a>)>, Unreadable> {
        let value = self.value(field)?;
        scala::entries(value).map_err(|mismatch| self.mismatch(field, mismatch))
    }

    pub(crate) fn object(&self, field: &'static str, class: &'static str) -> Result<Self, Unreadable> {
        self.object_of(field, self.value(field)?, class)
    }

    /// The object in an element or a value of the field.
    pub(crate) fn object_of(
        &self,
        field: &'static str,
        node: Node<'a>,
        class: &'static str,
    ) -> Result<Self, Unreadable> {
        Self::of(node, class).map_err(|_| self.wrong_value(field, short(class), node))
    }

    /// The text in an element or a key of the field.
    pub(crate) fn text_of(&self, field: &'static str, node: Node<'a>) -> Result<String, Unreadable> {
        node.text().map(str::to_owned).ok_or_else(|| self.wrong_value(field, "a text", node))
    }

    /// The error for a field that does not hold the wanted kind.
    pub(crate) fn wrong(&self, field: &'static str, wanted: &'static str) -> Unreadable {
        match self.value(field) {
            Ok(value) => self.wrong_value(field, wanted, value),
            Err(missing) => missing,
        }
    }

    pub(crate) fn wrong_value(
        &self,
        field: &'static str,
        wanted: &'static str,
        found: Node<'_>,
    ) -> Unreadable {
        self.mismatch(field, Mismatch::new(wanted, found))
    }

    pub(crate) fn mismatch(&self, field: &'static str, mismatch: Mismatch) -> Unreadable {
        Unreadable::Field { class: short(self.class).to_owned(), field, mismatch }
    }
}

/// A class's name without its package and its enclosing class.
fn short(name: &str) -> &str {
    let end = name.trim_end_matches('$');
    let begin = end.rfind(['.', '$']).map_or(0, |at| at + 1);
    &name[begin..]
}
