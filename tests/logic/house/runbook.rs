//! The runbook: the program contains its quotations, and the tests that it names check them.

use std::path::Path;

use super::{TESTKIT, read, root};

/// A row of a table in docs/RUNBOOK.md.
struct Row {
    symptom: String,
    seen: String,
    test: String,
}

fn rows(page: &str) -> Vec<Row> {
    let lines = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| symptom"));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [symptom, seen, _, test] = cells[..] else { panic!("a row has four cells: {line}") };
            Row {
                symptom: symptom.to_owned(),
                seen: seen.to_owned(),
                test: test.trim_matches('`').to_owned(),
            }
        })
        .collect()
}

/// The texts in backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The parts of a row's quotations from the program, without commands, paths and metrics.
fn pieces(row: &Row) -> Vec<&str> {
    let is_text = |text: &&str| {
        !text.starts_with("firesteel")
            && !text.starts_with("process_")
            && !text.starts_with('/')
            && text.contains(' ')
    };
    let texts = quoted(&row.seen).filter(is_text);
    texts.flat_map(|text| text.split("..")).map(|piece| piece.trim_matches([' ', ':', ','])).collect()
}

/// A source with each text joined on one line: a text may continue after a backslash.
fn joined(source: &str) -> String {
    let mut lines = source.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| text + line.trim_start())
}

fn program() -> String {
    fn gather(folder: &Path, text: &mut String) {
        for entry in folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("the folder can be read").path();
            if path.ends_with(TESTKIT) {
                continue;
            }
            if path.is_dir() {
                gather(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&joined(&read(&path)));
            }
        }
    }
    let mut text = String::new();
    gather(&root().join("crates"), &mut text);
    text
}

fn function<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    let from = source.find(&format!("fn {name}("))?;
    let rest = &source[from..];
    let line = source[..from].rfind('\n').map_or(0, |at| at + 1);
    let end = format!("\n{}}}\n", &source[line..from].chars().take_while(|c| *c == ' ').collect::<String>());
    Some(rest.find(&end).map_or(rest, |at| &rest[..at]))
}

/// The string literals of a source that contain no quotes.
fn literals(source: &str) -> Vec<String> {
    let unescaped = source.replace("\\\"", "\u{1}");
    unescaped.split('"').skip(1).step_by(2).map(|text| text.replace('\u{1}', "\"")).collect()
}

#[test]
fn every_row_of_the_runbook_quotes_the_program_and_names_a_test_that_provokes_it() {
    let page = read(&root().join("docs/RUNBOOK.md"));
    let (rows, program) = (rows(&page), program());
    assert!(rows.len() > 40, "{} rows", rows.len());
    let mut faults = Vec::new();
    for row in &rows {
        let pieces = pieces(row);
        for piece in &pieces {
            // Messages of other programs are quoted, too.
            if !program.contains(piece) && !["not authorized"].contains(piece) {
                faults.push(format!("{}: nothing in the program says {piece:?}", row.symptom));
            }
        }
        let Some((file, name)) = row.test.split_once("::") else {
            faults.push(format!("{}: {:?} names no test", row.symptom, row.test));
            continue;
        };
        let path = root().join(file);
        let source = if path.is_file() { joined(&read(&path)) } else { String::new() };
        let Some(test) = function(&source, name) else {
            faults.push(format!("{}: there is no test {}", row.symptom, row.test));
            continue;
        };
        let looks_for = |piece: &&str| {
            test.contains(*piece)
                || literals(test).iter().any(|text| text.trim().len() >= 5 && piece.contains(text.trim()))
        };
        // A state machine's table of events does not contain their messages.
        let has_words = file.starts_with("tests/") && !pieces.is_empty();
        if has_words && !pieces.iter().any(looks_for) {
            faults.push(format!("{}: {} looks for none of {pieces:?}", row.symptom, row.test));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_runbook_has_every_alert() {
    let page = read(&root().join("docs/RUNBOOK.md"));
    let alerts = read(&root().join("docs/grafana/alerts.yml"));
    let names = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    let missing: Vec<&str> = names.filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(alerts.contains("- alert: ") && missing.is_empty(), "docs/RUNBOOK.md does not have {missing:?}");
}
