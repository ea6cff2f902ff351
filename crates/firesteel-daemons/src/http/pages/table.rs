//! Tables that are filtered, sorted and paged on the server, so that they work with any number of rows and without a
//! script.

use std::cmp::Ordering;

use maud::{Markup, html};

use super::super::query::Query;
use super::frame::FILTER;
use super::parts::grouped;

/// The maximum number of rows on one page of a table.
const ROWS: usize = 100;

pub(in super::super) struct Column<T> {
    pub(in super::super) name: &'static str,
    pub(in super::super) shape: Shape,
    /// The order of rows by this column. `None`: rows cannot be sorted by this column.
    pub(in super::super) order: Option<fn(&T, &T) -> Ordering>,
}

/// How a column is formatted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Shape {
    /// Words, such as names and states.
    Words,
    /// Right-aligned numbers. Sorted from large to small.
    Numbers,
    /// Sentences, which get the remaining width.
    Sentences,
}

pub(in super::super) struct Table<'a, T> {
    /// The id of the table on the page, and the prefix of the table's names in the URL.
    pub(in super::super) id: &'static str,
    pub(in super::super) title: &'a str,
    /// The text that is shown if the table has no rows.
    pub(in super::super) empty: &'a str,
    pub(in super::super) columns: &'a [Column<T>],
    /// The text of a row that the filter searches.
    pub(in super::super) text: &'a dyn Fn(&T) -> String,
}

pub(in super::super) struct Cut<'r, T> {
    pub(in super::super) rows: Vec<&'r T>,
    found: usize,
    from: usize,
    all: usize,
}

impl<T> Table<'_, T> {
    pub(in super::super) fn cut<'r>(&self, rows: &'r [T], query: &Query) -> Cut<'r, T> {
        let filter = query.get(FILTER).unwrap_or_default().to_lowercase();
        let words: Vec<&str> = filter.split_whitespace().collect();
        let is_found = |row: &&T| {
            if words.is_empty() {
                return true;
            }
            let text = (self.text)(row).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        let mut found: Vec<&T> = rows.iter().filter(is_found).collect();
        let by = query.get(&format!("{}By", self.id));
        if let Some((column, order)) =
            self.columns.iter().find(|column| Some(column.name) == by).and_then(|it| Some((it, it.order?)))
        {
            match column.shape {
                Shape::Numbers => found.sort_by(|one, other| order(other, one)),
                Shape::Words | Shape::Sentences => found.sort_by(|one, other| order(one, other)),
            }
        }
        let count = found.len();
        let from = query.number(&format!("{}From", self.id)).unwrap_or(0);
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(count.saturating_sub(1) / ROWS * ROWS);
        found.drain(..from);
        found.truncate(ROWS);
        Cut { rows: found, found: count, from, all: rows.len() }
    }

    /// The table with these rows. `cells` makes the cells of a row, one for each column.
    pub(in super::super) fn show(
        &self,
        cut: &Cut<'_, T>,
        query: &Query,
        cells: impl Fn(&T) -> Vec<Markup>,
    ) -> Markup {
        let Cut { rows, found, from, all } = cut;
        let by = query.get(&format!("{}By", self.id));
        let cells: Vec<Vec<Markup>> = rows.iter().map(|row| cells(row)).collect();
        // A column without any contents is hidden.
        let is_shown = |index: usize| index == 0 || cells.iter().any(|row| !row[index].0.is_empty());
        let shown: Vec<(usize, &Column<T>)> =
            self.columns.iter().enumerate().filter(|(index, _)| is_shown(*index)).collect();
        html! {
            section id=(self.id) {
                h2 {
                    (self.title) " "
                    span.count { @if found == all { (grouped(*all)) } @else { (grouped(*found)) " of " (grouped(*all)) } }
                }
                @if rows.is_empty() {
                    p.empty { @if *all == 0 { (self.empty) } @else { "No row has this text." } }
                } @else {
                    div.scroll {
                        table {
                            caption.unseen { (self.title) }
                            thead { tr { @for (_, column) in &shown { (self.head(column, by, query)) } } }
                            tbody { @for row in &cells { tr {
                                @for &(index, column) in &shown {
                                    @if index == 0 { th scope="row" data-name=(column.name) { (row[index]) } }
                                    @else { td class=[column.shape.class()] data-name=(column.name) { (row[index]) } }
                                }
                            } } }
                        }
                    }
                    @if *found > rows.len() { (self.pager(*from, rows.len(), *found, query)) }
                }
            }
        }
    }

    fn head(&self, column: &Column<T>, by: Option<&str>, query: &Query) -> Markup {
        let is_sorted = by == Some(column.name);
        let direction = match (is_sorted, column.shape) {
            (false, _) => None,
            (true, Shape::Numbers) => Some("descending"),
            (true, Shape::Words | Shape::Sentences) => Some("ascending"),
        };
        let (name, from) = (format!("{}By", self.id), format!("{}From", self.id));
        let link = query.with(&[(&name, (!is_sorted).then_some(column.name)), (&from, None)]);
        html! {
            th scope="col" class=[column.shape.class()] aria-sort=[direction] {
                @if column.order.is_some() {
                    a href={ (link) "#" (self.id) } title={ "Sort by " (column.name.to_lowercase()) } { (column.name) }
                } @else { (column.name) }
            }
        }
    }

    fn pager(&self, from: usize, rows: usize, found: usize, query: &Query) -> Markup {
        let name = format!("{}From", self.id);
        let link = |from: usize| format!("{}#{}", query.with(&[(&name, Some(&from.to_string()))]), self.id);
        let last = (found - 1) / ROWS * ROWS;
        html! {
            nav.pager aria-label={ "Rows of " (self.title) } {
                span { "Rows " (grouped(from + 1)) " to " (grouped(from + rows)) " of " (grouped(found)) }
                @if from > 0 {
                    a href=(link(0)) { "First" }
                    a href=(link(from - ROWS)) { "Previous " (ROWS) }
                }
                @if from < last {
                    a href=(link(from + ROWS)) { "Next " (ROWS.min(found - from - rows)) }
                    a href=(link(last)) { "Last" }
                }
            }
        }
    }
}

