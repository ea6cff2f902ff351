//! The normal form of values that differ between runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Patterns with their replacements, in the order of replacement.
static PATTERNS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"local-cluster\[\d+,\d+,\d+\]", "local-cluster[W,C,M]"),
        (r"\b(127\.0\.0\.\d+|localhost):\d+", "$1:PORT"),
        (r"\bpid \d+", "pid N"),
        (r"\b(\d+ h )?(\d+ m )?\d+(\.\d+)? (s|ms)\b", "N s"),
        (r"\b\d+ k/s\b", "N k/s"),
        (r"\b\d+ executors?, \d+ cores?", "E executors, C cores"),
        (r" {2,}", "  "),
        (r"([─━═-])[─━═-]{3,}", "$1$1$1"),
        (r"(?m) +$", ""),
    ]
    .into_iter()
    .map(|(pattern, words)| (Regex::new(pattern).expect("the pattern is sound"), words))
    .collect()
});

static IDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(app|driver)-\d{14}-\d+|\b(worker)-\d{14}-[\w.]+-\d+").expect("the pattern is sound")
});

/// The numbers of ids, in the order of their first occurrence.
#[derive(Debug, Default)]
pub(super) struct Normal {
    ids: BTreeMap<String, String>,
    kinds: BTreeMap<String, usize>,
}

impl Normal {
    /// The normal form of a text, in which `directory` may occur.
    pub(super) fn form(&mut self, text: &str, directory: &Path) -> String {
        let text = text.replace(&directory.display().to_string(), "DIR");
        let text = IDS.replace_all(&text, |found: &Captures<'_>| self.number(found)).into_owned();
        PATTERNS.iter().fold(text, |text, (pattern, words)| pattern.replace_all(&text, *words).into_owned())
    }

    fn number(&mut self, found: &Captures<'_>) -> String {
        let kind = found.get(1).or_else(|| found.get(2)).expect("one of both matches").as_str();
        if let Some(known) = self.ids.get(&found[0]) {
            return known.clone();
        }
        let count = self.kinds.entry(kind.to_owned()).or_default();
        *count += 1;
        let name = format!("{kind}-{count}");
        self.ids.insert(found[0].to_owned(), name.clone());
        name
    }
}

#[test]
fn ids_are_numbered_and_times_are_words() {
    let text = "app-20261120234344-9741/0  worker-20261120234341-127.0.0.1-36313    2026-11-20T23:43:44.048Z  \n\
        app-20261120234344-9742 after app-20261120234344-9741: 3 items in 0.52 s at 127.0.0.1:4040 in /tmp/x/w1";
    let expected = "app-1/0  worker-1  TIME\napp-2 after app-1: 3 items in N s at 127.0.0.1:PORT in DIR/w1";
    assert_eq!(Normal::default().form(text, Path::new("/tmp/x")), expected);
}
