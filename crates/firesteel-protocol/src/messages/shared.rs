//! A part that many messages have in common.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire;

/// A part that many messages have in common. Clones share the value, and it is encoded only once for all of them. On
/// the wire, the part is a byte string that contains the value's own encoding.
pub struct Shared<T>(Arc<Part<T>>);

struct Part<T> {
    value: T,
    encoded: OnceLock<Bytes>,
}

impl<T> Shared<T> {
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(Arc::new(Part { value, encoded: OnceLock::new() }))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.value == other.0.value
    }
}

impl<T: Eq> Eq for Shared<T> {}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(f)
    }
}

impl<T: Serialize> Shared<T> {
    /// The encoding of the part, which all clones share.
    #[must_use]
    pub fn encoded(&self) -> Bytes {
        self.encoding().clone()
    }

    fn encoding(&self) -> &Bytes {
        // The limit is checked when a message that contains this part is encoded.
        let encode = || wire::encode(&self.0.value, usize::MAX).expect("there is no limit");
        self.0.encoded.get_or_init(encode)
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.encoding())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Encoded<T>(std::marker::PhantomData<T>);

        impl<T: DeserializeOwned> Visitor<'_> for Encoded<T> {
            type Value = Shared<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the encoding of a part of a message")
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Shared<T>, E> {
                wire::decode(bytes).map(Shared::new).map_err(E::custom)
            }
        }

        deserializer
            .deserialize_bytes(Encoded(std::marker::PhantomData))
            .map_err(|error| D::Error::custom(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_part_survives_the_wire_as_a_string_of_bytes() {
        let part = Shared::new((7_u32, "words".to_owned()));
        let message = (1_u8, part.clone(), part);
        let body = wire::encode(&message, wire::MAX_FRAME).expect("it is short");
        assert_eq!(body[..], *b"\x01\x07\x07\x05words\x07\x07\x05words");
        assert_eq!(wire::decode(&body), Ok(message));
    }

    #[test]
    fn a_shared_part_that_is_no_part_is_refused() {
        for body in [&b"\x01\x07"[..], b"\x03\x07\x05w", b"\x08\x07\x05wordsX"] {
            assert!(wire::decode::<Shared<(u32, String)>>(body).is_err(), "{body:?}");
        }
    }
}
