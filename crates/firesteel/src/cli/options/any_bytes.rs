//! Command-line arguments of any bytes, as texts that stand for them.

use clap::builder::{OsStringValueParser, TypedValueParser};
use firesteel_protocol::byte_text;

/// Accepts any bytes. Without it, clap refuses arguments that are not UTF-8.
pub(in crate::cli) fn any_bytes() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(byte_text::of_os)
}

/// The words of this process's command line, as texts that stand for any bytes.
pub(in crate::cli) fn own_words() -> impl Iterator<Item = String> {
    std::env::args_os().map(byte_text::of_os)
}
