//! Paths of recorded cases.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;

/// Path of a file under the repository's `fixtures/`.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// Opens a gzip file under `fixtures/`, to read it line by line.
#[expect(clippy::disallowed_types, reason = "tests read fixtures; the crate itself opens no file")]
pub fn open_gz(name: &str) -> BufReader<impl Read> {
    let path = path(name);
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    BufReader::new(GzDecoder::new(BufReader::new(file)))
}
