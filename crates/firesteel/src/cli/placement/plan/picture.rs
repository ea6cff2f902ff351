//! A plan as a picture. The first column shows the cluster before the plan, and each other column shows one set-up.
//! Each Worker is a bar, and the applications are listed below.
//!
//! The length of a bar is the Worker's number of cores. The thin bar below is the Worker's memory, and the cells are
//! addresses of resources. All have the colours of the applications that use them. An executor with a fraction of an
//! address fills that fraction of the cell. If there are many Workers, Workers that are equal in all columns share a
//! row.

mod columns;
mod legend;

use std::collections::BTreeMap;

use firesteel_placement::advanced::words::{are, list, none_or, of_resource};
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::ProfileView;
use firesteel_sim::draft::WorkerOutcome;
use firesteel_sim::picture::{Anchor, HEADING, MARGIN, Paint, Point, SMALL, Svg, TEXT, Weight, words};

use self::columns::{Column, Row, rows};
use super::Decided;
use super::bars::{self, BAR, SHARED, SQUARE, THIN};
use super::source::Source;

/// Width of the column of names, and of the text in it, in pixels.
const NAMES: f64 = 250.0;
const NAME: f64 = NAMES - 14.0;
/// The minimum width of the other columns, in pixels.
const COLUMN: f64 = 250.0;
/// Usual width of the picture, in pixels.
const WIDTH: f64 = 960.0;
/// Space between columns, in pixels.
const GAP: f64 = 28.0;
/// The number of Workers above which equal Workers share a row.
const EACH: usize = 16;
const MOST_ROWS: usize = 48;
const MOST_APPLICATIONS: usize = 21;

pub(super) fn draw(source: &Source, decided: &[Decided]) -> String {
    let before = decided.first().map(|one| one.outcome.before(&source.draft)).unwrap_or_default();
    let mut columns = Vec::new();
    if before.iter().any(|worker| !worker.executors.is_empty()) {
        columns.push(Column::before(&before));
    }
    columns.extend(decided.iter().map(Column::of));
    let states = source.states();
    let (rows, others) = rows(&columns, &states);
    Drawing::new(source, columns, states).draw(&rows, others)
}

/// A picture, and the position of its next line.
struct Drawing<'a> {
    svg: Svg,
    source: &'a Source,
    columns: Vec<Column<'a>>,
    /// The states of Workers that are not fully available to all applications.
    states: BTreeMap<&'a WorkerId, String>,
    /// The requests of waiting applications, by column.
    demands: Vec<Vec<&'a ProfileView>>,
    width: f64,
    column: f64,
    /// Cores of the largest Worker.
    widest: f64,
    cell: f64,
    y: f64,
}

impl<'a> Drawing<'a> {
    fn new(source: &'a Source, columns: Vec<Column<'a>>, states: BTreeMap<&'a WorkerId, String>) -> Self {
        let count = columns.len().max(1) as f64;
        let room = WIDTH - 2.0 * MARGIN - NAMES - (count - 1.0) * GAP;
        let column = (room / count).max(COLUMN);
        let all = columns.first().map_or(&[][..], |column| column.workers);
        let widest = all.iter().map(|worker| worker.cores.0).max().unwrap_or(1).max(1) as f64;
        let mut all_columns = columns.iter().flat_map(|column| column.workers);
        let cell = if all_columns.any(|worker| worker.cells.are_shared()) { SHARED } else { SQUARE };
        let names: Vec<String> =
            columns.iter().map(|column| format!("{}: {}", column.heading, column.below)).collect();
        let description = format!("{}. {}.", counts(source, all), list(&names));
        Self {
            svg: Svg::new(&format!("Plan of {}", source.short_name()), &description),
            source,
            states,
            width: 2.0 * MARGIN + NAMES + count * (column + GAP) - GAP,
            column,
            widest,
            cell,
            demands: columns
                .iter()
                .map(|column| column.decided.map_or_else(Vec::new, |it| it.outcome.waiting()))
                .collect(),
            y: MARGIN,
            columns,
        }
    }

    fn draw(mut self, rows: &[Row], others: usize) -> String {
        self.headings();
        let workers = self.columns.first().map_or(&[][..], |column| column.workers);
        let names: Vec<&str> = rows.iter().map(|row| workers[row.first].id.as_str()).collect();
        let names = words::fit_all(&names, TEXT, Weight::Plain, NAME);
        for (row, name) in rows.iter().zip(&names) {
            self.row(row, name);
        }
        if others > 0 {
            let (workers, are) = (none_or(others as u64, "Worker"), are(others as u64));
            let words = format!("{workers} of rarer kinds {are} not drawn");
            self.write(MARGIN, self.y + TEXT, SMALL, Paint::Muted, &words);
            self.y += 2.0 * TEXT;
        }
        self.applications();
        self.key();
        self.svg.document(self.width, self.y + MARGIN)
    }

