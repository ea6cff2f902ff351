//! The page about tests: its table names what is there, and it stays short.

use super::{read, root};

/// The most words of docs/TESTING.md.
const WORDS: usize = 3_000;

/// Where what the table names may be, and how the name of a file goes on.
const FOLDERS: [&str; 5] = ["tests", "tests/logic/scripts", "tests/logic/placement", "crates", "."];
const ENDINGS: [&str; 3] = ["", ".rs", ".txt"];

/// What the table of features names.
fn named(page: &str) -> Vec<String> {
    let (_, table) = page.split_once("## What is tested where").expect("the page has this section");
    let (table, _) = table.split_once("\n## ").expect("another section follows");
    // The first cell has the feature, which may be a command.
    let cells = table.lines().filter(|line| line.starts_with("| ")).flat_map(|row| row.split('|').skip(2));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

fn is_there(name: &str) -> bool {
    let name = name.trim_end_matches(['/', '*', '_']);
    let paths = FOLDERS.iter().flat_map(|folder| ENDINGS.map(|ending| format!("{folder}/{name}{ending}")));
    paths.into_iter().any(|path| root().join(path).exists())
}

#[test]
fn the_table_of_features_names_tests_that_are_there() {
    let names = named(&read(&root().join("docs/TESTING.md")));
    assert!(names.len() > 60, "{names:?}");
    // A pattern stands for scripts that are numbered.
    let missing: Vec<&String> = names.iter().filter(|name| !name.contains('*') && !is_there(name)).collect();
    assert!(missing.is_empty(), "docs/TESTING.md names {missing:?}");
    assert!(!is_there("logic/nothing") && is_there("classic") && is_there("parity"));
}

#[test]
fn the_page_about_tests_is_short() {
    let words = read(&root().join("docs/TESTING.md")).split_whitespace().count();
    assert!(words <= WORDS, "docs/TESTING.md has {words} words");
}
