//! Tables, and durations as text.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
pub use firesteel_host::plain::clean;
pub use firesteel_placement::advanced::words::duration;

/// The columns that a narrow terminal leaves out, in this order. The output of `--json` contains all of them.
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

/// The width above which a column is wrapped before any column is left out. The first column is never wrapped.
const WRAPPED: usize = 24;

/// The smallest width of a column's text, on the narrowest terminal.
const NARROWEST: usize = 8;

/// A table with a header and without borders, which fits the width of the terminal. Without rows the result is ` none`.
/// To fit, the table first leaves out empty columns. Then it leaves out the columns of `LEAST`, which a line below the
/// table names. Then it wraps long columns.
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
    if total(&contents(&drawn(header, &rows, &columns))) > width {
        columns.retain(|column| rows.iter().any(|row| !row[*column].is_empty()));
    }
    let mut left_out = Vec::new();
    for name in LEAST {
        if total(&wrapped(&contents(&drawn(header, &rows, &columns)))) <= width {
            break;
        }
        if let Some(at) = columns.iter().position(|column| header[*column] == name) {
            columns.remove(at);
            left_out.push(name);
        }
    }
    let mut table = drawn(header, &rows, &columns);
    let widths = contents(&table);
    if total(&widths) > width {
        for (column, fits) in table.column_iter_mut().zip(within(&widths, width)) {
            let padded = u16::try_from(fits + PADDING).unwrap_or(u16::MAX);
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(padded)));
        }
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
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(columns.iter().map(|column| header[*column]))
        .add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Left);
    }
    table
}

/// The width of the blanks of a column: one blank on each side.
const PADDING: usize = 2;

/// The widths of the columns without wrapping.
fn contents(table: &Table) -> Vec<usize> {
    table.column_max_content_widths().into_iter().map(usize::from).collect()
}

/// The width of a table with columns of these widths. The blank after the last column does not count.
fn total(widths: &[usize]) -> usize {
    widths.iter().map(|column| column + PADDING).sum::<usize>().saturating_sub(1)
}

/// The widths if all long columns except the first are wrapped.
fn wrapped(widths: &[usize]) -> Vec<usize> {
    let rest = widths.iter().skip(1).map(|column| *column.min(&WRAPPED));
    widths.first().copied().into_iter().chain(rest).collect()
}

/// The widths with which a table fits a terminal. Long columns share the remaining width, the first columns first. If
/// it is not enough, the widest columns become narrower.
fn within(widths: &[usize], width: usize) -> Vec<usize> {
    let mut fits = wrapped(widths);
    let mut room = width.saturating_sub(total(&fits));
    for (fit, content) in fits.iter_mut().zip(widths) {
        let more = room.min(content - *fit);
        *fit += more;
        room -= more;
    }
    while total(&fits) > width {
        // The first column has ids, which users copy.
        let (first, rest) = fits.split_at_mut(1);
        match widest(rest).or_else(|| widest(first)) {
            Some(widest) => *widest -= 1,
            None => break,
        }
    }
    fits
}

/// The widest column that can still become narrower.
fn widest(columns: &mut [usize]) -> Option<&mut usize> {
    columns.iter_mut().max().filter(|widest| **widest > NARROWEST)
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
                "                          hosts, the last one on node-7",
                "  (not shown for want of room: USER)",
            ]
        );
    }

    #[test]
    fn a_long_name_is_wrapped_and_no_table_is_wider_than_its_terminal() {
        let header = ["APPLICATION", "NAME", "STATE", "CORES", "SUBMITTED"];
        let row = [
            "app-20261128095958-1720",
            "nightly-sums of the whole warehouse",
            "RUNNING",
            "4 of 4",
            "5 s ago",
        ];
        let shown = |width| fitted(&header, vec![row.map(str::to_owned).to_vec()], Some(width));
        assert_eq!(
            shown(80),
            " APPLICATION              NAME                        STATE    CORES   SUBMITTED\n \
             app-20261128095958-1720  nightly-sums of the whole   RUNNING  4 of 4  5 s ago\n                          \
             warehouse"
        );
        for width in 45..120 {
            let widest = shown(width).lines().map(|line| line.chars().count()).max();
            assert!(widest.is_some_and(|widest| widest <= width), "{width}: {}", shown(width));
        }
    }
}
