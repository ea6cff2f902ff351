//! The file of a run record: it is created, may replace an earlier record, is written, and is read again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tempfile::TempPath;

use super::run_record::RecordError;
use super::undone::{self, RecordContents, SourceFile, Undone};

pub(super) enum Reread<'a> {
    /// The items can be read again from the input, which is a file.
    File(SourceFile),
    /// The items cannot be read a second time (a pipe, or standard input). So the run record copies the items while the
    /// input is read.
    Never,
    /// The items are these words, which the run record stores immediately.
    Words(&'a [String]),
    /// The items can be read again from the run record, which immediately copies all of them from this reader.
    Copied(Box<dyn io::Read + Send>),
}

/// The record of an earlier run that did not end. This run's own record replaces the earlier record when this run
/// begins.
#[derive(Debug)]
pub(super) struct Earlier {
    /// The file of the earlier record, locked so that no other run uses the same items.
    locked: File,
    /// The path of this run's own record, until this record replaces the earlier one.
    pub(super) own: TempPath,
}

/// The file of a run record. The thread that reads the input also writes to this file.
#[derive(Clone, Debug)]
pub struct RecordFile(pub(super) Arc<Mutex<File>>);

impl RecordFile {
    pub(super) fn append(&self, bytes: &[&[u8]]) -> io::Result<()> {
        let mut file = self.0.lock().expect("no thread panics while it holds the lock");
        file.write_all(&bytes.concat())
    }

    /// Copies bytes of an input that cannot be read again. An empty slice marks the end of the input.
    ///
    /// # Errors
    /// The record cannot be written.
    pub(super) fn copy(&self, bytes: &[u8]) -> io::Result<()> {
        match bytes {
            [] => self.append(&[b"$\n"]),
            bytes => self.append(&[format!("> {}\n", bytes.len()).as_bytes(), bytes]),
        }
    }

    /// Copies an input to its end.
    pub(super) fn copy_all(&self, mut input: impl io::Read) -> io::Result<()> {
        let mut buffer = vec![0; 128 << 10];
        loop {
            let read = input.read(&mut buffer)?;
            self.copy(&buffer[..read])?;
            if read == 0 {
                return Ok(());
            }
        }
    }

    /// The items that are not done, and their total length in bytes.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(super) fn items(&self) -> io::Result<(Undone, u64)> {
        let file = self.0.lock().expect("no thread panics while it holds the lock");
        let contents = RecordContents::read(&file)?.ok_or_else(damaged)?;
        let length = contents.length();
        Ok((contents.undone(file.try_clone()?)?, length))
    }
}

pub(super) fn damaged() -> io::Error {
    io::Error::other("its run record is damaged")
}

/// Creates a run record, locked until the run ends.
pub(super) fn create(target: &Path) -> Result<File, RecordError> {
    let path = undone::record_path(target);
    let mut options = OpenOptions::new();
    match options.create_new(true).read(true).append(true).open(&path) {
        Ok(file) => {
            // Some file systems have no locks. There, other runs cannot see that the record is in use.
            let _ = file.try_lock();
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(RecordError::Unfinished { path }),
        Err(error) => Err(RecordError::Open { path: target.to_owned(), error }),
    }
}

/// Creates a run record that replaces an earlier record when the run begins.
pub(super) fn take_over(path: &Path) -> io::Result<(File, Earlier)> {
    let locked = File::open(path)?;
    locked.try_lock().map_err(|_| undone::still_written())?;
    // Another run may have replaced the record before this one locked it.
    let is_there = fs::metadata(path)?.ino() == locked.metadata()?.ino();
    if !is_there {
        return Err(undone::still_written());
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    let directory = path.parent().filter(|path| !path.as_os_str().is_empty());
    let own = tempfile::Builder::new()
        .prefix(&name)
        .append(true)
        .permissions(locked.metadata()?.permissions())
        .tempfile_in(directory.unwrap_or(Path::new(".")))?;
    let _ = own.as_file().try_lock();
    let (file, own) = own.into_parts();
    Ok((file, Earlier { locked, own }))
}

impl Earlier {
    pub(super) fn items(&self) -> io::Result<Reread<'static>> {
        let contents = RecordContents::read(&self.locked)?.ok_or_else(damaged)?;
        Ok(Reread::Copied(Box::new(contents.undone(self.locked.try_clone()?)?)))
    }
}

/// How the items of a file can be read again. The file may be the record of an earlier run. `is_replaced`: the run
/// writes the remaining items to this file.
pub(super) fn reread(input: &Path, is_replaced: bool) -> io::Result<Reread<'static>> {
    let data = fs::metadata(input);
    if data.as_ref().is_ok_and(|data| !data.is_file()) {
        return Ok(Reread::Never);
    }
    // A missing file is reported as an error of the input.
    let Ok(data) = data else { return Ok(Reread::Never) };
    let file = File::open(input)?;
    Ok(match undone::open(&file)? {
        Some((undone, _)) => Reread::Copied(Box::new(undone)),
        None if is_replaced || undone::is_copied(data.len()) => Reread::Copied(Box::new(file)),
        None => Reread::File(SourceFile::of(input)?),
    })
}

pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
    let one = identity(one);
    one.is_some() && one == identity(other)
}
