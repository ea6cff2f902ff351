//! The progress bar and the remarks that a user sees on a terminal during a run.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use firesteel_placement::advanced::words;
use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::plain::{self, clean};

/// Whether a progress bar is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Show remarks. Also show a bar if standard error is a terminal that can draw one.
    Auto,
    /// Show no bar, and no remarks except errors.
    Quiet,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunProgress {
    /// The number of items that ended, successful or not. Cancelled items do not count.
    pub done: u64,
    /// The number of ended items that failed.
    pub failed: u64,
    /// The number of all items, once it is known.
    pub total: Option<u64>,
    pub executors: u64,
    pub cores: i64,
    /// The time since the first executor connected.
    pub elapsed: Duration,
}

/// Written as `120 of 5,000 items, 2 executors, 8 cores, 3 failed, 40/s, 2 minutes left`.
impl fmt::Display for RunProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.total {
            Some(total) => write!(f, "{} of {}", grouped(self.done), counted(total, "item"))?,
            None => f.write_str(&counted(self.done, "item"))?,
        }
        let cores = u64::try_from(self.cores).unwrap_or(0);
        write!(f, ", {}, {}", counted(self.executors, "executor"), counted(cores, "core"))?;
        if self.failed > 0 {
            write!(f, ", {} failed", grouped(self.failed))?;
        }
        let seconds = self.elapsed.as_secs_f64();
        if self.done == 0 || seconds < 0.5 {
            return Ok(());
        }
        let rate = self.done as f64 / seconds;
        match rate {
            1.0.. => write!(f, ", {rate:.0}/s")?,
            _ => write!(f, ", {:.1}/min", rate * 60.0)?,
        }
        if let Some(left) = self.total.and_then(|total| total.checked_sub(self.done)).filter(|left| *left > 0)
        {
            write!(f, ", {} left", HumanDuration(Duration::from_secs_f64(left as f64 / rate)))?;
        }
        Ok(())
    }
}

/// A count with its noun: `1 item`, `5,000 items`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {}", grouped(count), words::noun(count, noun))
}

/// A count for people: `5,000`.
#[must_use]
pub fn grouped(count: u64) -> HumanCount {
    HumanCount(count)
}

/// The progress bar, with remarks above it. All other printing goes through [`suspend`](Self::suspend).
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Progress {
    bar: ProgressBar,
    show: Show,
    /// Whether other output is being printed in place of the bar. Printing may take a long time.
    away: Arc<AtomicBool>,
    /// Whether the bar was updated at least once.
    drawn: Arc<AtomicBool>,
    /// The width of the bar itself; 0 while the number of all items is unknown.
    width: Arc<AtomicUsize>,
    /// The number of minutes of the run for which a line was written. Used only if no bar can be drawn.
    minutes: Arc<AtomicU64>,
}

