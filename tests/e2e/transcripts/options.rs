//! Every option of every command is on some page, or has a test in `elsewhere.txt`.

use std::collections::BTreeSet;

use firesteel_testkit::{firesteel, run};

use super::page::Page;
use super::{directory, read, tour};

/// The words of a help text that are names: of commands, or of options.
fn help(arguments: &[&str]) -> String {
    let done = run(firesteel().args(arguments).arg("--help"));
    assert_eq!(done.code(), 0, "{arguments:?}: {done}");
    done.stdout
}

/// The commands that `firesteel --help` lists.
fn commands() -> Vec<String> {
    let text = help(&[]);
    let list = text.split_once("Commands:\n").expect("there are commands").1;
    let list = list.split("\n\n").next().unwrap_or_default();
    let names = list.lines().filter_map(|line| {
        let line = line.strip_prefix("  ")?;
        (!line.starts_with(' ')).then(|| line.split_whitespace().next().unwrap_or_default().to_owned())
    });
    names.filter(|name| name != "help").collect()
}

/// The long options in a help text; an option without a long form by its short one.
fn options(text: &str) -> BTreeSet<String> {
    let listed = text.lines().filter(|line| line.starts_with(' ') && line.trim_start().starts_with('-'));
    let named = listed.filter_map(|line| {
        let words =
            line.split([' ', ',', '=', '[', '.']).filter(|word| word.starts_with('-') && word.len() > 1);
        let words: Vec<_> = words.collect();
        words.iter().find(|word| word.starts_with("--")).or(words.first()).map(|word| (*word).to_owned())
    });
    named.collect()
}

/// The words of each `firesteel` command in a line: the command's name, and the words up to its end.
fn uses(line: &str) -> Vec<Vec<String>> {
    let mut uses: Vec<Vec<String>> = Vec::new();
    for part in line.split(['|', ';', '&', '\n', '(', ')']) {
        let words: Vec<String> = part.split_whitespace().map(str::to_owned).collect();
        if let Some(at) = words.iter().position(|word| word == "firesteel") {
            uses.push(words[at + 1..].to_vec());
        } else if let Some(last) = uses.last_mut() {
            // A line that continues after a backslash.
            last.extend(words);
        }
    }
    uses
}

/// Rows of `elsewhere.txt`: `command option module::test`.
fn elsewhere() -> Vec<(String, String)> {
    let text = read(&directory().join("elsewhere.txt"));
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let [command, option, test] = words[..] else { panic!("elsewhere.txt: {row:?} is no row") };
        let (module, function) = test.rsplit_once("::").expect("a test is in a module");
        let module = directory().join("..").join(module.replace("::", "/"));
        let file = module.with_extension("rs");
        let source = read(&if file.is_file() { file } else { module.join("mod.rs") });
        assert!(source.contains(&format!("fn {function}(")), "elsewhere.txt: there is no test {test}");
        (command.to_owned(), option.to_owned())
    })
    .collect()
}

#[test]
fn every_option_of_every_command_is_shown() {
    let mut texts = Vec::from(tour::pages());
    for entry in std::fs::read_dir(directory().join("pages")).expect("the pages are there") {
        texts.push(read(&entry.expect("it can be listed").path()));
    }
    let pages: Vec<Page> = texts.iter().map(|text| Page::parse(text)).collect();
    let shown: Vec<(Vec<String>, &str)> = pages
        .iter()
        .flat_map(Page::commands)
        .flat_map(|(line, answer)| uses(line).into_iter().map(move |words| (words, answer)))
        .collect();
    let elsewhere = elsewhere();
    let is_shown = |command: Option<&str>, option: &str| {
        let matches = |word: &str| {
            word == option || word.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
        };
        let in_page = shown.iter().any(|(words, _)| {
            command.is_none_or(|command| words.iter().any(|word| word == command))
                && words.iter().any(|word| matches(word))
        });
        let name = command.unwrap_or("-");
        in_page || elsewhere.iter().any(|(its, other)| its == name && other == option)
    };
    let general = options(&help(&[]));
    let mut missing = Vec::new();
    for option in &general {
        if !is_shown(None, option) {
            missing.push(format!("firesteel {option}"));
        }
    }
    for command in commands() {
        for option in options(&help(&[&command])).difference(&general) {
            if !is_shown(Some(&command), option) {
                missing.push(format!("firesteel {command} {option}"));
            }
        }
        let fails = |(words, answer): &(Vec<String>, &str)| {
            words.contains(&command) && answer.contains("[exit code ")
        };
        if !shown.iter().any(fails) {
            missing.push(format!("firesteel {command}: no page shows how it fails"));
        }
    }
    assert!(
        missing.is_empty(),
        "no page shows these, and elsewhere.txt does not name a test:\n{}",
        missing.join("\n")
    );
}

#[test]
fn uses_of_the_command_are_found_in_a_line() {
    let found = uses("seq 3 | firesteel -q map -- cat; A=1 firesteel status \\\n  --json");
    assert_eq!(found, [vec!["-q", "map", "--", "cat"], vec!["status", "\\", "--json"]]);
}
