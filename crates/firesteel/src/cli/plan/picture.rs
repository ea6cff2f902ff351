//! A plan as a picture: a column for what was before and one for each set-up, a bar for each Worker, and below them what
//! each application has.
//!
//! A bar is as long as its Worker has cores. The thin bar below it is its memory, and the squares are addresses of its
//! resources, all in the colours of the applications that have them. Of many Workers, those that are alike in all
//! columns share a row.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::words::{list, none_or};
use firesteel_placement::{Cores, MiB};
use firesteel_sim::draft::{Likeness, WorkerOutcome};
use firesteel_sim::picture::{Anchor, Area, HEADING, MARGIN, Paint, Point, SMALL, Svg, TEXT, Weight, words};

use super::bars::{self, BAR, SQUARE, THIN};
use super::source::Source;
use super::{Decided, why};

/// Width of the column of names.
const NAMES: f64 = 250.0;
/// Least and usual width of the other columns, and the space between them.
const COLUMN: f64 = 250.0;
const WIDTH: f64 = 960.0;
const GAP: f64 = 28.0;
/// Of more Workers than this, those that are alike share a row.
const EACH: usize = 16;
/// So many rows are drawn at most, and so many applications.
const MOST_ROWS: usize = 48;
const MOST_APPLICATIONS: usize = 21;

/// A state of the cluster: its heading, a line below it, and the Workers in the order of their ids.
struct Column<'a> {
    heading: &'a str,
    below: String,
    workers: &'a [WorkerOutcome],
    /// What applications have; `None` for what was before.
    decided: Option<&'a Decided>,
}

/// Workers that are alike in all columns, by their place in the order of ids.
struct Row {
    first: usize,
    count: usize,
}

/// The picture as an SVG document.
pub(super) fn draw(source: &Source, decided: &[Decided]) -> String {
    let before = decided.first().map(|one| one.outcome.before(&source.draft)).unwrap_or_default();
    let mut columns = Vec::new();
    if before.iter().any(|worker| !worker.executors.is_empty()) {
        let used = before.iter().map(|worker| worker.cores - worker.cores_free).sum();
        let all = before.iter().map(|worker| worker.cores).sum();
        let below = format!("{} cores used", why::used(used, all));
        columns.push(Column { heading: "before", below, workers: &before, decided: None });
    }
    columns.extend(decided.iter().map(Column::of));
    let (rows, others) = rows(&columns);
    Drawing::new(source, columns).draw(&rows, others)
}

impl<'a> Column<'a> {
    fn of(decided: &'a Decided) -> Self {
        let metrics = &decided.metrics;
        let mut below = format!("{} cores used", why::used(metrics.cores_used, metrics.cores));
        if metrics.cores_stranded > Cores::ZERO {
            below += &format!(", {} stranded", metrics.cores_stranded);
        }
        Self { heading: &decided.name, below, workers: &decided.outcome.workers, decided: Some(decided) }
    }
}

/// The rows to draw, and how many Workers are in none of them.
fn rows(columns: &[Column<'_>]) -> (Vec<Row>, usize) {
    let workers = columns.first().map_or(0, |column| column.workers.len());
    if workers <= EACH {
        return ((0..workers).map(|first| Row { first, count: 1 }).collect(), 0);
    }
    let mut kinds: BTreeMap<Vec<Likeness<'_>>, Row> = BTreeMap::new();
    for first in 0..workers {
        let likeness = columns.iter().map(|column| column.workers[first].likeness()).collect();
        kinds.entry(likeness).or_insert(Row { first, count: 0 }).count += 1;
    }
    let mut rows: Vec<Row> = kinds.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    let others = rows.iter().skip(MOST_ROWS).map(|row| row.count).sum();
    rows.truncate(MOST_ROWS);
    rows.sort_by_key(|row| row.first);
    (rows, others)
}

/// A picture and where its next line goes.
struct Drawing<'a> {
    svg: Svg,
    source: &'a Source,
    columns: Vec<Column<'a>>,
    width: f64,
    /// Width of a column of bars.
    column: f64,
    /// Cores of the largest Worker.
    widest: f64,
    has_resources: bool,
    y: f64,
}

