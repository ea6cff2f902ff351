//! The options of `map` that describe its items.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use firesteel_apps::map::input::Source;
use firesteel_apps::map::items::{Separator, Unit};
use firesteel_apps::map::preference::Preference;
use firesteel_host::progress::Progress;
use firesteel_protocol::wire::MAX_STDIN;
use firesteel_settings::size;

use super::usage;
use crate::cli::exit::Failure;

/// The separator between the command and its items.
pub(super) const ITEMS: &str = ":::";

/// Splits the words into the command and the items after it, if there are any.
pub(super) fn split(mut words: Vec<String>) -> (Vec<String>, Option<Vec<String>>) {
    match words.iter().position(|word| word == ITEMS) {
        Some(at) => {
            let items = words.split_off(at + 1);
            words.pop();
            (words, Some(items))
        }
        None => (words, None),
    }
}

pub(super) fn source(
    items: Option<Vec<String>>,
    file: Option<PathBuf>,
    progress: &Progress,
) -> Result<Source, Failure> {
    match (items, file) {
        (Some(_), Some(_)) => {
            Err(usage("items are given both after ::: and with --input: leave out one of them"))
        }
        (Some(items), None) => Ok(Source::Words(items)),
        (None, Some(file)) if file.as_os_str() != "-" => Ok(Source::File(file)),
        (None, Some(_) | None) => {
            if io::stdin().is_terminal() {
                progress.remark("reading items from the terminal, one per line; ctrl-d ends the input");
            }
            Ok(Source::StandardInput)
        }
    }
}

/// The place where the preferred hosts of items are given.
pub(super) fn preference(
    file: Option<PathBuf>,
    column: Option<u32>,
    delimiter: Option<String>,
) -> Result<Preference, Failure> {
    match (file, column) {
        (Some(file), _) => Ok(Preference::File(file)),
        (None, Some(number)) => {
            let delimiter = delimiter.unwrap_or_else(|| "\t".to_owned()).replace("\\t", "\t");
            if delimiter.is_empty() {
                return Err(usage("--delimiter cannot be empty: write the text between columns, such as ,"));
            }
            Ok(Preference::Column { number: number as usize, delimiter })
        }
        (None, None) => Ok(Preference::None),
    }
}

/// The size of a block that `--block` sets.
pub(super) fn block(text: Option<&str>) -> Result<usize, Failure> {
    let text = text.unwrap_or("1m");
    let bytes = size::bytes(text, size::Unit::Bytes).ok().and_then(|bytes| usize::try_from(bytes).ok());
    bytes.filter(|bytes| (1..=MAX_STDIN).contains(bytes)).ok_or_else(|| {
        usage(format!(
            "--block cannot be {text:?}: write a size from 1 to {}m, such as 512k",
            MAX_STDIN >> 20
        ))
    })
}

/// Checks that the options of the input can be combined.
pub(super) fn check_input(
    unit: Unit,
    separator: Separator,
    has_failed: bool,
    source: &Source,
    preference: &Preference,
) -> Result<(), Failure> {
    match (unit, source, preference) {
        (Unit::Block { .. }, Source::Words(_), _) => Err(usage(
            "--pipe reads blocks of lines, so items cannot follow :::; use --input or standard input",
        )),
        (Unit::Block { .. }, _, Preference::Column { .. } | Preference::File(_)) => Err(usage(
            "--pipe and preferred hosts exclude each other: a block has many lines; leave out --locality or --locality-column",
        )),
        (Unit::Record, Source::Words(words), _)
            if has_failed
                && separator == Separator::Newline
                && words.iter().any(|word| word.contains('\n')) =>
        {
            Err(usage("an item has a line feed, and --failed writes one item per line: add --null"))
        }
        (Unit::Block { .. } | Unit::Record, _, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn items_stand_after_three_colons() {
        assert_eq!(split(words("echo -n")), (words("echo -n"), None));
        assert_eq!(split(words("echo ::: a ::: b")), (words("echo"), Some(words("a ::: b"))));
        assert_eq!(split(words("echo :::")), (words("echo"), Some(Vec::new())));
    }

    #[test]
    fn blocks_have_a_size_that_a_task_can_take() {
        assert_eq!(block(None), Ok(1 << 20));
        assert_eq!(block(Some("8m")), Ok(MAX_STDIN));
        for bad in ["0", "9m", "-1", "x", ""] {
            assert!(block(Some(bad)).is_err(), "{bad}");
        }
    }
}
