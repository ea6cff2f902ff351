//! Draws the model on the screen.

use firesteel_host::plain;
use firesteel_protocol::messages::ClusterTotals;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Row as Drawn, Table, TableState, Wrap};

use super::model::{Model, Panel};
use super::rows::{Row, TableKind, cores_bar, memory_bar};
use crate::cli::table::clean;

/// On a screen with fewer lines than this, only the selected table is shown.
const LOW: u16 = 16;

/// Number of blanks between columns.
const GAP: u16 = 2;

const KEYS: &str = "q quit  tab table  arrows row  s sort  e explain  k kill  ? help";

const HELP: [&str; 9] = [
    "tab, left, right   another table",
    "up, down           another row; page up and down, home and end",
    "s                  sort by the next column",
    "e, enter           explain the selected application",
    "k                  kill the selected application (asks first)",
    "?                  this",
    "q, esc             quit",
    "",
    "In the table of executors, e and k mean the executor's application.",
];

pub(super) fn draw(frame: &mut Frame<'_>, model: &mut Model) {
    let [top, middle, bottom] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(Line::from(summary(model)).style(Modifier::BOLD), top);
    if middle.height < LOW {
        table(frame, model, model.table, middle);
    } else {
        let [workers, applications, executors] =
            Layout::vertical(heights(model, middle.height)).areas(middle);
        for (kind, area) in [
            (TableKind::Workers, workers),
            (TableKind::Applications, applications),
            (TableKind::Executors, executors),
        ] {
            table(frame, model, kind, area);
        }
    }
    frame.render_widget(last_line(model), bottom);
    panel(frame, model);
}

/// The cluster's state in one line.
fn summary(model: &Model) -> String {
    let Some(view) = &model.view else { return format!("firesteel top: asking {} ..", model.masters) };
    let ClusterTotals { workers: count, cores: all, cores_used: used, memory, memory_used, .. } =
        ClusterTotals::of(view);
    format!(
        "{}  cores {}  memory {}  workers {count}  applications {}",
        clean(&view.url),
        cores_bar(used, all),
        memory_bar(memory_used, memory),
        view.applications.len()
    )
}

/// Gives each table the height that it needs, if the screen is high enough. Otherwise each table gets an equal share,
/// and lines that one table does not need go to the others.
fn heights(model: &Model, height: u16) -> [Constraint; 3] {
    let needs =
        TableKind::ALL.map(|kind| u16::try_from(model.rows(kind).len().max(1) + 2).unwrap_or(u16::MAX));
    let mut given = [0_u16; 3];
    let mut left = height;
    while left > 0 && given != needs {
        for (given, need) in given.iter_mut().zip(needs) {
            if *given < need && left > 0 {
                *given += 1;
                left -= 1;
            }
        }
    }
    given[2] += left;
    given.map(Constraint::Length)
}

fn table(frame: &mut Frame<'_>, model: &mut Model, kind: TableKind, area: Rect) {
    let rows = model.rows(kind);
    let has_mark = model.table == kind;
    let title = format!("{} {}, by {}", kind.title(), rows.len(), model.order(kind).to_lowercase());
    let unread = model.view.as_ref().map_or(0, |view| match kind {
        TableKind::Workers | TableKind::Applications => 0,
        TableKind::Executors => view.unread_executors,
    });
    let title = if unread > 0 { format!("{title}, and {unread} more") } else { title };
    let style = if has_mark { Style::new().fg(Color::Cyan).bold() } else { Style::new().bold() };
    let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    frame.render_widget(Line::styled(title, style), head);
    let place = model.mark(kind, &rows);
    let mut state = TableState::default();
    if has_mark && !rows.is_empty() {
        state.select(Some(place));
        model.page = usize::from(body.height.saturating_sub(2)).max(1);
    }
    let widths = widths(kind, &rows, usize::from(body.width));
    let cut = if plain::draws_glyphs() { '…' } else { '~' };
    let drawn = rows.iter().map(|row| {
        let cells = row.cells.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 => tail(&clean(cell), *width, cut),
            _ => beginning(&clean(cell), *width, cut),
        });
        Drawn::new(cells.collect::<Vec<String>>())
    });
    let names = kind.header().iter().copied().take(widths.len());
    let lengths = widths.iter().map(|width| Constraint::Length(u16::try_from(*width).unwrap_or(u16::MAX)));
    let table = Table::new(drawn, lengths)
        .header(Drawn::new(names).style(Modifier::DIM))
        .column_spacing(GAP)
        .row_highlight_style(Modifier::REVERSED);
    frame.render_stateful_widget(table, body, &mut state);
}

/// A column other than the first is cut to this width before another column is left out.
const CUT: usize = 24;