impl<'a> Drawing<'a> {
    fn new(source: &'a Source, columns: Vec<Column<'a>>) -> Self {
        let count = columns.len().max(1) as f64;
        let room = WIDTH - 2.0 * MARGIN - NAMES - (count - 1.0) * GAP;
        let column = (room / count).max(COLUMN);
        let all = columns.first().map_or(&[][..], |column| column.workers);
        let widest = all.iter().map(|worker| worker.cores.0).max().unwrap_or(1).max(1) as f64;
        let names: Vec<String> =
            columns.iter().map(|column| format!("{}: {}", column.heading, column.below)).collect();
        let title = format!("Plan of {}", source.short_name());
        Self {
            svg: Svg::new(
                &title,
                &format!(
                    "{} with {}. {}.",
                    none_or(all.len() as u64, "Worker"),
                    none_or(source.draft.applications.len() as u64, "application"),
                    list(&names)
                ),
            ),
            source,
            width: 2.0 * MARGIN + NAMES + count * (column + GAP) - GAP,
            column,
            widest,
            has_resources: all.iter().any(|worker| !worker.resources.is_empty()),
            y: MARGIN,
            columns,
        }
    }

    fn draw(mut self, rows: &[Row], others: usize) -> String {
        self.headings();
        for row in rows {
            self.row(row);
        }
        if others > 0 {
            let words = format!(
                "{} of other kinds, which are fewer, {} not drawn",
                none_or(others as u64, "Worker"),
                if others == 1 { "is" } else { "are" }
            );
            self.write(MARGIN, self.y + TEXT, SMALL, Paint::Muted, &words);
            self.y += 2.0 * TEXT;
        }
        self.applications();
        self.key();
        self.svg.document(self.width, self.y + MARGIN)
    }

    fn headings(&mut self) {
        let name = words::cut(self.source.short_name(), HEADING, NAMES - GAP);
        self.bold(MARGIN, self.y + HEADING, HEADING, &name);
        let workers = self.columns.first().map_or(0, |column| column.workers.len());
        let under = format!(
            "{}, {}",
            none_or(workers as u64, "Worker"),
            none_or(self.source.draft.applications.len() as u64, "application")
        );
        self.write(MARGIN, self.y + HEADING + TEXT + 5.0, SMALL, Paint::Muted, &under);
        for index in 0..self.columns.len() {
            let x = self.x(index);
            let heading = words::cut(self.columns[index].heading, HEADING, self.column);
            let below = words::cut(&self.columns[index].below, SMALL, self.column);
            self.bold(x, self.y + HEADING, HEADING, &heading);
            self.write(x, self.y + HEADING + TEXT + 5.0, SMALL, Paint::Muted, &below);
        }
        self.y += HEADING + TEXT + 24.0;
    }

    fn row(&mut self, row: &Row) {
        let Some(first) = self.columns.first().map(|column| &column.workers[row.first]) else { return };
        let first_has_resources = !first.resources.is_empty();
        let more = match row.count {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let room = NAMES - GAP - words::width(&more, TEXT);
        let name = words::cut(first.id.as_str(), TEXT, room) + &more;
        let mut has = vec![none_or(first.cores.0, "core"), first.memory.to_string()];
        has.extend(first.resources.iter().map(|(name, amount)| none_or(*amount, name)));
        let has = words::cut(&has.join(", "), SMALL, NAMES - GAP);
        self.write(MARGIN, self.y + 11.0, TEXT, Paint::Ink, &name);
        self.write(MARGIN, self.y + 25.0, SMALL, Paint::Muted, &has);
        for index in 0..self.columns.len() {
            let worker = &self.columns[index].workers[row.first];
            let at = Point { x: self.x(index), y: self.y };
            let words = self.told(index, worker);
            let stranded = match self.columns[index].decided {
                Some(decided) => worker.cores_stranded(&decided.outcome.waiting()),
                None => Cores::ZERO,
            };
            let scale = self.column / self.widest;
            self.svg.group(&words, |svg| bars::draw(svg, at, worker, scale, stranded));
        }
        self.y += BAR + THIN + 14.0 + if first_has_resources { SQUARE + 3.0 } else { 0.0 };
    }

    /// What whoever points at a bar is told.
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
        parts.push(format!(
            "{} and {} free",
            none_or(worker.cores_free.0, "core"),
            worker.memory_free.max(MiB::ZERO)
        ));
        format!("{}, {}: {}", worker.id, self.columns[column].heading, parts.join("; "))
    }

