//! The log: lines on standard error.

mod format;
mod queue;

use std::fmt;

use clap::{ArgAction, Args, ValueEnum as _};
use firesteel_daemons::master::audit_log;
use firesteel_host::progress::Show;
use firesteel_host::standard;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use super::color::Colors;
use format::{CleanFields, JsonFields, JsonLines, LogFormat, Utc};
use queue::{LastLines, LogQueue};

/// The variable that sets the default of `--log-format`. The executors of a Worker use it, too.
const FORMAT_VARIABLE: &str = "FIRESTEEL_LOG_FORMAT";

/// The options of the log.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct LogOptions {
    /// Log more; repeat for everything
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = 900)]
    verbose: u8,
    /// Print less: no progress, summaries or events, and fewer lines of the log; repeat for errors only
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "verbose", display_order = 900)]
    quiet: u8,
    /// Use colour: auto (on a terminal; respects NO_COLOR, CLICOLOR_FORCE, TERM), always, never [default: auto]
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN",
        hide_default_value = true,
        hide_possible_values = true,
        display_order = 900
    )]
    color: Colors,
    /// Form of the log: text, or json: an object on each line [default: text]
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORM",
        hide_possible_values = true,
        display_order = 900
    )]
    log_format: Option<LogFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefaultLevel {
    Info,
    /// The default level of commands that print a result.
    Warnings,
}

/// Writes a command's log lines in the same form as its errors: `firesteel: TEXT`.
struct Remarks;

impl<S, N> FormatEvent<S, N> for Remarks
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let name = if writer.has_ansi_escapes() { "\u{1b}[33mfiresteel:\u{1b}[0m" } else { "firesteel:" };
        write!(writer, "{name} ")?;
        context.field_format().format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

impl LogOptions {
    /// Starts the log. `RUST_LOG` overrides the flags. When the result is dropped, a daemon's last lines are written.
    #[must_use]
    pub(super) fn start(self, command: &'static str, default: DefaultLevel) -> Option<LastLines> {
        let (format, unknown) = self.format();
        let asked = std::env::var("RUST_LOG").ok().filter(|words| !words.is_empty());
        let (filter, unsound) = match asked.as_deref().map(str::parse::<Targets>) {
            Some(Ok(filter)) => (filter, None),
            Some(Err(error)) => (self.filter(default), Some(error)),
            None => (self.filter(default), None),
        };
        let (writer, last_lines) = match default {
            DefaultLevel::Info => queued(format),
            // A command writes its log in order with its other output.
            DefaultLevel::Warnings => (BoxMakeWriter::new(standard::stderr), None),
        };
        let log = tracing_subscriber::fmt()
            .with_max_level(Level::TRACE)
            .with_timer(Utc)
            // A failed write to the log, for example on a full disk, must not end the daemon.
            .log_internal_errors(false)
            .with_writer(writer);
        if format == LogFormat::Json {
            std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
            log.fmt_fields(JsonFields).event_format(JsonLines { command }).finish().with(filter).init();
        } else {
            let log = log.fmt_fields(CleanFields).with_ansi(self.color.on_stderr());
            match default {
                // Commands show times and modules only on request.
                DefaultLevel::Warnings if self.verbose == 0 && asked.is_none() => {
                    log.event_format(Remarks).finish().with(filter).init();
                }
                DefaultLevel::Warnings | DefaultLevel::Info => log.finish().with(filter).init(),
            }
        }
        if let Some(error) = unsound {
            tracing::warn!("RUST_LOG is ignored: {error}");
        }
        if let Some(word) = unknown {
            tracing::warn!("{FORMAT_VARIABLE}={word} is ignored: write text or json");
        }
        last_lines
    }

    /// The format of the log. Also returns the variable's value if that is not valid.
    fn format(self) -> (LogFormat, Option<String>) {
        if let Some(format) = self.log_format {
            return (format, None);
        }
        match std::env::var(FORMAT_VARIABLE).ok().filter(|word| !word.is_empty()) {
            None => (LogFormat::Text, None),
            Some(word) => match LogFormat::from_str(&word, false) {
                Ok(format) => (format, None),
                Err(_) => (LogFormat::Text, Some(word)),
            },
        }
    }

    fn filter(self, default: DefaultLevel) -> Targets {
        let level = self.level(default);
        // The Master itself logs how its session with ZooKeeper changes.
        let filter =
            Targets::new().with_default(level).with_target(audit_log::TARGET, level.max(Level::INFO));
        if level > Level::INFO { filter } else { filter.with_target("zookeeper_client", Level::ERROR) }
    }

    /// Whether a failure is logged instead of printed, so that all output of a daemon with a JSON log is JSON.
    pub(super) fn tells_failure(self, default: DefaultLevel) -> bool {
        default == DefaultLevel::Info && self.format().0 == LogFormat::Json
    }

    /// Whether a command shows a progress bar and prints remarks.
    pub(super) fn show(self) -> Show {
        if self.quiet > 0 { Show::Quiet } else { Show::Auto }
    }

    fn level(self, default: DefaultLevel) -> Level {
        const LEVELS: [Level; 5] = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];
        let default: usize = match default {
            DefaultLevel::Info => 2,
            DefaultLevel::Warnings => 1,
        };
        let level = default.saturating_add(self.verbose.into()).saturating_sub(self.quiet.into());
        LEVELS[level.min(LEVELS.len() - 1)]
    }
}

/// Standard error behind a queue. If no thread can be started for the queue, standard error itself.
fn queued(format: LogFormat) -> (BoxMakeWriter, Option<LastLines>) {
    match LogQueue::start(format.dropped(), standard::stderr()) {
        Ok((queue, last_lines)) => (BoxMakeWriter::new(queue), Some(last_lines)),
        Err(_) => (BoxMakeWriter::new(standard::stderr), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_move_the_level_within_its_ends() {
        let level = |verbose, quiet, default| {
            LogOptions { verbose, quiet, color: Colors::Auto, log_format: None }.level(default)
        };
        assert_eq!(level(0, 0, DefaultLevel::Info), Level::INFO);
        assert_eq!(level(0, 0, DefaultLevel::Warnings), Level::WARN);
        assert_eq!(level(1, 0, DefaultLevel::Info), Level::DEBUG);
        assert_eq!(level(9, 0, DefaultLevel::Warnings), Level::TRACE);
        assert_eq!(level(0, 9, DefaultLevel::Info), Level::ERROR);
    }
}
