//! Charts of replays and of fills.

use firesteel_placement::advanced::words::list;
use firesteel_sim::picture::axis::{Axis, Scale};
use firesteel_sim::picture::chart::{Chart, Series};
use firesteel_sim::picture::ticks;
use firesteel_sim::replay::{Fill, Outcome, Shares, Waits};
use firesteel_sim::setup::Setup;

use super::super::figures::{mean, merged, missing_at};
use super::super::runs::{Report, Run, Runs};
use super::super::text::line;
use super::page::Page;

/// Start of the axis of waits, in seconds.
const SHORTEST: f64 = 1.0;
/// The number of applications from which on the axis of shares is logarithmic.
const MANY: usize = 200;

impl Page {
    /// Draws the share of applications that wait longer than a given time.
    pub(super) fn waits(&mut self, all: &[Runs<Outcome>]) {
        const TITLE: &str = "Applications that wait longer than a given time";
        let each: Vec<(Setup, Waits)> =
            all.iter().map(|(setup, runs)| (setup.clone(), merged(runs, |outcome| &outcome.began))).collect();
        let longest = each.iter().map(|(_, waits)| waits.quantile(1.0)).fold(0.0, f64::max);
        if longest <= SHORTEST {
            self.note(Some(TITLE), "No application waits longer than 1 s.");
            return;
        }
        let to = (longest * 1.05).max(10.0);
        let count = each.iter().map(|(_, waits)| waits.all().len()).max().unwrap_or(0);
        let x = Axis {
            title: "waiting time".to_owned(),
            scale: Scale::Log,
            from: SHORTEST,
            to,
            ticks: ticks::log_times(SHORTEST, to),
        };
        let y = shares(count);
        let scale = y.scale;
        let series = |(setup, waits): &(Setup, Waits)| Series {
            points: survivors(waits, scale),
            words: format!("{setup}: {}", line(waits)),
        };
        self.chart(&Chart { title: TITLE.to_owned(), x, y, series: each.iter().map(series).collect() });
        let at_once = each.iter().filter(|(_, waits)| waits.quantile(1.0) <= SHORTEST);
        let at_once: Vec<String> = at_once.map(|(setup, _)| setup.to_string()).collect();
        if !at_once.is_empty() {
            self.note(None, &format!("With {} no application waits longer than 1 s.", list(&at_once)));
        }
    }

    /// Draws over time how much is in use and how many applications wait, averaged over the seeds.
    pub(super) fn over_time(&mut self, report: &Report, all: &[Runs<Outcome>]) {
        let (part, what): (fn(&Shares) -> f64, _) = match report.has_gpus {
            true => (|shares| shares.gpus, "GPUs"),
            false => (|shares| shares.cores, "cores"),
        };
        let title = format!("{} in use", if report.has_gpus { "GPUs" } else { "Cores" });
        let Some(time) = time(all) else {
            self.note(
                Some(&title),
                "All applications arrive at the same time: there is no course of time to show.",
            );
            return;
        };
        let used = over_time(all, |outcome, span| outcome.used.get(span).map_or(0.0, part));
        let most = if report.load > 0.5 { 1.0 } else { highest(&used).max(0.01) };
        let y = Axis {
            title: format!("share of all {what}"),
            scale: Scale::Even,
            from: 0.0,
            to: most,
            ticks: ticks::shares(0.0, most),
        };
        self.chart(&Chart { title, x: time.clone(), y, series: used });

        let waiting = over_time(all, |outcome, span| outcome.waiting.get(span).copied().unwrap_or(0.0));
        let most = highest(&waiting).max(1.0);
        let y = Axis {
            title: "number of applications".to_owned(),
            scale: Scale::Even,
            from: 0.0,
            to: most,
            ticks: ticks::counts(most),
        };
        self.chart(&Chart { title: "Applications that wait".to_owned(), x: time, y, series: waiting });
    }

    /// Draws the requested but unallocated share of the cluster, as the requests grow.
    pub(super) fn fills(&mut self, report: &Report, all: &[Runs<Fill>]) {
        const TITLE: &str = "Requested, but not allocated";
        let ends = all
            .iter()
            .flat_map(|(_, runs)| runs)
            .map(|run| run.outcome.steps.last().map_or(0.0, |last| last.asked));
        let to = ends.reduce(f64::min).unwrap_or(0.0);
        if to <= 0.0 {
            self.note(Some(TITLE), "Not one request is small enough for this load.");
            return;
        }
        let from = 0.75 * to;
        let series =
            |(setup, runs): &Runs<Fill>| Series { points: missing(runs, from, to), words: setup.to_string() };
        let series: Vec<_> = all.iter().map(series).collect();
        let of = if report.has_gpus { "share of all GPUs" } else { "share of the cluster" };
        let (x, most) = (format!("requested, {of}"), highest(&series).max(0.01));
        let axis = |title: String, from, to| Axis {
            title,
            scale: Scale::Even,
            from,
            to,
            ticks: ticks::shares(from, to),
        };
        let (x, y) = (axis(x, from, to), axis(of.to_owned(), 0.0, most));
        self.chart(&Chart { title: TITLE.to_owned(), x, y, series });
    }
}

