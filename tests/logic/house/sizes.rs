//! The sizes of files and folders, which are limited so that a reader can survey each.

use std::path::{Path, PathBuf};

use super::{read, root, sources};

/// The most entries of a folder, counting files and folders. Only sources count.
const ENTRIES: usize = 20;

/// The most lines of a file.
const LINES: usize = 500;

#[test]
fn no_folder_has_more_than_20_entries_and_no_file_more_than_500_lines() {
    let crates = root().join("crates");
    let crates = crates.read_dir().expect("the folder of crates");
    let crates = crates.map(|entry| entry.expect("the folder can be read").path().join("src"));
    let mut large = Vec::new();
    for place in crates.chain([root().join("tests"), root().join("benches")]) {
        let mut folders = vec![place.clone()];
        while let Some(folder) = folders.pop() {
            let entries: Vec<PathBuf> = (folder.read_dir().expect("the folder can be read"))
                .map(|entry| entry.expect("the folder can be read").path())
                .collect();
            // Pages and recordings are looked up by name, so they do not count.
            let read = entries.iter().filter(|entry| entry.is_dir() || is_source(entry)).count();
            if read > ENTRIES {
                large.push(format!("{read} entries in {}", short(&folder)));
            }
            folders.extend(entries.into_iter().filter(|entry| entry.is_dir()));
        }
        for source in sources(&place) {
            let lines = read(&source).lines().count();
            if lines > LINES {
                large.push(format!("{lines} lines in {}", short(&source)));
            }
        }
    }
    large.sort();
    assert!(large.is_empty(), "more than {ENTRIES} entries or {LINES} lines:\n{}", large.join("\n"));
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// A path relative to the project's top.
fn short(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
