//! Tables, and durations for people.

use comfy_table::{CellAlignment, Table, presets};
pub use firesteel_host::plain::clean;
pub use firesteel_placement::words::duration;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_move_the_cursor() {
        let shown = table(&["NAME"], vec![vec!["a\u{1b}[2Jb\nc".to_owned()]]);
        assert_eq!(shown.lines().map(str::trim).collect::<Vec<_>>(), ["NAME", "a\u{fffd}[2Jb\u{fffd}c"]);
        assert_eq!(table(&["NAME"], Vec::new()), "  none");
    }
}
