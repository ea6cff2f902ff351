//! Where an application's tasks would like to run, as far as that is known when it is submitted.
//!
//! Their racks are asked for then (`net.topology.script.file.name`): the script, and the right to run it, is where the
//! application is submitted, and not where its ApplicationMaster happens to be.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use firesteel_core::messages::MOST_ROWS;

use crate::map::input::Source;
use crate::map::items::{MAX_ARGUMENT, Separator};
use crate::map::preference::{Preference, hosts};

/// Where an application's tasks would like to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wished {
    /// Anywhere.
    #[default]
    Anywhere,
    /// On these hosts.
    Hosts(BTreeSet<String>),
    /// On the hosts in a file.
    File {
        /// Which.
        path: PathBuf,
        /// What ends each of its lines.
        end: Separator,
        /// Where in a line: a column, counted from 1, and what stands between columns; or the whole line.
        column: Option<(usize, String)>,
    },
    /// Nobody knows before it runs.
    Unknown,
}

impl Wished {
    /// Of a map over those items.
    #[must_use]
    pub fn of(preference: &Preference, source: &Source, end: Separator) -> Self {
        match (preference, source) {
            (Preference::None, _) => Self::Anywhere,
            (Preference::File(path), _) => Self::in_file(path, Separator::Newline, None),
            (Preference::Column { number, delimiter }, Source::File(path)) => {
                Self::in_file(path, end, Some((*number, delimiter.clone())))
            }
            (Preference::Column { number, delimiter }, Source::Words(words)) => {
                let column = Some((*number, delimiter.clone()));
                Self::Hosts(words.iter().flat_map(|word| hosts_in(word, column.as_ref())).collect())
            }
            (Preference::Column { .. }, Source::StandardInput) => Self::Unknown,
        }
    }

    /// What can be read twice.
    fn in_file(path: &Path, end: Separator, column: Option<(usize, String)>) -> Self {
        match path.metadata().is_ok_and(|file| file.is_file()) {
            true => Self::File { path: path.to_owned(), end, column },
            false => Self::Unknown,
        }
    }

    /// The hosts that are known; of very many the first. What cannot be read is told by whoever reads the items.
    pub(super) fn hosts(&self) -> BTreeSet<String> {
        match self {
            Self::Anywhere | Self::Unknown => BTreeSet::new(),
            Self::Hosts(hosts) => hosts.iter().take(MOST_ROWS).cloned().collect(),
            Self::File { path, end, column } => read(path, *end, column.as_ref()).unwrap_or_default(),
        }
    }
}

fn read(path: &Path, end: Separator, column: Option<&(usize, String)>) -> io::Result<BTreeSet<String>> {
    let mut lines = BufReader::new(File::open(path)?);
    let end = end.byte();
    let mut found = BTreeSet::new();
    let mut line = Vec::new();
    while found.len() < MOST_ROWS {
        line.clear();
        if lines.by_ref().take(MAX_ARGUMENT as u64 + 1).read_until(end, &mut line)? == 0 {
            break;
        }
        line.pop_if(|last| *last == end);
        found.extend(hosts_in(&String::from_utf8_lossy(&line), column));
    }
    Ok(found)
}

fn hosts_in(line: &str, column: Option<&(usize, String)>) -> Vec<String> {
    match column {
        None => hosts(line),
        Some((number, delimiter)) => {
            line.split(delimiter.as_str()).nth(number - 1).map(hosts).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn hosts_are_read_where_they_can_be_read_twice() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "a.log\tnode-1\nb.log\tnode-2, node-3\nc.log\n").expect("written");
        let column = Preference::Column { number: 2, delimiter: "\t".to_owned() };
        let source = Source::File(file.path().to_owned());
        let wished = Wished::of(&column, &source, Separator::Newline);
        assert_eq!(wished.hosts(), set(&["node-1", "node-2", "node-3"]));
        let words = Source::Words(vec!["x\tnode-9".to_owned()]);
        assert_eq!(Wished::of(&column, &words, Separator::Newline).hosts(), set(&["node-9"]));
        assert_eq!(Wished::of(&column, &Source::StandardInput, Separator::Newline), Wished::Unknown);
        let pipe = Source::File("/dev/null".into());
        assert_eq!(Wished::of(&column, &pipe, Separator::Newline), Wished::Unknown, "it may be read once");
        std::fs::write(file.path(), "node-1\n\nnode-4,node-5\n").expect("written");
        let lines = Preference::File(file.path().to_owned());
        let wished = Wished::of(&lines, &Source::StandardInput, Separator::Nul);
        assert_eq!(wished.hosts(), set(&["node-1", "node-4", "node-5"]));
        assert_eq!(Wished::of(&Preference::None, &source, Separator::Newline).hosts(), set(&[]));
    }
}