impl Progress {
    /// Makes a progress bar. The bar is hidden if the terminal cannot draw it.
    #[must_use]
    pub fn new(show: Show) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let visible = show == Show::Auto && io::stderr().is_terminal() && !dumb;
        let target =
            if visible { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target).with_style(style("{spinner} {wide_msg}"));
        let (away, drawn) = (Arc::default(), Arc::default());
        Self { bar, show, away, drawn, width: Arc::default(), minutes: Arc::default() }
    }

    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.show == Show::Quiet
    }

    #[must_use]
    pub fn again(&self) -> Self {
        Self::new(self.show)
    }

    /// Whether the screen shows a bar that other output would garble.
    #[must_use]
    pub fn is_visible(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Shows the current progress of the run on the bar. If no bar can be drawn (standard error is a file or a service
    /// manager's log), writes one line per minute.
    pub fn update(&self, progress: &RunProgress) {
        if self.bar.is_hidden() && self.begins_a_minute(progress.elapsed) {
            self.remark(progress);
        }
        if self.away.load(Ordering::Acquire) || self.bar.is_hidden() || !stderr_is_writable() {
            return;
        }
        self.drawn.store(true, Ordering::Release);
        let message = progress.to_string();
        if let Some(total) = progress.total {
            let width = bar_width(message.chars().count());
            if self.width.swap(width, Ordering::AcqRel) != width {
                self.bar.set_style(style(&format!("[{{bar:{width}}}] {{wide_msg}}")));
            }
            if self.bar.length() != Some(total) {
                self.bar.set_length(total);
            }
        }
        self.bar.set_message(message);
        self.bar.set_position(progress.done);
        self.bar.tick();
    }

    /// Whether the run has entered a new minute since the last call.
    fn begins_a_minute(&self, elapsed: Duration) -> bool {
        let minute = elapsed.as_secs() / 60;
        self.minutes.fetch_max(minute, Ordering::AcqRel) < minute
    }

    /// Writes a remark on standard error as one line, unless the user wants to see only errors.
    pub fn remark(&self, remark: impl fmt::Display) {
        match self.show {
            Show::Auto => self.error(remark),
            Show::Quiet => {}
        }
    }

    pub fn error(&self, error: impl fmt::Display) {
        self.say(format_args!("firesteel: {}", clean(&error.to_string())));
    }

    /// Writes one or more lines on standard error, above the bar.
    pub fn say(&self, lines: impl fmt::Display) {
        // One write, so that lines of several processes do not mix. A failed write cannot be reported
        // anywhere.
        let lines = format!("{lines}\n");
        let _ = self.suspend(|| plain::stderr().write_all(lines.as_bytes()));
    }

    /// Hides the bar while `print` runs. Meanwhile updates are skipped and remarks wait. `print` must not call other
    /// methods of this type.
    pub fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        // A bar that was never drawn is not drawn now either.
        if !self.drawn.load(Ordering::Acquire) {
            return print();
        }
        self.away.store(true, Ordering::Release);
        let printed = self.bar.suspend(print);
        self.away.store(false, Ordering::Release);
        printed
    }

    /// Removes the bar. The bar is not shown again.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
        self.drawn.store(false, Ordering::Release);
    }
}

/// The width of the bar beside a message of this length, so that the remaining time fits in 80 columns.
fn bar_width(message: usize) -> usize {
    // Two brackets and two blanks.
    [24, 16, 8].into_iter().find(|width| width + 4 + message <= 80).unwrap_or(4)
}

/// Whether a short text can be written without waiting. A terminal that was stopped with ctrl-s accepts no output.
fn stderr_is_writable() -> bool {
    let stderr = io::stderr();
    let mut fds = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("our templates are well formed");
    let style = style.progress_chars("=> ");
    if plain::draws_glyphs() { style } else { style.tick_chars("-\\|/ ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_bar_has_a_line_for_each_minute() {
        let progress = Progress::new(Show::Quiet);
        let seconds = [0, 1, 59, 60, 61, 119, 120, 300, 301, 299];
        let lines: Vec<u64> =
            seconds.into_iter().filter(|it| progress.begins_a_minute(Duration::from_secs(*it))).collect();
        assert_eq!(lines, [60, 120, 300]);
    }

    #[test]
    fn a_line_with_a_bar_has_80_columns_at_most_unless_its_words_alone_have_more() {
        for (message, width) in [(0, 24), (52, 24), (53, 16), (60, 16), (68, 8), (69, 4), (100, 4)] {
            assert_eq!(bar_width(message), width, "{message}");
        }
    }

    #[test]
    fn a_progress_reads_as_a_sentence() {
        let progress = RunProgress { executors: 2, cores: 8, ..RunProgress::default() };
        let seconds = Duration::from_secs;
        for (progress, expected) in [
            (progress, "0 items, 2 executors, 8 cores"),
            (
                RunProgress { total: Some(1), executors: 1, cores: 1, ..progress },
                "0 of 1 item, 1 executor, 1 core",
            ),
            (
                RunProgress { done: 1200, total: Some(5000), elapsed: seconds(10), ..progress },
                "1,200 of 5,000 items, 2 executors, 8 cores, 120/s, 32 seconds left",
            ),
            (
                RunProgress { done: 6, failed: 2, elapsed: seconds(30), ..progress },
                "6 items, 2 executors, 8 cores, 2 failed, 12.0/min",
            ),
            (
                RunProgress { done: 5, total: Some(5), elapsed: seconds(1), ..progress },
                "5 of 5 items, 2 executors, 8 cores, 5/s",
            ),
        ] {
            assert_eq!(progress.to_string(), expected);
        }
    }
}
