//! Encodes values: postcard, but each struct begins with its length.
//!
//! Plain postcard writes the fields of a struct one after the other. If the reader's struct has one field more or less,
//! it reads nonsense from there on. Here each struct begins with the length of its fields in bytes. So a reader finds
//! the struct's end without knowing all its fields. The number of an enum's variant also encodes whether a content
//! follows. postcard itself writes everything else.

use bytes::{BufMut, BytesMut};
use postcard::ser_flavors::Flavor;
use postcard::{Error, Result};
use serde::{Serialize, Serializer, ser};

/// A destination for encoded bytes.
pub(super) trait Sink: Flavor<Output = ()> {
    fn length(&self) -> usize;

    /// Writes the number of bytes since `start` in front of these bytes. One byte was left free for the number.
    fn measure(&mut self, start: usize);
}

/// A sink that appends to existing bytes.
pub(super) struct Append<'a>(pub(super) &'a mut BytesMut);

/// A sink that counts the bytes, and stores none.
#[derive(Default)]
pub(super) struct Count(pub(super) usize);

pub(super) struct Writer<S: Sink> {
    plain: postcard::Serializer<S>,
    /// The encoded fields that a later version has at the end of each struct.
    later: &'static [u8],
}

/// Encodes a length as postcard encodes numbers. Also returns the number of bytes that this takes.
fn varint(mut length: usize) -> ([u8; 10], usize) {
    let (mut bytes, mut count) = ([0; 10], 0);
    loop {
        let [low, ..] = length.to_le_bytes();
        length >>= 7;
        bytes[count] = if length == 0 { low & 0x7F } else { low | 0x80 };
        count += 1;
        if length == 0 {
            return (bytes, count);
        }
    }
}

impl Flavor for Append<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> Result<()> {
        self.0.put_u8(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> Result<()> {
        Ok(())
    }
}

impl Sink for Append<'_> {
    fn length(&self) -> usize {
        self.0.len()
    }

    fn measure(&mut self, start: usize) {
        let end = self.0.len();
        let (number, count) = varint(end - start - 1);
        if count > 1 {
            self.0.resize(end + count - 1, 0);
            self.0.copy_within(start + 1..end, start + count);
        }
        self.0[start..start + count].copy_from_slice(&number[..count]);
    }
}

impl Flavor for Count {
    type Output = ();

    fn try_push(&mut self, _: u8) -> Result<()> {
        self.0 += 1;
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> Result<()> {
        self.0 += bytes.len();
        Ok(())
    }

    fn finalize(self) -> Result<()> {
        Ok(())
    }
}

impl Sink for Count {
    fn length(&self) -> usize {
        self.0
    }

    fn measure(&mut self, start: usize) {
        self.0 += varint(self.0 - start - 1).1 - 1;
    }
}

impl<S: Sink> Writer<S> {
    pub(super) fn new(sink: S, later: &'static [u8]) -> Self {
        Self { plain: postcard::Serializer { output: sink }, later }
    }

    pub(super) fn length(&self) -> usize {
        self.plain.output.length()
    }

    /// Begins a value whose encoding starts with its length.
    fn open(&mut self) -> Result<Measured<'_, S>> {
        let start = self.length();
        self.plain.output.try_push(0)?;
        Ok(Measured { writer: self, start })
    }

    /// Writes the number of a variant, and whether a content follows.
    fn variant(&mut self, number: u32, has_content: bool) -> Result<()> {
        (u64::from(number) << 1 | u64::from(has_content)).serialize(&mut self.plain)
    }
}

/// A value whose encoding starts with its length, while it is being written.
pub(super) struct Measured<'a, S: Sink> {
    writer: &'a mut Writer<S>,
    start: usize,
}

impl<S: Sink> Measured<'_, S> {
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        value.serialize(&mut *self.writer)
    }

    fn close(self) -> Result<()> {
        self.writer.plain.output.measure(self.start);
        Ok(())
    }

    /// Ends a struct: adds the later version's fields and writes the length.
    fn close_struct(self) -> Result<()> {
        self.writer.plain.output.try_extend(self.writer.later)?;
        self.close()
    }
}

/// Methods that pass the value to postcard's serializer.
macro_rules! plain {
    ($($method:ident($value:ty);)*) => {$(
        fn $method(self, value: $value) -> Result<()> {
            self.plain.$method(value)
        }
    )*};
}

impl<'a, S: Sink> Serializer for &'a mut Writer<S> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeMap = Self;
    type SerializeStruct = Measured<'a, S>;
    type SerializeTupleVariant = Measured<'a, S>;
    type SerializeStructVariant = Measured<'a, S>;

    plain! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, value: &T) -> Result<()> {
        self.plain.collect_str(value)
    }

    fn serialize_none(self) -> Result<()> {
        self.plain.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        self.plain.output.try_push(1)?;
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self> {
        length.ok_or(Error::SerializeSeqLengthUnknown)?.serialize(&mut self.plain)?;
        Ok(self)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self> {
        self.serialize_seq(length)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Measured<'a, S>> {
        self.open()
    }

    fn serialize_unit_variant(self, _: &'static str, number: u32, _: &'static str) -> Result<()> {
        self.variant(number, false)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
        value: &T,
    ) -> Result<()> {
        self.variant(number, true)?;
        let mut content = self.open()?;
        content.add(value)?;
        content.close()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Measured<'a, S>> {
        self.variant(number, true)?;
        self.open()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Measured<'a, S>> {
        self.variant(number, true)?;
        self.open()
    }
}

/// Methods for types whose encoding begins with the length of their fields.
macro_rules! fields {
    ($($part:ident)*) => {$(
        impl<S: Sink> ser::$part for Measured<'_, S> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Result<()> {
                self.add(value)
            }

            fn end(self) -> Result<()> {
                self.close_struct()
            }
        }
    )*};
}

fields! { SerializeStruct SerializeStructVariant }

impl<S: Sink> ser::SerializeTupleVariant for Measured<'_, S> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.add(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

/// Methods for types that need no length in bytes: their number of elements is written, or both sides know it.
macro_rules! elements {
    ($($part:ident $method:ident;)*) => {$(
        impl<S: Sink> ser::$part for &mut Writer<S> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<()> {
                Ok(())
            }
        }
    )*};
}

elements! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
}

impl<S: Sink> ser::SerializeMap for &mut Writer<S> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<()> {
        Ok(())
    }
}
