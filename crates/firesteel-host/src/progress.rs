//! What a person at a terminal sees while a run goes on.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use firesteel_placement::words;
use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Whether there is a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// A bar where standard error is a terminal that can draw one, and remarks.
    Auto,
    /// No bar, and no remarks but errors.
    Quiet,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Items that are over, well or not. Those that are cancelled are not.
    pub done: u64,
    /// Of these, items that failed.
    pub failed: u64,
    /// All items, once that is known.
    pub total: Option<u64>,
    /// Executors that are connected.
    pub executors: u64,
    /// Their cores.
    pub cores: i64,
    /// Time since the first executor connected.
    pub elapsed: Duration,
}

/// `120 of 5,000 items, 2 executors, 8 cores, 3 failed, 40/s, 2 minutes left`.
impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.total {
            Some(total) => write!(f, "{} of {}", HumanCount(self.done), counted(total, "item"))?,
            None => f.write_str(&counted(self.done, "item"))?,
        }
        let cores = u64::try_from(self.cores).unwrap_or(0);
        write!(f, ", {}, {}", counted(self.executors, "executor"), counted(cores, "core"))?;
        if self.failed > 0 {
            write!(f, ", {} failed", HumanCount(self.failed))?;
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

/// `1 item`, `5,000 items`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {}", HumanCount(count), words::noun(count, noun))
}

/// The bar, the remarks above it, and the way past it for all that is printed. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Progress {
    bar: ProgressBar,
    show: Show,
    /// Something is being printed where the bar was, which may take long.
    away: Arc<AtomicBool>,
    /// There has been an update.
    drawn: Arc<AtomicBool>,
}

impl Progress {
    /// A bar where one can be seen.
    #[must_use]
    pub fn new(show: Show) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let visible = show == Show::Auto && io::stderr().is_terminal() && !dumb;
        let target =
            if visible { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target).with_style(style("{spinner} {wide_msg}"));
        Self { bar, show, away: Arc::default(), drawn: Arc::default() }
    }

    /// Whether the user wants to hear errors only.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.show == Show::Quiet
    }

    /// Another one like it, for another run.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::new(self.show)
    }

    /// Whether there is something on the screen that printing would garble.
    #[must_use]
    pub fn is_visible(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Shows where the run stands now.
    pub fn update(&self, standing: &Standing) {
        if self.away.load(Ordering::Acquire) || self.bar.is_hidden() || !stderr_takes_words() {
            return;
        }
        self.drawn.store(true, Ordering::Release);
        self.bar.set_message(standing.to_string());
        if let Some(total) = standing.total
            && self.bar.length() != Some(total)
        {
            self.bar.set_style(style("[{bar:24}] {wide_msg}"));
            self.bar.set_length(total);
        }
        self.bar.set_position(standing.done);
        self.bar.tick();
    }

    /// Says something on standard error, unless the user wants to hear errors only.
    pub fn remark(&self, remark: impl fmt::Display) {
        match self.show {
            Show::Auto => self.say(format_args!("firesteel: {remark}")),
            Show::Quiet => {}
        }
    }

    /// Says on standard error what went wrong.
    pub fn error(&self, error: impl fmt::Display) {
        self.say(format_args!("firesteel: {error}"));
    }

    /// Writes a line on standard error, above the bar.
    pub fn say(&self, line: impl fmt::Display) {
        // One write, so that lines of several processes do not mix; and nobody is left to tell if it fails.
        let line = format!("{line}\n");
        let _ = self.suspend(|| io::stderr().write_all(line.as_bytes()));
    }

    /// Prints with the bar out of the way. Meanwhile updates are passed over and remarks wait; nothing else of
    /// this is to be called inside.
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

    /// Takes the bar away for good.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
        self.drawn.store(false, Ordering::Release);
    }
}

/// Whether a few words can be written without waiting: a terminal that was stopped with ctrl-s takes none.
fn stderr_takes_words() -> bool {
    let stderr = io::stderr();
    let mut fds = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("our templates are well formed").progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_reads_as_a_sentence() {
        let standing = Standing { executors: 2, cores: 8, ..Standing::default() };
        let seconds = Duration::from_secs;
        for (standing, expected) in [
            (standing, "0 items, 2 executors, 8 cores"),
            (
                Standing { total: Some(1), executors: 1, cores: 1, ..standing },
                "0 of 1 item, 1 executor, 1 core",
            ),
            (
                Standing { done: 1200, total: Some(5000), elapsed: seconds(10), ..standing },
                "1,200 of 5,000 items, 2 executors, 8 cores, 120/s, 32 seconds left",
            ),
            (
                Standing { done: 6, failed: 2, elapsed: seconds(30), ..standing },
                "6 items, 2 executors, 8 cores, 2 failed, 12.0/min",
            ),
            (
                Standing { done: 5, total: Some(5), elapsed: seconds(1), ..standing },
                "5 of 5 items, 2 executors, 8 cores, 5/s",
            ),
        ] {
            assert_eq!(standing.to_string(), expected);
        }
    }
}
