//! Access to the files of `fixtures/conformance`.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;
use tempfile::TempDir;

/// Path of a file in the folder.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/conformance").join(name)
}

pub(crate) fn text(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The lines of both case files: placements, then passes.
pub(crate) fn all() -> String {
    let mut lines = String::new();
    for name in ["placements.jsonl.gz", "passes.jsonl.gz"] {
        let file = File::open(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        GzDecoder::new(file).read_to_string(&mut lines).expect("cases are text");
    }
    lines
}

/// The first cases of each file, for tests that run them many times.
pub(crate) struct Few {
    folder: TempDir,
}

impl Few {
    /// Number of placements. They are the first lines.
    pub(crate) const PLACEMENTS: usize = 600;
    const PASSES: usize = 100;

    pub(crate) fn write() -> Self {
        let few = Self { folder: TempDir::new().expect("a temporary directory") };
        let all = all();
        let passes = all.lines().skip(6000).take(Self::PASSES);
        for (path, lines) in [
            (few.placements(), all.lines().take(Self::PLACEMENTS).collect::<Vec<_>>()),
            (few.passes(), passes.collect()),
        ] {
            fs::write(path, lines.join("\n") + "\n").expect("the cases can be written");
        }
        few
    }

    pub(crate) fn placements(&self) -> PathBuf {
        self.folder.path().join("placements.jsonl")
    }

    pub(crate) fn passes(&self) -> PathBuf {
        self.folder.path().join("passes.jsonl")
    }
}

pub(crate) fn json(lines: &str) -> impl Iterator<Item = Value> {
    lines.lines().map(|line| serde_json::from_str(line).expect("each line is JSON"))
}
