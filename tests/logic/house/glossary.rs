//! `docs/GLOSSARY.md` and the names in the code: each word that it lists has its type, and the words that it replaces
//! name nothing.

use std::collections::BTreeSet;

use super::{read, root, sources};

/// The maximum number of words.
const MOST: usize = 50;

/// The cells of each row of the tables, without their headings: first the words, then those that are not used.
fn tables() -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let text = read(&root().join("docs/GLOSSARY.md"));
    let (words, unused) = text.split_once("## Words not used").expect("it ends with the words not used");
    let rows = |part: &str| {
        let lines = part.lines().filter(|line| line.starts_with('|')).skip(2);
        let cells =
            |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        lines.map(cells).collect()
    };
    (rows(words), rows(unused))
}

/// The names in backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// What the line of code declares: its keyword and the name.
fn declared(line: &str) -> Option<(&str, &str)> {
    if line.trim_start().starts_with("//") {
        return None;
    }
    let words: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let pair = words.windows(2).find(|pair| ["struct", "enum", "trait", "type", "fn"].contains(&pair[0]))?;
    Some((pair[0], pair[1]))
}

/// The names of all types and all functions in the crates.
fn names() -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut types, mut functions) = (BTreeSet::new(), BTreeSet::new());
    for path in sources(&root().join("crates")) {
        for (keyword, name) in read(&path).lines().filter_map(declared) {
            let names = if keyword == "fn" { &mut functions } else { &mut types };
            names.insert(name.to_owned());
        }
    }
    (types, functions)
}

/// The parts of a name, in lower case: `VirtualPeer` and `virtual_peer` have the same.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for c in name.chars() {
        if (c == '_' || c.is_uppercase()) && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(String::new());
        }
        if c != '_' {
            parts.last_mut().expect("there is one").extend(c.to_lowercase());
        }
    }
    parts
}

#[test]
fn each_word_of_the_glossary_has_its_type_and_one_row() {
    let ((rows, _), (types, _)) = (tables(), names());
    assert!(!rows.is_empty() && rows.len() <= MOST, "{} words", rows.len());
    let words: Vec<String> = rows.iter().map(|row| row[0].to_lowercase()).collect();
    assert!(
        words.is_sorted_by(|one, next| one < next),
        "the words are not in order, or stand twice: {words:?}"
    );
    for row in &rows {
        let [word, meaning, named] = &row[..] else { panic!("a row has three cells: {row:?}") };
        assert!(meaning.ends_with('.') && meaning.matches(". ").count() == 0, "{word}: one sentence");
        for name in quoted(named) {
            assert!(types.contains(&name), "{word}: there is no type {name}");
        }
    }
}

#[test]
fn a_word_that_is_not_used_names_nothing() {
    let ((_, rows), (types, functions)) = (tables(), names());
    let unused: Vec<String> = rows.iter().flat_map(|row| quoted(&row[0])).collect();
    assert!(!unused.is_empty(), "no word is named");
    for word in &unused {
        if word.starts_with(char::is_uppercase) {
            assert!(!types.contains(word), "a type is called {word}: see docs/GLOSSARY.md");
        } else {
            let named = types.iter().chain(&functions).find(|name| parts(name).contains(word));
            assert_eq!(named, None, "its name has the word {word}: see docs/GLOSSARY.md");
        }
    }
}
