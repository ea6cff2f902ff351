//! `conf/workers`: the hosts on which Workers run.

use std::io;
use std::path::{Path, PathBuf};

use firesteel_protocol::host::plain_or_as_given;

use super::remote_shell::is_here;

const MOST: usize = 10_000;

/// Why the file of hosts is not valid.
#[derive(Debug, thiserror::Error)]
pub enum WorkersFileError {
    #[error("cannot read {}: {error}; write the name of one host on each line", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error(
        "{}:{line}: {word:?} is no host: write HOST or USER@HOST, with letters, digits, dots, colons, - and _", path.display()
    )]
    NoHost {
        path: PathBuf,
        /// The number of the line, counted from 1.
        line: usize,
        word: String,
    },
    #[error("{}: {MOST} hosts at most", path.display())]
    TooMany { path: PathBuf },
}

/// Reads the file. As in Spark 4.0.1 (`sbin/workers.sh`), `#` begins a comment, blanks separate hosts, and without a
/// file the only host is localhost. A host that occurs twice, in any spelling, gets only one Worker. Different DNS
/// names of one machine count as different hosts. The second start on that machine then finds the first Worker running.
///
/// # Errors
/// The file cannot be read, or a word is not a host.
pub fn read(path: &Path) -> Result<Vec<String>, WorkersFileError> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(path, &text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec!["localhost".to_owned()]),
        Err(error) => Err(WorkersFileError::Unreadable { path: path.to_owned(), error }),
    }
}

fn parse(path: &Path, text: &str) -> Result<Vec<String>, WorkersFileError> {
    let path = path.to_owned();
    let mut hosts: Vec<String> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for word in line.split('#').next().unwrap_or_default().split_whitespace() {
            if !is_host(word) {
                return Err(WorkersFileError::NoHost { path, line: at + 1, word: word.to_owned() });
            }
            if !hosts.iter().any(|host| identity(host) == identity(word)) {
                hosts.push(word.to_owned());
            }
            if hosts.len() > MOST {
                return Err(WorkersFileError::TooMany { path });
            }
        }
    }
    Ok(hosts)
}

/// The user and the machine of a word, in a canonical form for comparisons.
fn identity(word: &str) -> (Option<&str>, String) {
    let (user, host) = word.rsplit_once('@').map_or((None, word), |(user, host)| (Some(user), host));
    let host = if user.is_none() && is_here(host) { "localhost" } else { host };
    (user, plain_or_as_given(host).trim_end_matches('.').to_ascii_lowercase())
}

/// Whether ssh would accept the word as a host, and not as an option.
fn is_host(word: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:@[]%".contains(&b);
    !word.starts_with('-') && word.len() <= 255 && word.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&[&str], &str>) {
        let found = parse(Path::new("workers"), text).map_err(|error| error.to_string());
        match (found, expected) {
            (Ok(hosts), Ok(expected)) => assert_eq!(hosts, expected, "{text:?}"),
            (Err(error), Err(words)) => assert!(error.contains(words), "{text:?}: {error}"),
            (found, expected) => panic!("{text:?}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn hosts_are_words_outside_comments() {
        check("", Ok(&[]));
        check("# A Spark Worker will be started on each\n\nlocalhost\n", Ok(&["localhost"]));
        check("node-1 # the first\r\n  ann@node-2\tnode-3\nnode-1", Ok(&["node-1", "ann@node-2", "node-3"]));
        check("[fe80::1%eth0]", Ok(&["[fe80::1%eth0]"]));
    }

    #[test]
    fn one_machine_in_several_forms_is_named_once() {
        check("localhost 127.0.0.1 ::1 [::1] LOCALHOST 0:0:0:0:0:0:0:1", Ok(&["localhost"]));
        check("Node-1 node-1 node-1. NODE-1", Ok(&["Node-1"]));
        check("[fd00::2] FD00:0:0::2 fd00:0::0:2", Ok(&["[fd00::2]"]));
        check("ann@node-1 ann@NODE-1 bob@node-1 Ann@node-1", Ok(&["ann@node-1", "bob@node-1", "Ann@node-1"]));
        check("fe80::1%eth0 [FE80::1%eth0] fe80::1%eth1", Ok(&["fe80::1%eth0", "fe80::1%eth1"]));
        check("node-1 node-1.example.org 127.0.0.2", Ok(&["node-1", "node-1.example.org", "127.0.0.2"]));
    }

    #[test]
    fn a_word_that_a_shell_or_ssh_would_take_for_something_else_is_refused() {
        for (text, words) in [
            ("node-1\n-oProxyCommand=x", "workers:2: \"-oProxyCommand=x\" is no host"),
            ("a;reboot", "workers:1: \"a;reboot\" is no host"),
            ("$(x)", "is no host"),
            ("nöde", "is no host"),
        ] {
            check(text, Err(words));
        }
    }

    #[test]
    fn without_a_file_there_is_one_worker_here() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(read(&directory.path().join("workers")).expect("there need not be one"), ["localhost"]);
        assert!(read(directory.path()).is_err(), "a directory is no file");
    }
}
