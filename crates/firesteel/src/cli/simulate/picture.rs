//! The results of `simulate` as plots.

use firesteel_sim::picture::chart::{ABOVE, Axis, BELOW, LEFT, Scale, Series, draw as chart, even_ticks};
use firesteel_sim::picture::{Anchor, Area, HEADING, MARGIN, Paint, Point, SMALL, Svg, TEXT, Weight};
use firesteel_sim::replay::{Compaction, Fill, Outcome, Shares, Waits};
use firesteel_sim::setup::Setup;

use super::figures::{mean, together};
use super::runs::{Report, Results, Run};
use super::text::{fewest, given_at, heading, line, percent, seconds};

const WIDTH: f64 = 900.0;
/// Height of a chart's lines.
const CHART: f64 = 180.0;
/// Height of a line of the legend, and of a bar.
const ROW: f64 = 22.0;

/// Everything as one picture.
pub(super) fn draw(report: &Report) -> String {
    let mut page = Page::new(report);
    match &report.results {
        Results::Replays(all) => {
            page.legend(all, |runs| line(&together(runs, |outcome| &outcome.began)));
            page.waits(all);
            page.over_time(report, all);
        }
        Results::Fills(all) => {
            page.legend(all, |runs| format!("{} not given out", percent(mean(runs, Fill::unallocated))));
            page.fills(report, all);
        }
        Results::Compactions(all) => page.compactions(all),
    }
    page.svg.document(WIDTH, page.y + MARGIN - 10.0)
}

/// A picture that grows downwards.
struct Page {
    svg: Svg,
    y: f64,
}

type Runs<T> = (Setup, Vec<Run<T>>);

impl Page {
    fn new(report: &Report) -> Self {
        let title = match &report.results {
            Results::Replays(_) => "How long applications wait",
            Results::Fills(_) if report.has_gpus => "GPUs that cannot be given out",
            Results::Fills(_) => "What cannot be given out",
            Results::Compactions(_) => "How few Workers hold the same load",
        };
        let mut svg = Svg::new(title, &heading(report));
        let mut text = |y, size, weight, paint, words: &str| {
            svg.text(Point { x: MARGIN, y }, size, weight, Anchor::Start, paint, words);
        };
        text(MARGIN + 14.0, HEADING, Weight::Bold, Paint::Ink, title);
        text(MARGIN + 36.0, TEXT, Weight::Plain, Paint::Muted, &heading(report));
        Self { svg, y: MARGIN + 52.0 }
    }

    /// One line for each set-up: its colour, its name, and what came of it.
    fn legend<T>(&mut self, all: &[Runs<T>], words: impl Fn(&[Run<T>]) -> String) {
        for ((setup, runs), number) in all.iter().zip(0..) {
            let at = Point { x: MARGIN, y: self.y + 3.0 };
            self.svg.rect(Area { at, width: 18.0, height: 10.0 }, Paint::Series(number));
            let mut text = |x, paint, weight, words: &str| {
                self.svg.text(Point { x, y: self.y + 12.0 }, TEXT, weight, Anchor::Start, paint, words);
            };
            text(MARGIN + 28.0, Paint::Ink, Weight::Bold, setup.name());
            text(MARGIN + 190.0, Paint::Muted, Weight::Plain, &words(runs));
            self.y += ROW;
        }
        self.y += 14.0;
    }

    fn chart(&mut self, title: &str, x: &Axis, y: &Axis, series: &[Series]) {
        let at = Point { x: MARGIN + LEFT, y: self.y + ABOVE };
        let area = Area { at, width: WIDTH - 2.0 * MARGIN - LEFT - 10.0, height: CHART };
        chart(&mut self.svg, area, title, x, y, series);
        self.y += ABOVE + CHART + BELOW + 18.0;
    }

    /// How many applications wait longer than so long, both by ratios: most do not wait at all.
    fn waits(&mut self, all: &[Runs<Outcome>]) {
        let each: Vec<(Setup, Waits)> =
            all.iter().map(|(setup, runs)| (*setup, together(runs, |outcome| &outcome.began))).collect();
        let longest = each.iter().map(|(_, waits)| waits.quantile(1.0)).fold(10.0, f64::max);
        let ticks = [
            (1.0, "1 s"),
            (10.0, "10 s"),
            (60.0, "1 min"),
            (600.0, "10 min"),
            (3600.0, "1 h"),
            (36_000.0, "10 h"),
            (360_000.0, "100 h"),
        ];
        let ticks = ticks.into_iter().filter(|(value, _)| *value <= longest * 1.05);
        let x = Axis {
            title: "than this".to_owned(),
            scale: Scale::Log,
            from: 1.0,
            to: longest * 1.05,
            ticks: ticks.map(|(value, name)| (value, name.to_owned())).collect(),
        };
        let y = Axis {
            title: "of all applications".to_owned(),
            scale: Scale::Log,
            from: 0.0005,
            to: 1.0,
            ticks: [(1.0, "100%"), (0.1, "10%"), (0.01, "1%"), (0.001, "0.1%")]
                .map(|(value, name)| (value, name.to_owned()))
                .into(),
        };
        let series = each.iter().zip(0..).map(|((setup, waits), number)| Series {
            points: survivors(waits, longest),
            paint: Paint::Series(number),
            words: format!("{setup}: {}", line(waits)),
        });
        self.chart("Wait longer", &x, &y, &series.collect::<Vec<_>>());
    }