    /// Draws the name of the source, and below it the names of the columns.
    fn headings(&mut self) {
        let name = words::fit(self.source.short_name(), HEADING, Weight::Bold, self.width - 2.0 * MARGIN);
        self.bold(MARGIN, self.y + HEADING, HEADING, &name);
        let under = counts(self.source, self.columns.first().map_or(&[], |column| column.workers));
        self.write(MARGIN, self.y + HEADING + TEXT + 5.0, SMALL, Paint::Muted, &under);
        self.y += HEADING + TEXT + 22.0;
        let mut bottom = self.y;
        for index in 0..self.columns.len() {
            let x = self.x(index);
            let heading = words::fit(self.columns[index].heading, TEXT + 2.0, Weight::Bold, self.column);
            self.bold(x, self.y + TEXT, TEXT + 2.0, &heading);
            let mut y = self.y + TEXT + 16.0;
            for line in words::lines(&self.columns[index].below, SMALL, self.column) {
                self.write(x, y, SMALL, Paint::Muted, &line);
                y += SMALL + 3.0;
            }
            bottom = bottom.max(y);
        }
        self.y = bottom + 2.0;
    }

    fn row(&mut self, row: &Row, name: &str) {
        let Some(first) = self.columns.first().map(|column| &column.workers[row.first]) else { return };
        let first_has_resources = !first.resources.is_empty();
        let mut has = vec![none_or(first.cores.0, "core"), first.memory.to_string()];
        has.extend(first.resources.iter().map(|(name, quantity)| of_resource(*quantity, name)));
        has.extend(self.states.get(&first.id).cloned());
        let has = match row.count {
            1 => has.join(", "),
            count => format!("and {} more of {}", count - 1, has.join(", ")),
        };
        let has = words::lines(&has, SMALL, NAME);
        self.write(MARGIN, self.y + 11.0, TEXT, Paint::Ink, name);
        let top = self.y + 25.0;
        for (number, line) in has.iter().enumerate() {
            let y = top + 13.0 * number as f64;
            self.write(MARGIN, y, SMALL, Paint::Muted, line);
        }
        for index in 0..self.columns.len() {
            let worker = &self.columns[index].workers[row.first];
            let at = Point { x: self.x(index), y: self.y };
            let words = self.told(index, worker);
            let stranded = worker.cores_stranded(&self.demands[index]);
            let (scale, column, cell) = (self.column / self.widest, self.column, self.cell);
            let bar = bars::Bar { at, scale, column, stranded, cell };
            self.svg.group(&words, |svg| bar.draw(svg, worker));
        }
        let bars = BAR + THIN + 14.0 + if first_has_resources { self.cell + 3.0 } else { 0.0 };
        self.y += bars.max(26.0 + 13.0 * has.len() as f64);
    }

    /// The text of the tooltip of a Worker's bar.
    fn told(&self, column: usize, worker: &WorkerOutcome) -> String {
        let mut each: BTreeMap<(usize, Cores), u64> = BTreeMap::new();
        for executor in &worker.executors {
            *each.entry((executor.app, executor.cores)).or_default() += 1;
        }
        let mut parts: Vec<String> = each
            .into_iter()
            .map(|((app, cores), count)| {
                let name = self.source.draft.applications[app].name();
                format!("{name} {count} × {}", none_or(cores.0, "core"))
            })
            .collect();
        if worker.cores_of_drivers() > Cores::ZERO {
            parts.push(format!("cluster drivers {}", none_or(worker.cores_of_drivers().0, "core")));
        }
        parts.push(format!(
            "{} and {} free",
            none_or(worker.cores_free.0, "core"),
            worker.memory_free.max(MiB::ZERO)
        ));
        format!("{}, {}: {}", worker.id, self.columns[column].heading, parts.join("; "))
    }

    fn x(&self, column: usize) -> f64 {
        MARGIN + NAMES + column as f64 * (self.column + GAP)
    }

    fn write(&mut self, x: f64, y: f64, size: f64, paint: Paint, text: &str) {
        self.svg.text(Point { x, y }, size, Weight::Plain, Anchor::Start, paint, text);
    }

    fn bold(&mut self, x: f64, y: f64, size: f64, text: &str) {
        self.svg.text(Point { x, y }, size, Weight::Bold, Anchor::Start, Paint::Ink, text);
    }
}

/// The number of Workers and applications: `10 Workers, 4 applications`.
fn counts(source: &Source, workers: &[WorkerOutcome]) -> String {
    let applications = source.draft.applications.len() as u64;
    format!("{}, {}", none_or(workers.len() as u64, "Worker"), none_or(applications, "application"))
}
