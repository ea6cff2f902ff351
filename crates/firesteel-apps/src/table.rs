//! Tables, and durations for people.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
pub use firesteel_host::plain::clean;

/// A table with a header and without borders. Without rows it is `  none`.
#[must_use]
pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return "  none".to_owned();
    }
    let mut table = Table::new();
    let rows = rows.into_iter().map(|row| row.into_iter().map(|cell| clean(&cell)));
    table.load_style(presets::NOTHING).set_header(header).add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Left);
    }
    table.trim_fmt()
}

/// A duration for people: `35 ms`, `1.2 s`, `12 s`, `3 m 12 s`, `2 h 5 m`, `9 d 4 h`.
#[must_use]
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{} ms", duration.subsec_millis()),
        1..=9 => format!("{}.{} s", seconds, duration.subsec_millis() / 100),
        10..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} m {} s", seconds / 60, seconds % 60),
        3600..=86_399 => format!("{} h {} m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        for (millis, words) in [
            (0, "0 ms"),
            (450, "450 ms"),
            (1_250, "1.2 s"),
            (9_999, "9.9 s"),
            (10_000, "10 s"),
            (192_000, "3 m 12 s"),
            (7_500_000, "2 h 5 m"),
            (792_000_000, "9 d 4 h"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), words);
        }
    }

    #[test]
    fn a_cell_cannot_move_the_cursor() {
        let shown = table(&["NAME"], vec![vec!["a\u{1b}[2Jb\nc".to_owned()]]);
        assert_eq!(shown.lines().map(str::trim).collect::<Vec<_>>(), ["NAME", "a\u{fffd}[2Jb\u{fffd}c"]);
        assert_eq!(table(&["NAME"], Vec::new()), "  none");
    }
}
