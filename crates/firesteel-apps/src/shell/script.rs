//! A file of commands for `source`.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;

/// The longest one, in bytes: a file of a hundred thousand commands.
const MOST: u64 = 4 << 20;

/// Why a file cannot be read. A clause about it, without its name.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The operating system's words.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is a pipe, a terminal, another device or a directory: it may have no end.
    #[error("not a regular file: firesteel shell FILE reads a script from a pipe")]
    Kind,
    /// It is no script, or a very strange one.
    #[error("longer than {} MiB", MOST >> 20)]
    TooLong,
}

/// All of a file. To be called where one may block.
///
/// # Errors
/// It is no regular file, longer than 4 MiB, or cannot be read.
pub fn read(path: &Path) -> Result<String, ScriptError> {
    // A named pipe is open at once, whether or not somebody writes to it.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(ScriptError::Kind);
    }
    let mut text = String::new();
    // Some files have no length and yet something in them.
    let length = file.take(MOST + 1).read_to_string(&mut text)?;
    if length as u64 > MOST { Err(ScriptError::TooLong) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn a_file_is_read_and_what_may_have_no_end_is_not() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let path = scratch.path().join("commands");
        fs::write(&path, "run ls\n").expect("a file");
        assert_eq!(read(&path).expect("it is one"), "run ls\n");
        let pipe = scratch.path().join("pipe");
        mkfifo(&pipe, Mode::S_IRWXU).expect("a pipe");
        for path in [pipe.as_path(), scratch.path(), Path::new("/dev/zero")] {
            assert!(matches!(read(path), Err(ScriptError::Kind)), "{path:?}");
        }
        assert!(matches!(read(&scratch.path().join("none")), Err(ScriptError::Io(_))));
        let length = usize::try_from(MOST).expect("it is small");
        fs::write(&path, "#".repeat(length)).expect("a file");
        assert_eq!(read(&path).expect("it is not too long").len(), length);
        fs::write(&path, "#".repeat(length + 1)).expect("a file");
        assert_eq!(read(&path).expect_err("it is").to_string(), "longer than 4 MiB");
    }
}
