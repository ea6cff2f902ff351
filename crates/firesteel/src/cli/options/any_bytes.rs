//! Arguments of the command line that are any bytes, as texts that stand for them.

use clap::builder::{OsStringValueParser, TypedValueParser};
use firesteel_protocol::byte_text;

/// Takes any bytes. Without it, clap refuses what is not UTF-8.
pub(in crate::cli) fn any_bytes() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(byte_text::of_os)
}

/// The words of this process's command line.
pub(in crate::cli) fn own_words() -> impl Iterator<Item = String> {
    std::env::args_os().map(byte_text::of_os)
}
