//! Golden files: recorded decisions, compared with those of now. `UPDATE_GOLDEN=1` records them; commit only
//! differences that you can explain.

use std::fmt::Write as _;

use crate::fixtures;

/// Compares `found` with the file of this name under `fixtures/`, or records it if requested.
#[expect(clippy::disallowed_methods, reason = "tests read fixtures, and write them when asked")]
pub fn check(name: &str, found: &str) {
    let path = fixtures::path(name);
    if std::env::var("UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("it can be made");
        std::fs::write(&path, found).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let recorded = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; UPDATE_GOLDEN=1 writes it", path.display()));
    assert!(
        recorded == found,
        "{name} is not what it was (UPDATE_GOLDEN=1 takes the new one):\n{}",
        difference(&recorded, found)
    );
}

/// The lines around the first difference, old with `-`, new with `+`.
fn difference(recorded: &str, found: &str) -> String {
    let same = recorded.lines().zip(found.lines()).take_while(|(old, new)| old == new).count();
    let mut shown = String::new();
    for line in recorded.lines().take(same).skip(same.saturating_sub(3)) {
        let _ = writeln!(shown, "  {line}");
    }
    for (sign, text) in [('-', recorded), ('+', found)] {
        for line in text.lines().skip(same).take(8) {
            let _ = writeln!(shown, "{sign} {line}");
        }
    }
    let _ = write!(shown, "(line {})", same + 1);
    shown
}

#[test]
fn a_difference_is_shown_with_what_comes_before_it() {
    let shown = difference("a\nb\nc\nd\n", "a\nb\nx\nd\n");
    assert_eq!(shown, "  a\n  b\n- c\n- d\n+ x\n+ d\n(line 3)");
}
