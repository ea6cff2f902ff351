//! JSON in the layout of Spark's pages, which scripts search by line.
//!
//! Each field of an object is on its own line. A list is on one line. There is a space before each colon. Source:
//! Jackson's `DefaultPrettyPrinter`, which Spark 4.0.1 uses.

use std::io::{self, Write};

use firesteel_host::plain;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// The value as JSON, with escapes for hidden characters.
pub(super) fn json(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, Jackson::default()));
    written.expect("a vector takes everything, and all keys are text");
    plain::escaped(&String::from_utf8(bytes).expect("JSON is UTF-8"))
}

#[derive(Debug, Default)]
struct Jackson {
    /// The number of enclosing objects.
    depth: usize,
    /// Whether the current object or list has any entries.
    has_any: bool,
}

impl Jackson {
    fn line(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        out.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| out.write_all(b"  "))
    }
}

impl Formatter for Jackson {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.has_any = false;
        out.write_all(b"[")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        out.write_all(if is_first { b" " } else { b", " })
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_any = true;
        Ok(())
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b" ]")
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        self.has_any = false;
        out.write_all(b"{")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        if !is_first {
            out.write_all(b",")?;
        }
        self.line(out)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b" : ")
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_any = true;
        Ok(())
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        match self.has_any {
            true => self.line(out)?,
            false => out.write_all(b" ")?,
        }
        out.write_all(b"}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json as value;

    use super::json;

    #[test]
    fn the_layout_is_jackson_s() {
        let found = json(&value!({"a": [], "b": {}, "c": [{"d": 1, "e": ["x", "y"]}, {}], "f": "\u{202e}"}));
        let expected = "{\n  \"a\" : [ ],\n  \"b\" : { },\n  \"c\" : [ {\n    \"d\" : 1,\n    \"e\" : [ \"x\", \"y\" ]\n  }, { } ],\n  \"f\" : \"\\u202e\"\n}";
        assert_eq!(found, expected);
    }
}
