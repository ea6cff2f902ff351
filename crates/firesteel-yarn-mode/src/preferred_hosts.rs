//! The hosts that an application's tasks prefer, as far as they are known at the submission.
//!
//! The racks of these hosts are determined at the submission, by a script (`net.topology.script.file.name`). The
//! submitting machine has the script and can run it; the ApplicationMaster's node perhaps cannot.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use firesteel_protocol::address::hosts;
use firesteel_protocol::messages::MOST_ROWS;

/// The longest line that is read, in bytes.
const MAX_LINE: u64 = 128 << 10;

/// The preferred hosts of an application's tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PreferredHosts {
    #[default]
    Anywhere,
    /// The tasks prefer these hosts.
    Hosts(BTreeSet<String>),
    File {
        path: PathBuf,
        /// The byte that ends each line.
        end: u8,
        /// The column that contains the host, counted from 1, and the delimiter of columns. `None`: the whole line is
        /// the host.
        column: Option<(usize, String)>,
    },
    /// The hosts are unknown until the application runs.
    Unknown,
}

impl PreferredHosts {
    /// The hosts in a file. A file that is not a regular file cannot be read twice, so its hosts are
    /// [`Unknown`](Self::Unknown).
    #[must_use]
    pub fn in_file(path: &Path, end: u8, column: Option<(usize, String)>) -> Self {
        match path.metadata().is_ok_and(|file| file.is_file()) {
            true => Self::File { path: path.to_owned(), end, column },
            false => Self::Unknown,
        }
    }

    /// The hosts in this column of each word. `column` is the number of the column, counted from 1, and the delimiter.
    #[must_use]
    pub fn in_words(words: &[String], column: &(usize, String)) -> Self {
        Self::Hosts(words.iter().flat_map(|word| hosts_in(word, Some(column))).collect())
    }

    /// The known hosts, up to [`MOST_ROWS`]. For a file that cannot be read, none are returned. The code that reads the
    /// items reports the error.
    pub(super) fn hosts(&self) -> BTreeSet<String> {
        match self {
            Self::Anywhere | Self::Unknown => BTreeSet::new(),
            Self::Hosts(hosts) => hosts.iter().take(MOST_ROWS).cloned().collect(),
            Self::File { path, end, column } => read(path, *end, column.as_ref()).unwrap_or_default(),
        }
    }
}

fn read(path: &Path, end: u8, column: Option<&(usize, String)>) -> io::Result<BTreeSet<String>> {
    let mut lines = BufReader::new(File::open(path)?);
    let mut found = BTreeSet::new();
    let mut line = Vec::new();
    while found.len() < MOST_ROWS {
        line.clear();
        if lines.by_ref().take(MAX_LINE).read_until(end, &mut line)? == 0 {
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
        let column = (2, "\t".to_owned());
        let preferred_hosts = PreferredHosts::in_file(file.path(), b'\n', Some(column.clone()));
        assert_eq!(preferred_hosts.hosts(), set(&["node-1", "node-2", "node-3"]));
        let words = ["x\tnode-9".to_owned()];
        assert_eq!(PreferredHosts::in_words(&words, &column).hosts(), set(&["node-9"]));
        let pipe = Path::new("/dev/null");
        assert_eq!(
            PreferredHosts::in_file(pipe, b'\n', Some(column)),
            PreferredHosts::Unknown,
            "it may be read once"
        );
        std::fs::write(file.path(), "node-1\n\nnode-4,node-5\n").expect("written");
        let preferred_hosts = PreferredHosts::in_file(file.path(), b'\n', None);
        assert_eq!(preferred_hosts.hosts(), set(&["node-1", "node-4", "node-5"]));
        assert_eq!(PreferredHosts::Anywhere.hosts(), set(&[]));
    }
}
