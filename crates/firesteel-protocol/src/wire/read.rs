//! Decodes what [`write`](super::write) encodes, also if a version with other fields wrote it.
//!
//! Unknown fields are skipped. A missing field gets its `#[serde(default)]`. If it has no default, decoding fails.

use postcard::{Error, Result};
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};

pub(super) struct Reader<'de> {
    pub(super) input: &'de [u8],
}

impl<'de> Reader<'de> {
    /// Reads a value with postcard's own deserializer.
    fn plain<T>(
        &mut self,
        read: impl FnOnce(&mut postcard::Deserializer<'de, postcard::de_flavors::Slice<'de>>) -> Result<T>,
    ) -> Result<T> {
        let mut plain = postcard::Deserializer::from_bytes(self.input);
        let value = read(&mut plain)?;
        self.input = plain.finalize()?;
        Ok(value)
    }

    fn number(&mut self) -> Result<usize> {
        self.plain(|plain| usize::deserialize(plain))
    }

    /// Splits off a value whose encoding begins with its length.
    fn measured(&mut self) -> Result<Self> {
        let length = self.number()?;
        let (content, rest) = self.input.split_at_checked(length).ok_or(Error::DeserializeUnexpectedEnd)?;
        self.input = rest;
        Ok(Self { input: content })
    }
}

macro_rules! plain {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.plain(|plain| plain.$method(visitor))
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    plain! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
        deserialize_bytes deserialize_byte_buf deserialize_unit
        deserialize_any deserialize_identifier deserialize_ignored_any
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let (first, rest) = self.input.split_first().ok_or(Error::DeserializeUnexpectedEnd)?;
        self.input = rest;
        match first {
            0 => visitor.visit_none(),
            1 => visitor.visit_some(self),
            _ => Err(Error::DeserializeBadOption),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let left = self.number()?;
        visitor.visit_seq(Elements { reader: self, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value> {
        visitor.visit_seq(Elements { reader: self, left })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        left: usize,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_seq(Elements { reader: self, left })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let left = self.number()?;
        visitor.visit_map(Elements { reader: self, left })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_seq(Fields { reader: self.measured()?, left: fields.len() })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let number = self.number()?;
        let content = if number & 1 == 1 { self.measured()?.input } else { &[] };
        let variant = u32::try_from(number >> 1).map_err(|_| Error::DeserializeBadEnum)?;
        visitor.visit_enum(Variant { number: variant, content: Reader { input: content } })
    }
}

struct Elements<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: usize,
}

impl<'de> Elements<'_, 'de> {
    fn next<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.reader).map(Some)
    }

    /// The number of elements to reserve memory for: at most the number of bytes left. So a peer cannot make the
    /// receiver reserve more memory than the peer has sent.
    fn hint(&self) -> Option<usize> {
        Some(self.left.min(self.reader.input.len()))
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        self.next(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.hint()
    }
}

impl<'de> MapAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        self.next(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        seed.deserialize(&mut *self.reader)
    }

    fn size_hint(&self) -> Option<usize> {
        self.hint()
    }
}

/// The fields of a struct that the reader knows and that the bytes contain.
struct Fields<'de> {
    reader: Reader<'de>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Fields<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.left == 0 || self.reader.input.is_empty() {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut self.reader).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

struct Variant<'de> {
    number: u32,
    /// The fields of the variant. Empty if the variant has none, or if only a later version has them.
    content: Reader<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        let variant = seed.deserialize(self.number.into_deserializer())?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(mut self, seed: T) -> Result<T::Value> {
        seed.deserialize(&mut self.content)
    }

    fn tuple_variant<V: Visitor<'de>>(mut self, left: usize, visitor: V) -> Result<V::Value> {
        visitor.visit_seq(Elements { reader: &mut self.content, left })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_seq(Fields { reader: self.content, left: fields.len() })
    }
}
