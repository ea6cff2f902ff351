//! The program that runs another one: the interpreter of a script, or the loader of a program with shared libraries.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

const HEAD: u64 = 4096;

/// How many scripts may run one another as interpreters, as in Linux.
const DEEPEST: usize = 5;

/// Whether a file is a text, or empty: there is no zero byte at its beginning. Source: bash, which runs only these
/// files as scripts.
pub(super) fn is_text(file: &Path) -> bool {
    head(file).is_some_and(|bytes| !bytes.contains(&0))
}

/// The problem with the interpreter of an executable file that is run in this directory. `None` if there is no problem.
pub(super) fn fault(file: &Path, directory: Option<&Path>) -> Option<String> {
    let mut file = file.to_owned();
    for _ in 0..DEEPEST {
        let Runner { kind, path } = Runner::of(&head(&file)?)?;
        let found = directory.map_or_else(|| path.clone(), |directory| directory.join(&path));
        let shown = path.to_string_lossy().escape_debug().to_string();
        if !found.exists() {
            let ends =
                if shown.ends_with("\\r") { ": its first line ends with a carriage return" } else { "" };
            return Some(format!("its {kind} {shown} is not found{ends}"));
        }
        if access(&found, AccessFlags::X_OK).is_err() || !found.is_file() {
            return Some(format!("its {kind} {shown} cannot be run"));
        }
        file = found;
    }
    None
}

#[derive(Debug, PartialEq, Eq)]
struct Runner {
    kind: &'static str,
    path: PathBuf,
}

impl Runner {
    /// The program that runs the file with these first bytes. `None` if the file needs no such program.
    fn of(head: &[u8]) -> Option<Self> {
        let path = |bytes: &[u8]| Path::new(OsStr::from_bytes(bytes)).to_owned();
        if let Some(line) = head.strip_prefix(b"#!") {
            let line = line.split(|byte| *byte == b'\n').next()?;
            let word = line.split(|byte| b" \t".contains(byte)).find(|word| !word.is_empty())?;
            return Some(Self { kind: "interpreter", path: path(word) });
        }
        loader(head).map(|loader| Self { kind: "loader", path: path(loader) })
    }
}

/// The loader of a 64-bit little-endian ELF program with shared libraries. Source: elf(5), PT_INTERP.
fn loader(head: &[u8]) -> Option<&[u8]> {
    const INTERP: u64 = 3;
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, length: usize| -> Option<u64> {
        let bytes = head.get(at..at.checked_add(length)?)?;
        Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let (first, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    (0..count).find_map(|index| {
        let at = usize::try_from(first.checked_add(index.checked_mul(size)?)?).ok()?;
        if number(at, 4)? != INTERP {
            return None;
        }
        let from = usize::try_from(number(at.checked_add(8)?, 8)?).ok()?;
        head.get(from..)?.split(|byte| *byte == 0).next()
    })
}

fn head(file: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(HEAD).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_run_by_what_its_first_bytes_name() {
        let runner = |kind, path: &str| Some(Runner { kind, path: PathBuf::from(path) });
        for (head, expected) in [
            ("#!/bin/sh\necho", runner("interpreter", "/bin/sh")),
            ("#! \t/usr/bin/env python3\n", runner("interpreter", "/usr/bin/env")),
            ("#!/bin/sh\r\necho", runner("interpreter", "/bin/sh\r")),
            ("#!\n", None),
            ("echo", None),
            ("\u{7f}ELF\u{2}\u{1}", None),
        ] {
            assert_eq!(Runner::of(head.as_bytes()), expected, "{head:?}");
        }
    }

    #[test]
    fn the_loader_of_a_program_with_shared_libraries_is_found() {
        let mut head = vec![0; 200];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (head[32], head[54], head[56]) = (64, 56, 2);
        (head[64], head[120], head[128]) = (6, 3, 180);
        head[180..187].copy_from_slice(b"/ld.so\0");
        assert_eq!(loader(&head), Some(&b"/ld.so"[..]));
        for length in 0..head.len() {
            let _ = loader(&head[..length]);
        }
        head[32..40].fill(0xff);
        assert_eq!(loader(&head), None);
    }
}
