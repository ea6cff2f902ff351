//! A file of commands for `source`.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;

/// Maximum size of a script in bytes, enough for a hundred thousand commands.
const MOST: u64 = 4 << 20;

/// Why a script cannot be read, as a clause without the file's name.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScriptError {
    /// The operating system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is a pipe, a terminal, another device or a directory. Such a file may have no end.
    #[error("not a regular file: firesteel shell FILE reads a script from a pipe")]
    Kind,
    /// The file is too long for a script.
    #[error("longer than {} MiB", MOST >> 20)]
    TooLong,
}

/// Reads a whole script. This call may block.
pub(super) fn read(path: &Path) -> Result<String, ScriptError> {
    // Opening a named pipe does not wait for a writer.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(ScriptError::Kind);
    }
    let mut text = String::new();
    // Some files report no length and still have content.
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