/// The widths of the columns that fit. A column is as wide as its widest cell, if the screen is wide enough. The first
/// column may be cut to the screen. Long columns are cut before columns to their right are left out.
fn widths(kind: TableKind, rows: &[Row], screen: usize) -> Vec<usize> {
    let gap = usize::from(GAP);
    let widest = kind.header().iter().enumerate().map(|(column, name)| {
        let cells = rows.iter().filter_map(|row| row.cells.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(name.len())
    });
    let widest: Vec<usize> = widest.collect();
    let mut left = screen;
    let mut fitting = Vec::new();
    for width in &widest {
        let least = (*width).min(CUT);
        if fitting.is_empty() {
            fitting.push((*width).min(left));
        } else if least <= left {
            fitting.push(least);
        } else {
            break;
        }
        left = left.saturating_sub(fitting.last().map_or(0, |width| width + gap));
    }
    // The remaining width goes to the columns that were cut. No gap follows the last column.
    let mut left = left + if left > 0 { gap } else { 0 };
    for (fits, width) in fitting.iter_mut().zip(&widest).skip(1) {
        let more = left.min(width.saturating_sub(*fits));
        *fits += more;
        left -= more;
    }
    fitting
}

/// The beginning of a text that does not fit, with a sign that it was cut.
fn beginning(text: &str, width: usize, cut: char) -> String {
    match width {
        _ if text.chars().count() <= width => text.to_owned(),
        0 => String::new(),
        width => text.chars().take(width - 1).chain(std::iter::once(cut)).collect(),
    }
}

/// Shortens a text at its beginning, because ids differ at their ends.
fn tail(text: &str, width: usize, cut: char) -> String {
    let length = text.chars().count();
    match width {
        _ if length <= width => text.to_owned(),
        0 => String::new(),
        width => std::iter::once(cut).chain(text.chars().skip(length - width + 1)).collect(),
    }
}

fn last_line(model: &Model) -> Line<'_> {
    let loud = Style::new().fg(Color::Red).bold();
    match (&model.panel, &model.trouble, &model.message) {
        (Panel::Question { app }, ..) => Line::styled(format!("end {app}? y/n"), loud),
        (_, Some(trouble), _) => Line::styled(format!("no answer, trying again: {}", clean(trouble)), loud),
        (_, None, Some(message)) => Line::raw(clean(message)),
        (_, None, None) => Line::styled(KEYS, Modifier::DIM),
    }
}

fn panel(frame: &mut Frame<'_>, model: &mut Model) {
    match &mut model.panel {
        Panel::Nothing | Panel::Question { .. } => {}
        Panel::Help => {
            let lines: Vec<Line<'_>> = HELP.iter().map(|line| Line::raw(*line)).collect();
            pane(frame, "keys", lines, &mut 0);
        }
        Panel::Explained { sentences, from } => {
            let lines: Vec<Line<'_>> = sentences.iter().map(|sentence| Line::raw(clean(sentence))).collect();
            pane(frame, "explained; any key", lines, from);
        }
    }
}

/// Draws text over the tables, only as large as needed. The text does not scroll beyond its end.
fn pane(frame: &mut Frame<'_>, title: &str, lines: Vec<Line<'_>>, from: &mut u16) {
    let screen = frame.area();
    let width = screen.width.saturating_sub(2).min(110);
    let inner = usize::from(width.saturating_sub(2)).max(1);
    let needed: usize = lines.iter().map(|line| line.width().div_ceil(inner).max(1) + 1).sum();
    let height = u16::try_from(needed + 2).unwrap_or(u16::MAX).min(screen.height);
    let area = Rect { x: (screen.width - width) / 2, y: (screen.height - height) / 2, width, height };
    let hidden = u16::try_from(needed).unwrap_or(u16::MAX).saturating_sub(height.saturating_sub(2));
    *from = (*from).min(hidden);
    let text = Paragraph::new(lines)
        .wrap(Wrap { trim: false })
        .scroll((*from, 0))
        .block(bordered().title(title.to_owned()));
    frame.render_widget(Clear, area);
    frame.render_widget(text, area);
}

/// A border of lines, or of ASCII characters on terminals without line drawing.
fn bordered() -> Block<'static> {
    let block = Block::bordered();
    if plain::draws_glyphs() {
        return block;
    }
    block.border_set(border::Set {
        top_left: "+",
        top_right: "+",
        bottom_left: "+",
        bottom_right: "+",
        vertical_left: "|",
        vertical_right: "|",
        horizontal_top: "-",
        horizontal_bottom: "-",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_are_left_out_and_the_first_keeps_its_end() {
        let row = Row {
            key: String::new(),
            app: None,
            cells: ["app-1234567890", "sums", "RUNNING"].map(String::from).to_vec(),
        };
        let widths = |screen| widths(TableKind::Applications, std::slice::from_ref(&row), screen);
        assert_eq!(widths(100)[..3], [14, 4, 7]);
        assert_eq!(widths(20), [14, 4]);
        assert_eq!(widths(19), [14]);
        assert_eq!(widths(5), [5]);
        assert_eq!(widths(0), [0]);
        assert_eq!(tail("app-1234567890", 5, '…'), "…7890");
        assert_eq!(tail("app-1", 5, '…'), "app-1");
    }

    #[test]
    fn a_long_name_is_cut_before_columns_behind_it_are_left_out() {
        let long = "nightly sums of the whole warehouse, europe-west";
        let cells = ["app-20261128095958-1720", long, "RUNNING", "4 of 4", "2", "somebody", "5 s ago"];
        let row = Row { key: String::new(), app: None, cells: cells.map(String::from).to_vec() };
        let widths = |screen| widths(TableKind::Applications, std::slice::from_ref(&row), screen);
        assert_eq!(widths(80), [23, 27, 7, 6, 9]);
        assert_eq!(widths(120), [23, 46, 7, 6, 9, 8, 9]);
        assert_eq!(widths(200), [23, 48, 7, 6, 9, 8, 9]);
        assert_eq!(beginning(long, 12, '…'), "nightly sum…");
        assert_eq!(
            (beginning("sums", 12, '…'), beginning("sums", 0, '…')),
            ("sums".to_owned(), String::new())
        );
    }
}
