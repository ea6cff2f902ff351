//! The files of a log: the rolled files, in the order in which they were written, and the active file.
//!
//! ```text
//! stdout--2026-11-21--09.gz   stdout--2026-11-21--10   stdout
//! ```

use std::cmp::Ordering;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use firesteel_protocol::messages::Stream;
use nix::fcntl::OFlag;

/// The suffix of a compressed file's name.
pub const COMPRESSED: &str = ".gz";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub path: PathBuf,
    /// The inode of the file. Another file may have the same path later.
    pub inode: u64,
    pub format: SegmentFormat,
    /// The number of bytes of the log that the file contains.
    pub length: u64,
}

/// The format in which a file of a log is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentFormat {
    Plain,
    Gzip,
}

#[must_use]
pub fn active_name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}

/// Lists the files of a log, oldest first. Only regular files with a matching name count. The list may be empty.
///
/// # Errors
/// The directory or one of the files cannot be read.
pub fn list(directory: &Path, stream: Stream) -> io::Result<Vec<Segment>> {
    let active = active_name(stream);
    let mut rolled: Vec<(String, SegmentFormat)> = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        let (plain, format) = match name.strip_suffix(COMPRESSED) {
            Some(plain) => (plain, SegmentFormat::Gzip),
            None => (name, SegmentFormat::Plain),
        };
        if is_rolled(plain, active) {
            rolled.push((plain.to_owned(), format));
        }
    }
    // If a file exists in both forms, its Worker ended while compressing it: the plain file is complete.
    rolled.sort_by(|a, b| {
        in_order(&a.0, &b.0).then_with(|| (a.1 == SegmentFormat::Gzip).cmp(&(b.1 == SegmentFormat::Gzip)))
    });
    rolled.dedup_by(|later, first| later.0 == first.0);
    rolled.push((active.to_owned(), SegmentFormat::Plain));

    let segment = |(name, format): (String, SegmentFormat)| {
        let name = if format == SegmentFormat::Gzip { name + COMPRESSED } else { name };
        segment(directory.join(name), format).transpose()
    };
    rolled.into_iter().filter_map(segment).collect()
}

/// Whether a file of this name, without the compressed suffix, was rolled.
fn is_rolled(name: &str, active: &str) -> bool {
    let suffix = name.strip_prefix(active).and_then(|rest| rest.strip_prefix("--"));
    suffix.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
}

/// Compares the names of rolled files, part by part between hyphens. Numbers compare by value. A name comes before the
/// same name with a suffix, which a file gets if its name is taken.
#[must_use]
pub fn in_order(a: &str, b: &str) -> Ordering {
    let parts = |name: &str| -> Vec<Result<u64, String>> {
        name.split('-').map(|part| part.parse().map_err(|_| part.to_owned())).collect()
    };
    parts(a).cmp(&parts(b))
}

fn segment(path: PathBuf, format: SegmentFormat) -> io::Result<Option<Segment>> {
    let about = match fs::symlink_metadata(&path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(with_path(&path, &error)),
    };
    if !about.is_file() {
        return Ok(None);
    }
    let inode = about.ino();
    let length = match format {
        SegmentFormat::Plain => about.len(),
        SegmentFormat::Gzip => {
            let file = open_file(&path).map_err(|error| with_path(&path, &error))?;
            inflated_length(file).map_err(|error| with_path(&path, &error))?
        }
    };
    Ok(Some(Segment { path, inode, format, length }))
}

/// The uncompressed length of a file, modulo 4 GiB. Longer files are never compressed.
fn inflated_length(mut file: File) -> io::Result<u64> {
    let mut length = [0; 4];
    file.seek(SeekFrom::End(-4))?;
    file.read_exact(&mut length)?;
    Ok(u32::from_le_bytes(length).into())
}

impl Segment {
    /// Opens the file. `None` if the file was removed, or if another file has its name now.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn open(&self) -> io::Result<Option<File>> {
        match open_file(&self.path).and_then(|file| Ok((file.metadata()?.ino(), file))) {
            Ok((inode, file)) => Ok((inode == self.inode).then_some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(with_path(&self.path, &error)),
        }
    }
}

/// Opens a file. Does not follow a link, which an executor may have made, and does not wait for the other end of a
/// pipe.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

/// The error with the path in front of the operating system's message.
#[must_use]
pub fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rolled_files_come_in_the_order_in_which_they_were_written() {
        let written = [
            "stdout--2026-11-21--09-05-59--0999",
            "stdout--2026-11-21--10-00-00--0001",
            "stdout--2026-11-21--10-00-00--0001--0",
            "stdout--2026-11-21--10-00-00--0001--2",
            "stdout--2026-11-21--10-00-00--0001--10",
            "stdout--2026-11-21--10-00-00--0020",
        ];
        let mut sorted = written;
        sorted.reverse();
        sorted.sort_by(|a, b| in_order(a, b));
        assert_eq!(sorted, written);
    }

    #[test]
    fn only_regular_files_of_the_right_name_are_part_of_a_log() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| scratch.path().join(name);
        for name in
            ["stdout", "stdout--2026-11-21", "stdout--old", "stdout.1", "stderr--2026-11-21", "stdout--"]
        {
            fs::write(at(name), name).expect("it can be written");
        }
        fs::create_dir(at("stdout--2026-11-22")).expect("it can be made");
        std::os::unix::fs::symlink("/etc/passwd", at("stdout--2026-11-23")).expect("it can be made");
        let names = |stream| -> Vec<String> {
            let segments = list(scratch.path(), stream).expect("it can be read");
            segments.iter().map(|s| s.path.file_name().expect("a file").to_string_lossy().into()).collect()
        };
        assert_eq!(names(Stream::Stdout), ["stdout--2026-11-21", "stdout"]);
        assert_eq!(names(Stream::Stderr), ["stderr--2026-11-21"]);
    }

    #[test]
    fn a_file_that_was_replaced_is_not_opened_for_another() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let path = scratch.path().join("stdout");
        fs::write(&path, "first").expect("it can be written");
        let segments = list(scratch.path(), Stream::Stdout).expect("it can be read");
        assert!(segments[0].open().expect("it can be opened").is_some());
        fs::rename(&path, scratch.path().join("stdout--1")).expect("it can be renamed");
        assert!(segments[0].open().expect("nothing is there").is_none());
        fs::write(&path, "second").expect("it can be written");
        assert!(segments[0].open().expect("it can be opened").is_none());
    }
}
