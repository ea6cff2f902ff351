//! The preferred hosts of items, and their source.

use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use firesteel_protocol::address::hosts;

use super::input::{InputError, Origin, Source};
use super::items::{Content, Item, MAX_ARGUMENT, Separator};
use firesteel_yarn_mode::preferred_hosts::PreferredHosts;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    #[default]
    None,
    /// The hosts are in a column of each item, which is removed from the item.
    Column {
        /// The number of the column, counted from 1.
        number: usize,
        delimiter: String,
    },
    /// The hosts are in a file with one line for each item.
    File(PathBuf),
}

/// Adds the hosts to the items, one item after the other.
pub(super) enum Preferences {
    None,
    Column { number: usize, delimiter: String, origin: Origin },
    Lines { lines: BufReader<Box<dyn Read + Send>>, origin: Origin, read: u64 },
}

impl Preferences {
    /// Returns the item with its hosts. Commas separate the hosts. An empty list means no preference.
    pub(super) fn add_hosts(&mut self, item: Item) -> Result<Item, InputError> {
        match self {
            Self::None => Ok(item),
            Self::Column { number, delimiter, origin } => match item.content {
                Content::Argument(text) => {
                    let record = item.number;
                    let mut columns: Vec<&str> = text.split(delimiter.as_str()).collect();
                    if columns.len() < *number {
                        let (origin, columns, wanted) = (origin.clone(), columns.len(), *number);
                        return Err(InputError::NoColumn { origin, record, columns, wanted });
                    }
                    let hosts = hosts(columns.remove(*number - 1));
                    Ok(Item { content: Content::Argument(columns.join(delimiter)), hosts, ..item })
                }
                Content::Block { .. } => Ok(item),
            },
            Self::Lines { .. } => match self.next_line()? {
                Some(line) => Ok(Item { hosts: hosts(&line), ..item }),
                None => Err(self.wrong_length(item.number)),
            },
        }
    }

    /// Checks, after the last of this number of items, that the file of hosts has no more lines with hosts.
    pub(super) fn end(&mut self, items: u64) -> Result<(), InputError> {
        while let Some(line) = self.next_line()? {
            if !hosts(&line).is_empty() {
                return Err(self.wrong_length(items));
            }
        }
        Ok(())
    }

    fn wrong_length(&self, item: u64) -> InputError {
        match self {
            Self::Lines { origin, read, .. } if *read < item => {
                InputError::HostsMissing { origin: origin.clone(), lines: *read, item }
            }
            Self::Lines { origin, read, .. } => {
                InputError::HostsLeft { origin: origin.clone(), line: *read, items: item }
            }
            Self::None | Self::Column { .. } => unreachable!("only lines can be too few or too many"),
        }
    }

    fn next_line(&mut self) -> Result<Option<String>, InputError> {
        let Self::Lines { lines, origin, read } = self else { return Ok(None) };
        let mut line = Vec::new();
        let result = lines.by_ref().take(MAX_ARGUMENT as u64 + 1).read_until(b'\n', &mut line);
        let before = *read;
        let failed = |error| InputError::Read { origin: origin.clone(), records: before, error };
        result.map_err(failed)?;
        if line.is_empty() {
            return Ok(None);
        }
        *read += 1;
        if line.len() > MAX_ARGUMENT {
            let (origin, record, limit) = (origin.clone(), *read, MAX_ARGUMENT);
            return Err(InputError::TooLong { origin, record, limit, place: "a line of hosts" });
        }
        let text = String::from_utf8(line);
        text.map(Some).map_err(|_| failed(io::Error::new(io::ErrorKind::InvalidData, "a line is not UTF-8")))
    }
}

/// The preferred hosts that are already known when the application is submitted.
#[must_use]
pub fn preferred_hosts(preference: &Preference, source: &Source, end: Separator) -> PreferredHosts {
    match (preference, source) {
        (Preference::None, _) => PreferredHosts::Anywhere,
        (Preference::File(path), _) => PreferredHosts::in_file(path, Separator::Newline.byte(), None),
        (Preference::Column { number, delimiter }, Source::File(path)) => {
            PreferredHosts::in_file(path, end.byte(), Some((*number, delimiter.clone())))
        }
        (Preference::Column { number, delimiter }, Source::Words(words)) => {
            PreferredHosts::in_words(words, &(*number, delimiter.clone()))
        }
        (Preference::Column { .. }, Source::StandardInput) => PreferredHosts::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(number: usize, delimiter: &str) -> Preferences {
        Preferences::Column { number, delimiter: delimiter.to_owned(), origin: "in".into() }
    }

    fn lines(text: &'static str) -> Preferences {
        Preferences::Lines {
            lines: BufReader::new(Box::new(text.as_bytes())),
            origin: "hosts".into(),
            read: 0,
        }
    }

    fn placed(preferences: &mut Preferences, number: u64, text: &str) -> Result<(String, String), String> {
        let item = Item { number, content: Content::Argument(text.into()), hosts: Vec::new() };
        let item = preferences.add_hosts(item).map_err(|error| error.to_string())?;
        Ok((item.content.to_string(), item.hosts.join("+")))
    }

    #[test]
    fn hosts_are_known_at_submission_unless_they_come_by_standard_input() {
        let column = Preference::Column { number: 2, delimiter: "\t".to_owned() };
        let known = |source| preferred_hosts(&column, &source, Separator::Newline);
        assert_eq!(known(Source::StandardInput), PreferredHosts::Unknown);
        assert_eq!(known(Source::File("/dev/null".into())), PreferredHosts::Unknown, "it may be read once");
        assert_ne!(known(Source::Words(vec!["x\tnode-9".to_owned()])), PreferredHosts::Unknown);
        let none = preferred_hosts(&Preference::None, &Source::StandardInput, Separator::Newline);
        assert_eq!(none, PreferredHosts::Anywhere);
    }

    #[test]
    fn a_column_names_the_hosts_and_is_no_part_of_the_item() {
        let both = |item: &str, hosts: &str| Ok((item.to_owned(), hosts.to_owned()));
        assert_eq!(placed(&mut column(2, "\t"), 1, "a b\th1, h2"), both("a b", "h1+h2"));
        assert_eq!(placed(&mut column(1, ";"), 1, ";x;y"), both("x;y", ""));
        assert_eq!(placed(&mut column(1, "\t"), 1, "h1"), both("", "h1"));
        assert_eq!(
            placed(&mut column(3, "\t"), 7, "a\tb"),
            Err("in, record 7: has 2 columns, and the hosts are expected in column 3: check --delimiter"
                .to_owned())
        );
    }

    #[test]
    fn a_file_has_a_line_of_hosts_for_each_item() {
        let mut preferences = lines("h1,h2\n\n h3 \n\n");
        for (number, hosts) in [(1, "h1+h2"), (2, ""), (3, "h3")] {
            assert_eq!(placed(&mut preferences, number, "x"), Ok(("x".to_owned(), hosts.to_owned())));
        }
        assert!(preferences.end(3).is_ok(), "empty lines may be left over");

        let mut short = lines("h1\n");
        assert!(placed(&mut short, 1, "x").is_ok());
        assert_eq!(
            placed(&mut short, 2, "x"),
            Err("hosts ends after line 1, and item 2 needs a line: write an empty one for no preference"
                .to_owned())
        );
        let mut long = lines("h1\nh2\n");
        assert!(placed(&mut long, 1, "x").is_ok());
        let error = long.end(1).expect_err("a line is left over");
        assert_eq!(error.to_string(), "hosts, line 2: has hosts, but there is no item 2");
    }
}
