//! The JSON Schemas of cases and decisions.

use firesteel_testkit::{firesteel, run_with_input};
use regex::Regex;
use serde_json::{Map, Value};

use super::cases;

/// The schemas of the folder, to validate values. It supports the keywords of JSON Schema that they use, and panics at
/// any other.
struct Schema {
    documents: Map<String, Value>,
    name: &'static str,
}

impl Schema {
    fn of(name: &'static str) -> Self {
        let read = |name: &str| {
            let schema: Value = serde_json::from_str(&cases::text(name)).expect("a schema is JSON");
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
            assert_eq!(schema["$id"], name);
            (name.to_owned(), schema)
        };
        Self { documents: ["case.schema.json", "decision.schema.json"].map(read).into_iter().collect(), name }
    }

    fn accepts(&self, value: &Value) -> bool {
        self.is_valid(self.name, &self.documents[self.name], value)
    }

    /// Whether a value is valid under a schema of this document.
    fn is_valid(&self, document: &str, schema: &Value, value: &Value) -> bool {
        let schema = schema.as_object().expect("a schema is an object");
        schema.iter().all(|(keyword, asked)| match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "$comment" | "title" | "description" => true,
            "$ref" => self.is_valid_under(document, asked.as_str().expect("a reference is a text"), value),
            "oneOf" => all(asked).filter(|one| self.is_valid(document, one, value)).count() == 1,
            "enum" => all(asked).any(|one| one == value),
            "type" => asked.is_string() && is_a(asked, value) || all(asked).any(|kind| is_a(kind, value)),
            "minimum" => {
                value.as_i64().is_none_or(|number| number >= asked.as_i64().expect("a whole number"))
            }
            "maximum" => {
                value.as_i64().is_none_or(|number| number <= asked.as_i64().expect("a whole number"))
            }
            "pattern" => value.as_str().is_none_or(|text| {
                Regex::new(asked.as_str().expect("a pattern is a text")).expect("it is sound").is_match(text)
            }),
            "items" => all(value).all(|item| self.is_valid(document, asked, item)),
            "minItems" => !value.is_array() || all(value).count() as u64 >= asked.as_u64().expect("a count"),
            "uniqueItems" => {
                let items: Vec<_> = all(value).collect();
                (1..items.len()).all(|end| !items[..end].contains(&items[end]))
            }
            "required" => value.as_object().is_none_or(|fields| {
                all(asked).all(|name| fields.contains_key(name.as_str().expect("a name is a text")))
            }),
            "properties" => each(value).all(|(name, field)| {
                asked.get(name).is_none_or(|schema| self.is_valid(document, schema, field))
            }),
            "additionalProperties" => {
                let named =
                    |name: &str| schema.get("properties").is_some_and(|named| named.get(name).is_some());
                each(value).filter(|(name, _)| !named(name)).all(|(_, field)| match asked {
                    Value::Bool(allowed) => *allowed,
                    asked => self.is_valid(document, asked, field),
                })
            }
            other => panic!("{document} uses the keyword {other}, which is not known here"),
        })
    }

    fn is_valid_under(&self, document: &str, reference: &str, value: &Value) -> bool {
        let (file, pointer) = reference.split_once('#').expect("a reference leads into a document");
        let document = if file.is_empty() { document } else { file };
        let schema = self.documents[document].pointer(pointer).expect("a reference leads somewhere");
        self.is_valid(document, schema, value)
    }
}

/// The elements of a list; none of anything else.
fn all(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The fields of an object; none of anything else.
fn each(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn is_a(kind: &Value, value: &Value) -> bool {
    match kind.as_str().expect("a type is a text") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the type {other} is not known here"),
    }
}

pub(crate) fn cases_are_valid() {
    let schema = Schema::of("case.schema.json");
    let mut count = 0;
    for case in cases::json(&cases::all()) {
        assert!(schema.accepts(&case), "{case}");
        count += 1;
    }
    assert_eq!(count, 7000);
}

pub(crate) fn decisions_are_valid() {
    let schema = Schema::of("decision.schema.json");
    let done = run_with_input(firesteel().args(["plan", "--jsonl", "-"]), cases::all().into_bytes());
    let mut count = 0;
    for decision in cases::json(&done.stdout) {
        assert!(schema.accepts(&decision), "{decision}");
        count += 1;
    }
    assert_eq!(count, 7000);
}

pub(crate) fn wrong_cases() {
    let schema = Schema::of("case.schema.json");
    let all = cases::all();
    let (placement, pass) = (all.lines().next(), all.lines().nth(6000));
    for (case, from, to) in [
        (placement, "\"spread_out\":true,", ""),
        (placement, "\"spread_out\":true,", "\"spread_out\":1,"),
        (placement, "\"i\":0,", "\"i\":0,\"j\":0,"),
        (placement, "\"i\":0,", "\"i\":-1,"),
        (placement, "\"cores_free\":7,", "\"cores_free\":7.5,"),
        (placement, "\"4.0.1\"", "\"four\""),
        (placement, "\"4.0.1\"", "\"4.3.0\""),
        (placement, "\"assigned_cores\":[7,0]", "\"assigned_cores\":[7,null]"),
        (placement, ",\"assigned_cores\":[7,0]", ""),
        (pass, "\"ALIVE\"", "\"GONE\""),
        (pass, "\"CORES_FREE_ASC\"", "\"BEST\""),
        (pass, "\"launches\":[", "\"launches\":[{},"),
        (pass, "\"profiles\":[", "\"profiles\":[],\"other\":["),
    ] {
        let case = case.expect("there are cases");
        assert!(schema.accepts(&serde_json::from_str(case).expect("a case is JSON")));
        let wrong = case.replacen(from, to, 1);
        assert_ne!(wrong, case, "{from} is not there");
        assert!(!schema.accepts(&serde_json::from_str(&wrong).expect("it is JSON")), "{from} -> {to}");
    }
}
