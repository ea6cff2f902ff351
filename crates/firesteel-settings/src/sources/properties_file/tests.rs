//! Tests of the parser of properties files, against recordings of the JDK and by hand.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::bufread::GzDecoder;
use serde::Deserialize;

use super::{GrammarError, Pair, parse, trimmed};

#[derive(Deserialize)]
struct Recorded {
    file: String,
    pairs: Option<BTreeMap<String, String>>,
}

/// The README in fixtures/settings describes how the files were recorded.
#[test]
fn three_thousand_files_are_read_as_the_jdk_reads_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/settings/properties.jsonl.gz");
    let file = BufReader::new(File::open(path).expect("the fixture is there"));
    let mut lines = 0;
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let line = line.expect("the fixture is whole");
        let recorded: Recorded = serde_json::from_str(&line).expect("it is JSON");
        let byte = |at| u8::from_str_radix(&recorded.file[at..at + 2], 16).expect("it is hexadecimal");
        let bytes: Vec<u8> = (0..recorded.file.len()).step_by(2).map(byte).collect();
        let found = parse(&bytes).ok().map(|pairs| pairs.into_iter().map(|it| (it.key, it.value)).collect());
        assert_eq!(found, recorded.pairs, "{:?}", String::from_utf8_lossy(&bytes));
        lines += 1;
    }
    assert_eq!(lines, 3000);
}

#[test]
fn a_pair_has_the_line_on_which_it_begins() {
    let text = "# first\n\nspark.a 1\r\nspark.b = 2\\\n   3\r! note\rspark.c:\\\n\n\n  spark.d";
    let found: Vec<(usize, String, String)> = parse(text.as_bytes())
        .expect("it is sound")
        .into_iter()
        .map(|it| (it.line, it.key, it.value))
        .collect();
    let expected = [(3, "spark.a", "1"), (4, "spark.b", "23"), (7, "spark.c", ""), (10, "spark.d", "")];
    assert_eq!(found, expected.map(|(line, key, value)| (line, key.to_owned(), value.to_owned())));
}

#[test]
fn a_file_may_end_in_a_backslash() {
    let pair = |line, key: &str, value: &str| Pair { line, key: key.to_owned(), value: value.to_owned() };
    assert_eq!(parse(b"spark.a=1\nspark.b=2\\"), Ok(vec![pair(1, "spark.a", "1"), pair(2, "spark.b", "2")]));
}

#[test]
fn a_malformed_escape_is_told_with_its_line_unless_it_is_in_a_comment() {
    let error = parse(b"# C:\\users\nspark.a=1\nspark.local.dir=C:\\users").expect_err("there are no digits");
    assert_eq!(error, GrammarError::MalformedEscape { line: 3 });
    assert!(error.to_string().starts_with("line 3: \\u is not followed by four"), "{error}");
}

#[test]
fn values_keep_line_ends_around_them_and_nothing_else() {
    assert_eq!(trimmed(" \t x y \u{1}"), "x y");
    assert_eq!(trimmed(" \n x \r "), "\n x \r");
    assert_eq!(trimmed(" \t "), "");
}