    fn applications(&mut self) {
        self.y += 6.0;
        let line = [Point { x: MARGIN, y: self.y }, Point { x: self.width - MARGIN, y: self.y }];
        self.svg.line(&line, 1.0, Paint::Grid);
        self.y += 14.0;
        let all = self.source.draft.applications.len();
        for index in 0..all.min(MOST_APPLICATIONS) {
            self.application(index);
        }
        if all > MOST_APPLICATIONS {
            let words = format!("and {}", none_or((all - MOST_APPLICATIONS) as u64, "other application"));
            self.write(MARGIN, self.y + 11.0, SMALL, Paint::Muted, &words);
            self.y += 2.0 * TEXT;
        }
    }

    fn application(&mut self, index: usize) {
        const SWATCH: f64 = 20.0;
        let app = &self.source.draft.applications[index];
        let area = Area { at: Point { x: MARGIN, y: self.y }, width: SWATCH, height: SWATCH };
        self.svg.rect(area, Paint::Series(index));
        bars::letter(&mut self.svg, area, index);
        let x = MARGIN + SWATCH + 8.0;
        let room = NAMES - GAP - SWATCH - 8.0;
        self.bold(x, self.y + 9.0, TEXT, &words::cut(app.name(), TEXT, room));
        let asks = words::lines(&why::asks(app), SMALL, room);
        for (number, line) in asks.iter().enumerate() {
            self.write(x, self.y + 24.0 + 13.0 * number as f64, SMALL, Paint::Muted, line);
        }
        for column in 0..self.columns.len() {
            let (has, short) = match self.columns[column].decided {
                Some(decided) => {
                    let now = &decided.outcome.applications[index];
                    (why::has(now), now.is_short())
                }
                None if app.running.is_empty() => ("–".to_owned(), false),
                None => (none_or(app.running.len() as u64, "executor"), false),
            };
            let x = self.x(column);
            self.write(x, self.y + 9.0, TEXT, Paint::Ink, &words::cut(&has, TEXT, self.column));
            if short {
                self.write(x, self.y + 24.0, SMALL, Paint::Warning, "less than it asks for");
            }
        }
        self.y += 24.0 + 13.0 * asks.len().max(1) as f64;
    }

    /// What the shapes stand for.
    fn key(&mut self) {
        let mut words = "Bars are cores, thin bars memory".to_owned();
        if self.has_resources {
            let names: BTreeSet<&String> = self
                .columns
                .iter()
                .flat_map(|column| column.workers)
                .flat_map(|worker| worker.resources.keys())
                .collect();
            let names: Vec<String> = names.into_iter().cloned().collect();
            words += &format!(", squares {}", list(&names));
        }
        words += "; a letter is the application that has them.";
        let stranded = self.columns.iter().filter_map(|column| column.decided);
        if stranded.into_iter().any(|decided| decided.metrics.cores_stranded > Cores::ZERO) {
            words += " Red outlines: free cores that nobody who asks can use.";
        }
        self.y += 4.0;
        for line in words::lines(&words, SMALL, self.width - 2.0 * MARGIN) {
            self.write(MARGIN, self.y + 11.0, SMALL, Paint::Muted, &line);
            self.y += 15.0;
        }
    }

    /// Where the column of that number begins.
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
