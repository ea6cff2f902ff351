//! The fields of a JSON object, in their original order.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// The fields of an object. Repeated names are kept.
pub(super) struct JsonFields(pub(super) Vec<(String, Value)>);

impl<'de> Deserialize<'de> for JsonFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Collect)
    }
}

struct Collect;

impl<'de> Visitor<'de> for Collect {
    type Value = JsonFields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonFields, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(JsonFields(fields))
    }
}

impl JsonFields {
    /// The last value that has this name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().rev().find(|(field, _)| field == name).map(|(_, value)| value)
    }
}