impl Shape {
    fn class(self) -> Option<&'static str> {
        match self {
            Self::Words => None,
            Self::Numbers => Some("number"),
            Self::Sentences => Some("sentences"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<'static, u32> {
        const COLUMNS: &[Column<u32>] = &[
            Column { name: "Name", shape: Shape::Words, order: None },
            Column { name: "Size", shape: Shape::Numbers, order: Some(u32::cmp) },
            Column { name: "Never", shape: Shape::Words, order: None },
        ];
        Table {
            id: "rows",
            title: "Rows",
            empty: "None.",
            columns: COLUMNS,
            text: &|row| format!("Row {row}"),
        }
    }

    fn shown(rows: &[u32], query: &str) -> (Vec<u32>, String) {
        let (table, query) = (table(), Query::of(query));
        let cut = table.cut(rows, &query);
        let page = table.show(&cut, &query, |row| vec![html! { "<" (row) }, html! { (row) }, html! {}]);
        (cut.rows.into_iter().copied().collect(), page.into_string())
    }

    #[test]
    fn the_filter_searches_all_rows() {
        let rows: Vec<u32> = (0..1000).collect();
        let (found, page) = shown(&rows, "filter=ROW+98&rowsFrom=100");
        let expected: Vec<u32> = rows.iter().copied().filter(|row| row.to_string().contains("98")).collect();
        assert_eq!(found, expected);
        assert!(page.contains(" of 1,000</span>"), "{page}");
        assert_eq!(shown(&rows, "filter=none").0, [] as [u32; 0]);
        assert!(shown(&rows, "filter=none").1.contains("No row has this text."));
        assert!(shown(&[], "").1.contains("None."));
    }

    #[test]
    fn rows_come_a_page_at_a_time_and_in_the_order_that_was_chosen() {
        let rows: Vec<u32> = (0..250).collect();
        assert_eq!(shown(&rows, "").0, (0..100).collect::<Vec<_>>());
        assert_eq!(shown(&rows, "rowsFrom=200").0, (200..250).collect::<Vec<_>>());
        assert_eq!(shown(&rows, "rowsFrom=99999").0, (200..250).collect::<Vec<_>>());
        let (found, page) = shown(&rows, "rowsBy=Size");
        assert_eq!(found, (150..250).rev().collect::<Vec<_>>());
        assert!(!page.contains("Never"), "an empty column: {page}");
        assert!(page.contains("aria-sort=\"descending\""), "{page}");
        assert!(page.contains("href=\"?rowsBy=Size&amp;rowsFrom=100#rows\">Next 100</a>"), "{page}");
    }
}
