//! The log: lines on standard error.

use std::time::{SystemTime, UNIX_EPOCH};
use std::{fmt, io};

use clap::{ArgAction, Args};
use firesteel_core::Timestamp;
use firesteel_host::plain::clean;
use firesteel_host::progress::Show;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use super::color::Colors;
use super::log_queue::{LastLines, LogQueue};

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
}

/// The default log level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefaultLevel {
    /// The level of daemons.
    Info,
    /// The level of commands that print a result.
    Warnings,
}

/// Writes an event's fields without control characters and bidirectional marks. What a field says may come from
/// a peer.
struct CleanFields;

impl<'writer> FormatFields<'writer> for CleanFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut text = String::new();
        DefaultFields::new().format_fields(Writer::new(&mut text), fields)?;
        writer.write_str(&clean(&text))
    }
}

/// Writes a command's remarks in the form of its errors: `firesteel: WORDS`.
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

/// Times in RFC 3339, UTC, to the millisecond, as in all other output.
struct Utc;

impl FormatTime for Utc {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        write!(writer, "{}", Timestamp::default() + since)
    }
}

impl LogOptions {
    /// Starts the log. `RUST_LOG` overrides the flags. The last lines of a daemon are written when the result is dropped.
    #[must_use]
    pub(super) fn start(self, default: DefaultLevel) -> Option<LastLines> {
        let asked = std::env::var("RUST_LOG").ok().filter(|words| !words.is_empty());
        let (filter, unsound) = match asked.as_deref().map(str::parse::<Targets>) {
            Some(Ok(filter)) => (filter, None),
            Some(Err(error)) => (self.filter(default), Some(error)),
            None => (self.filter(default), None),
        };
        let (writer, last_lines) = match default {
            DefaultLevel::Info => queued(),
            // The lines of a command stand in order with its other output.
            DefaultLevel::Warnings => (BoxMakeWriter::new(io::stderr), None),
        };
        let log = tracing_subscriber::fmt()
            .with_max_level(Level::TRACE)
            .with_timer(Utc)
            .fmt_fields(CleanFields)
            .with_ansi(self.color.on_stderr())
            // A failed write to the log, for example on a full disk, must not end the daemon.
            .log_internal_errors(false)
            .with_writer(writer);
        match default {
            // Times and modules are shown only on request.
            DefaultLevel::Warnings if self.verbose == 0 && asked.is_none() => {
                log.event_format(Remarks).finish().with(filter).init();
            }
            DefaultLevel::Warnings | DefaultLevel::Info => log.finish().with(filter).init(),
        }
        if let Some(error) = unsound {
            tracing::warn!("RUST_LOG is ignored: {error}");
        }
        last_lines
    }

    fn filter(self, default: DefaultLevel) -> Targets {
        let level = self.level(default);
        // What a session with ZooKeeper means for the Master, the Master says.
        let filter = Targets::new().with_default(level);
        if level > Level::INFO { filter } else { filter.with_target("zookeeper_client", Level::ERROR) }
    }

    /// Whether commands show a progress bar and print remarks.
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

/// Standard error behind a queue; without one if the system gives no thread for it.
fn queued() -> (BoxMakeWriter, Option<LastLines>) {
    match LogQueue::start(io::stderr()) {
        Ok((queue, last_lines)) => (BoxMakeWriter::new(queue), Some(last_lines)),
        Err(_) => (BoxMakeWriter::new(io::stderr), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_move_the_level_within_its_ends() {
        let level =
            |verbose, quiet, default| LogOptions { verbose, quiet, color: Colors::Auto }.level(default);
        assert_eq!(level(0, 0, DefaultLevel::Info), Level::INFO);
        assert_eq!(level(0, 0, DefaultLevel::Warnings), Level::WARN);
        assert_eq!(level(1, 0, DefaultLevel::Info), Level::DEBUG);
        assert_eq!(level(9, 0, DefaultLevel::Warnings), Level::TRACE);
        assert_eq!(level(0, 9, DefaultLevel::Info), Level::ERROR);
    }
}
