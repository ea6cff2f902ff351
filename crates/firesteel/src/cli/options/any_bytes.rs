//! Command-line arguments that may contain any bytes, represented as texts.

use clap::builder::{OsStringValueParser, TypedValueParser};
use firesteel_protocol::byte_text;

/// A parser that accepts any bytes. By default, clap refuses arguments that are not UTF-8.
pub(in crate::cli) fn any_bytes() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(byte_text::of_os)
}

/// The words of this process's command line, as texts that can represent any bytes.
pub(in crate::cli) fn own_words() -> impl Iterator<Item = String> {
    std::env::args_os().map(byte_text::of_os)
}
