//! Tables, and durations for people.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
pub use firesteel_host::plain::clean;
pub use firesteel_placement::words::duration;

/// The columns that a narrow terminal does without, the first one first. `--json` has all of them.
const LEAST: [&str; 11] = [
    "MEMORY PER EXECUTOR",
    "USER",
    "TOOK",
    "DURATION",
    "CPU",
    "MEMORY",
    "LAUNCHED",
    "HEARTBEAT",
    "SUBMITTED",
    "ENDED",
    "EXECUTORS",
];

/// The columns of text that the last column of a table has at least.
const LAST: usize = 24;

/// A table with a header and without borders. Without rows it is `  none`. On a terminal it is as wide as that: first columns
/// without any value are left out, then some others, which a line below names; then the last column is wrapped.
#[must_use]
pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let width = Table::new().width().map(usize::from);
    fitted(header, rows, width)
}

fn fitted(header: &[&str], rows: Vec<Vec<String>>, width: Option<usize>) -> String {
    if rows.is_empty() {
        return "  none".to_owned();
    }
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|row| row.into_iter().map(|cell| clean(&cell)).collect()).collect();
    let mut columns: Vec<usize> = (0..header.len()).collect();
    let Some(width) = width else { return drawn(header, &rows, &columns).trim_fmt() };
    if widest(&drawn(header, &rows, &columns)) > width {
        columns.retain(|column| rows.iter().any(|row| !row[*column].is_empty()));
    }
    let mut left_out = Vec::new();
    for name in LEAST {
        if needed(header, &rows, &columns) <= width {
            break;
        }
        if let Some(at) = columns.iter().position(|column| header[*column] == name) {
            columns.remove(at);
            left_out.push(name);
        }
    }
    let mut table = drawn(header, &rows, &columns);
    if widest(&table) > width {
        let last = columns.len() - 1;
        for column in table.column_iter_mut().take(last) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    let table = table.trim_fmt();
    match left_out.as_slice() {
        [] => table,
        names => format!("{table}\n  (not shown for want of room: {})", names.join(", ")),
    }
}

fn drawn(header: &[&str], rows: &[Vec<String>], columns: &[usize]) -> Table {
    let mut table = Table::new();
    let rows = rows.iter().map(|row| columns.iter().map(|column| row[*column].as_str()));
    table
        .load_style(presets::NOTHING)
        .set_header(columns.iter().map(|column| header[*column]))
        .add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Left);
    }
    table
}

/// The width of a table whose columns are as wide as what they have.
fn widest(table: &Table) -> usize {
    // A column has a blank on each side; the last one is not seen.
    table
        .column_max_content_widths()
        .into_iter()
        .map(|column| usize::from(column) + 2)
        .sum::<usize>()
        .saturating_sub(1)
}

/// The width that a table needs if its last column is wrapped.
fn needed(header: &[&str], rows: &[Vec<String>], columns: &[usize]) -> usize {
    let table = drawn(header, rows, columns);
    let last = table.column_max_content_widths().last().map_or(0, |last| usize::from(*last));
    widest(&table) - last.saturating_sub(LAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_move_the_cursor() {
        let shown = fitted(&["NAME"], vec![vec!["a\u{1b}[2Jb\nc".to_owned()]], None);
        assert_eq!(shown.lines().map(str::trim).collect::<Vec<_>>(), ["NAME", "a\u{fffd}[2Jb\u{fffd}c"]);
        assert_eq!(fitted(&["NAME"], Vec::new(), Some(3)), "  none");
    }

    #[test]
    fn a_table_is_as_wide_as_its_terminal() {
        let header = ["APPLICATION", "USER", "OUTCOME", "REASON"];
        let row = [
            "app-20261128023512-8930",
            "somebody",
            "",
            "all executors failed on 3 hosts, the last one on node-7",
        ];
        let rows = || vec![row.map(str::to_owned).to_vec()];
        let lines = |width| {
            let shown = fitted(&header, rows(), width);
            shown.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            lines(None),
            [
                " APPLICATION              USER      OUTCOME  REASON",
                " app-20261128023512-8930  somebody           all executors failed on 3 hosts, the last one on node-7",
            ]
        );
        assert_eq!(lines(Some(200)), lines(None));
        assert_eq!(
            lines(Some(80)),
            [
                " APPLICATION              USER      REASON",
                " app-20261128023512-8930  somebody  all executors failed on 3 hosts, the last",
                "                                    one on node-7",
            ]
        );
        assert_eq!(
            lines(Some(55)),
            [
                " APPLICATION              REASON",
                " app-20261128023512-8930  all executors failed on 3",
                "                          hosts, the last one on",
                "                          node-7",
                "  (not shown for want of room: USER)",
            ]
        );
    }
}
