//! The goals, and the table of results.

use std::collections::BTreeMap;

/// The scale of a run: full scale for measurements, or small to show that the bench works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Full,
    Small,
}

impl Scale {
    pub fn of(self, workers: usize) -> usize {
        match self {
            Self::Full => workers,
            Self::Small => workers.min(500),
        }
    }

    pub fn rounds(self, rounds: usize) -> usize {
        match self {
            Self::Full => rounds,
            Self::Small => 1,
        }
    }
}

/// The results of one process.
#[derive(Default)]
pub struct Sheet {
    pub goals: BTreeMap<String, f64>,
    pub beside: BTreeMap<String, (f64, String)>,
}

impl Sheet {
    /// Records a goal's figure.
    pub fn put(&mut self, goal: &str, figure: f64) {
        self.goals.insert(goal.to_owned(), figure);
    }

    /// Records a figure without a goal.
    pub fn say(&mut self, what: &str, figure: f64, unit: &str) {
        self.beside.insert(what.to_owned(), (figure, unit.to_owned()));
    }
}

enum Better {
    Greater,
    Less,
}
use Better::{Greater, Less};

struct Goal {
    name: &'static str,
    words: &'static str,
    better: Better,
    least: f64,
    aim: f64,
}

const fn goal(name: &'static str, words: &'static str, better: Better, least: f64, aim: f64) -> Goal {
    Goal { name, words, better, least, aim }
}

#[rustfmt::skip]
const GOALS: [Goal; 14] = [
    goal("A", "16 executors on 10,000 workers, decided and committed, against A", Greater, 5_000.0, 30_000.0),
    goal("B at 10,000", "the same against B", Greater, 200.0, 500.0),
    goal("B at 100,000", "the same on 100,000 workers", Greater, 2_500.0, 7_500.0),
    goal("p50 at 1,000,000", "one application at 1,000,000 workers, 85 % full, under churn, against 1,000: p50", Less, 10.0, 4.0),
    goal("every worker", "an executor on each of 100,000 workers, against a loop that only counts", Less, 4.0, 2.0),
    goal("churn at 10,000", "churn of mixed shapes at 10,000 workers, against B", Greater, 100.0, 100.0),
    goal("churn at 10,000, a second", "the same, million executors a second", Greater, 0.0, 10.0),
    goal("churn at 100,000", "churn of mixed shapes at 100,000 workers, against B", Greater, 100.0, 100.0),
    goal("churn at 100,000, a second", "the same, million executors a second", Greater, 0.0, 3.0),
    goal("backlog", "one slot freed with 10,000 waiting applications, against 10", Less, 2.0, 1.2),
    goal("registers", "Master: an application of 16 executors at 100,000 Workers, against 1,000", Less, 3.0, 1.5),
    goal("state changes", "Master: one ExecutorStateChanged at 100,000 Workers, against 1,000", Less, 3.0, 1.5),
    goal("adversarial", "the worst adversarial cluster, against the flat form", Less, 1.2, 1.0),
    goal("memory", "bytes for each worker", Less, 128.0, 64.0),
];

/// Prints the medians of several processes' results.
pub fn print(sheets: &[Sheet]) {
    println!("| goal | at least | aim | measured | from .. to | |");
    println!("|---|---:|---:|---:|---:|---|");
    for Goal { name, words, better, least, aim } in &GOALS {
        let Some((low, middle, high)) = spread(sheets.iter().filter_map(|sheet| sheet.goals.get(*name)))
        else {
            println!("| {words} | | | not measured | | |");
            continue;
        };
        let reaches = |bound: f64| match better {
            Greater => middle >= bound,
            Less => middle <= bound,
        };
        let verdict = match (reaches(*aim), reaches(*least)) {
            (true, _) => "aim",
            (false, true) => "met",
            (false, false) => "NOT MET",
        };
        let (least, aim) = (number(*least), number(*aim));
        let (low, middle, high) = (number(low), number(middle), number(high));
        println!("| {words} | {least} | {aim} | {middle} | {low} .. {high} | {verdict} |");
    }
    println!();
    let names: std::collections::BTreeSet<_> = sheets.iter().flat_map(|sheet| sheet.beside.keys()).collect();
    for name in names {
        let figures = sheets.iter().filter_map(|sheet| sheet.beside.get(name));
        let unit = figures.clone().next().map(|(_, unit)| unit.as_str()).unwrap_or_default();
        if let Some((low, middle, high)) = spread(figures.map(|(figure, _)| figure)) {
            println!("- {name}: {} {unit} ({} .. {})", number(middle), number(low), number(high));
        }
    }
}

fn spread<'a>(figures: impl Iterator<Item = &'a f64>) -> Option<(f64, f64, f64)> {
    let mut figures: Vec<f64> = figures.copied().collect();
    figures.sort_by(f64::total_cmp);
    Some((*figures.first()?, figures[figures.len() / 2], *figures.last()?))
}

/// A number with three significant digits and separators between thousands.
fn number(figure: f64) -> String {
    match figure {
        0.0..10.0 => format!("{figure:.2}"),
        10.0..100.0 => format!("{figure:.1}"),
        _ => {
            let digits = format!("{figure:.0}");
            let mut parts: Vec<&str> = Vec::new();
            let mut rest = digits.as_str();
            while rest.len() > 3 {
                let (head, tail) = rest.split_at(rest.len() - 3);
                parts.push(tail);
                rest = head;
            }
            parts.push(rest);
            parts.reverse();
            parts.join(",")
        }
    }
}