/// The axis of shares for this number of applications. With many applications the axis is logarithmic, so that a single
/// application is still visible.
fn shares(count: usize) -> Axis {
    let title = |scale| format!("share of all applications{scale}");
    if count < MANY {
        let ticks = ticks::shares(0.0, 1.0);
        return Axis { title: title(""), scale: Scale::Even, from: 0.0, to: 1.0, ticks };
    }
    let from = 10_f64.powf((1.0 / count as f64).log10().floor());
    let title = title(", logarithmic scale");
    Axis { title, scale: Scale::Log, from, to: 1.0, ticks: ticks::log_shares(from) }
}

/// The axis of time. `None` if no time passes between the first arrival and the last.
fn time(all: &[Runs<Outcome>]) -> Option<Axis> {
    let to = all.first().map_or(0.0, |(_, runs)| spans(all) as f64 * span(runs));
    (to >= SHORTEST).then(|| Axis {
        title: "time since the beginning of the trace".to_owned(),
        scale: Scale::Even,
        from: 0.0,
        to,
        ticks: ticks::times(to),
    })
}

/// The number of time spans of the longest run.
fn spans(all: &[Runs<Outcome>]) -> usize {
    let spans = all.iter().flat_map(|(_, runs)| runs.iter().map(|run| run.outcome.used.len()));
    spans.max().unwrap_or(0)
}

/// The mean length of a time span, in seconds.
fn span(runs: &[Run<Outcome>]) -> f64 {
    mean(runs, |outcome| outcome.span.as_secs_f64())
}

/// A curve for each set-up: the mean of a value in each span of time.
fn over_time(all: &[Runs<Outcome>], value: impl Fn(&Outcome, usize) -> f64) -> Vec<Series> {
    let spans = spans(all);
    let series = |(setup, runs): &Runs<Outcome>| {
        let at = |span: usize| mean(runs, |outcome| value(outcome, span));
        let length = span(runs);
        // The curve ends at the end of the last span.
        let points = (0..=spans).map(|n| (n as f64 * length, at(n.min(spans.saturating_sub(1)))));
        Series { points: points.collect(), words: setup.to_string() }
    };
    all.iter().map(series).collect()
}

fn highest(series: &[Series]) -> f64 {
    series.iter().flat_map(|one| one.points.iter().map(|point| point.1)).fold(0.0, f64::max) * 1.05
}

/// The share of applications that wait longer than each time, up to the longest wait. Empty if even the longest wait is
/// below the axis. On a linear scale, the curve ends at zero. A logarithmic scale has no zero, so the curve ends at the
/// last share.
fn survivors(waits: &Waits, scale: Scale) -> Vec<(f64, f64)> {
    let all = waits.all();
    let longer = |time: f64| all.len() - all.partition_point(|wait| wait.as_secs_f64() <= time);
    let mut times: Vec<f64> =
        all.iter().map(|wait| wait.as_secs_f64()).filter(|time| *time > SHORTEST).collect();
    times.dedup();
    let Some(longest) = times.pop() else { return Vec::new() };
    let shares =
        std::iter::once(SHORTEST).chain(times).map(|time| (time, longer(time) as f64 / all.len() as f64));
    let mut points: Vec<(f64, f64)> = shares.collect();
    let end = match scale {
        Scale::Even => Some(0.0),
        Scale::Log => points.last().map(|(_, share)| *share),
    };
    points.extend(end.map(|share| (longest, share)));
    points
}

/// The points of a curve between these two requested shares of the cluster: for each requested share, the mean share
/// that is not allocated.
fn missing(runs: &[Run<Fill>], from: f64, to: f64) -> Vec<(f64, f64)> {
    let steps = runs.iter().flat_map(|run| run.outcome.steps.iter().map(|step| step.asked));
    let mut asked: Vec<f64> = steps.filter(|asked| (from..=to).contains(asked)).chain([from, to]).collect();
    asked.sort_by(f64::total_cmp);
    asked.dedup();
    asked.into_iter().map(|asked| (asked, mean(runs, |fill| missing_at(fill, asked)))).collect()
}