    /// What was used, and how many waited, on average over the seeds.
    fn over_time(&mut self, report: &Report, all: &[Runs<Outcome>]) {
        let (part, of): (fn(&Shares) -> f64, _) = if report.has_gpus {
            (|shares| shares.gpus, "of the GPUs")
        } else {
            (|shares| shares.cores, "of the cores")
        };
        let spans = all.iter().flat_map(|(_, runs)| runs.iter().map(|run| run.outcome.used.len())).max();
        let spans = spans.unwrap_or(0).max(1);
        let over_time = |runs: &[Run<Outcome>], of: &dyn Fn(&Outcome, usize) -> f64| -> Vec<(f64, f64)> {
            let at = |span| mean(runs, |outcome: &Outcome| of(outcome, span));
            (0..spans).map(|span| (span as f64 + 0.5, at(span))).collect()
        };
        let length = all.first().map_or(0.0, |(_, runs)| mean(runs, |outcome| outcome.span.as_secs_f64()));
        let x = Axis {
            title: "since the beginning".to_owned(),
            scale: Scale::Even,
            from: 0.0,
            to: spans as f64,
            ticks: even_ticks(0.0, spans as f64, |span| seconds(span * length)),
        };
        let used = all.iter().zip(0..).map(|((setup, runs), number)| Series {
            points: over_time(runs, &|outcome, span| outcome.used.get(span).map_or(0.0, part)),
            paint: Paint::Series(number),
            words: setup.to_string(),
        });
        let used: Vec<_> = used.collect();
        let most = if report.load > 0.5 { 1.0 } else { highest(&used).max(0.01) };
        let y = Axis {
            title: of.to_owned(),
            scale: Scale::Even,
            from: 0.0,
            to: most,
            ticks: even_ticks(0.0, most, |part| format!("{}%", (part * 1000.0).round() / 10.0)),
        };
        self.chart("Used", &x, &y, &used);

        let waiting = all.iter().zip(0..).map(|((setup, runs), number)| Series {
            points: over_time(runs, &|outcome, span| outcome.waiting.get(span).copied().unwrap_or(0.0)),
            paint: Paint::Series(number),
            words: setup.to_string(),
        });
        let waiting: Vec<_> = waiting.collect();
        let most = highest(&waiting).max(1.0);
        let y = Axis {
            title: "applications".to_owned(),
            scale: Scale::Even,
            from: 0.0,
            to: most,
            ticks: even_ticks(0.0, most, |count| format!("{}", (count * 10.0).round() / 10.0)),
        };
        self.chart("Waiting", &x, &y, &waiting);
    }

    /// What is missing when so much was asked for.
    fn fills(&mut self, report: &Report, all: &[Runs<Fill>]) {
        const STEPS: u32 = 100;
        let from = 0.75 * report.load;
        let series = all.iter().zip(0..).map(|((setup, runs), number)| Series {
            points: (0..=STEPS)
                .map(|step| from + (report.load - from) * f64::from(step) / f64::from(STEPS))
                .map(|asked| (asked, mean(runs, |fill| (asked - given_at(fill, asked)).max(0.0))))
                .collect(),
            paint: Paint::Series(number),
            words: setup.to_string(),
        });
        let series: Vec<_> = series.collect();
        let name = |part: f64| format!("{}%", (part * 1000.0).round() / 10.0);
        let x = Axis {
            title: "asked for, of the cluster".to_owned(),
            scale: Scale::Even,
            from,
            to: report.load,
            ticks: even_ticks(from, report.load, name),
        };
        let most = highest(&series).max(0.01);
        let y = Axis {
            title: "of the cluster".to_owned(),
            scale: Scale::Even,
            from: 0.0,
            to: most,
            ticks: even_ticks(0.0, most, name),
        };
        self.chart("Asked for, and not given out", &x, &y, &series);
    }

    /// A bar for each set-up.
    fn compactions(&mut self, all: &[Runs<Compaction>]) {
        const NAMES: f64 = 170.0;
        const NUMBERS: f64 = 150.0;
        let most = all.iter().filter_map(|(_, runs)| fewest(runs)).fold(1.0, f64::max);
        let first = all.first().and_then(|(_, runs)| fewest(runs));
        for ((setup, runs), number) in all.iter().zip(0..) {
            let text = |svg: &mut Svg, x, size, paint, words: &str| {
                svg.text(Point { x, y: self.y + 15.0 }, size, Weight::Plain, Anchor::Start, paint, words);
            };
            text(&mut self.svg, MARGIN, TEXT, Paint::Ink, setup.name());
            let length = fewest(runs).unwrap_or(most) / most * (WIDTH - 2.0 * MARGIN - NAMES - NUMBERS);
            let at = Point { x: MARGIN + NAMES, y: self.y };
            self.svg.rect(Area { at, width: length, height: ROW - 2.0 }, Paint::Series(number));
            let words = match (fewest(runs), first) {
                (Some(workers), Some(first)) if number > 0 => {
                    format!("{workers:.0} ({:+.1}%)", (workers / first - 1.0) * 100.0)
                }
                (Some(workers), _) => format!("{workers:.0}"),
                (None, _) => "not enough".to_owned(),
            };
            text(&mut self.svg, at.x + length + 8.0, SMALL + 1.0, Paint::Muted, &words);
            self.y += ROW + 8.0;
        }
    }
}

fn highest(series: &[Series]) -> f64 {
    series.iter().flat_map(|one| one.points.iter().map(|point| point.1)).fold(0.0, f64::max) * 1.05
}

/// The part of all that waits longer than each of many times, up to the longest.
fn survivors(waits: &Waits, longest: f64) -> Vec<(f64, f64)> {
    const POINTS: u32 = 300;
    let all = waits.all();
    (0..=POINTS)
        .map(|point| (longest.ln() * f64::from(point) / f64::from(POINTS)).exp())
        .map(|time| {
            let longer = all.len() - all.partition_point(|wait| wait.as_secs_f64() <= time);
            (time, longer as f64 / all.len().max(1) as f64)
        })
        .take_while(|(_, part)| *part > 0.0)
        .collect()
}
