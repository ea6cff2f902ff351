//! The format of a line of the log: text for people, or one JSON object for programs.

use std::fmt::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use firesteel_host::plain::{clean, escaped};
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::{RecordFields, VisitOutput as _};
use tracing_subscriber::fmt::format::{DefaultVisitor, Writer};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// The prefix of fields that are meant for programs. The text of the line contains the same facts for people.
const FOR_PROGRAMS: &str = "id.";

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// Words, with a time and a level
    Text,
    /// One JSON object per line
    Json,
}

impl LogFormat {
    /// The function that writes the line about dropped lines.
    pub(super) fn dropped(self) -> fn(u64) -> String {
        fn words(lines: u64) -> String {
            format!("{} of the log dropped: they came faster than they were written", counted(lines, "line"))
        }
        match self {
            Self::Text => |lines| format!("({})\n", words(lines)),
            Self::Json => |lines| {
                let (time, words) = (now(), quoted(&words(lines)));
                format!(
                    "{{\"time\":\"{time}\",\"level\":\"warn\",\"message\":{words},\"dropped\":{lines}}}\n"
                )
            },
        }
    }
}

fn now() -> Timestamp {
    Timestamp::default() + SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Writes times in RFC 3339, in UTC and with milliseconds, as in all other output.
pub(super) struct Utc;

impl FormatTime for Utc {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{}", now())
    }
}

/// Writes an event's fields as text, without control characters and bidirectional marks, because the values may come
/// from a peer.
pub(super) struct CleanFields;

impl<'writer> FormatFields<'writer> for CleanFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut text = String::new();
        let mut visitor = ForPeople(DefaultVisitor::new(Writer::new(&mut text), true));
        fields.record(&mut visitor);
        visitor.0.finish()?;
        writer.write_str(&clean(&text))
    }
}

/// Leaves out the fields that are meant for programs.
struct ForPeople<'a>(DefaultVisitor<'a>);

impl ForPeople<'_> {
    fn pass(&mut self, field: &Field, record: impl FnOnce(&mut DefaultVisitor<'_>)) {
        if !field.name().starts_with(FOR_PROGRAMS) {
            record(&mut self.0);
        }
    }
}

impl Visit for ForPeople<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.pass(field, |visitor| visitor.record_str(field, value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.pass(field, |visitor| visitor.record_error(field, value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.pass(field, |visitor| visitor.record_debug(field, value));
    }
}

/// Writes fields as members of a JSON object, with commas between them.
pub(super) struct JsonFields;

impl<'writer> FormatFields<'writer> for JsonFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut members = Members(String::new());
        fields.record(&mut members);
        writer.write_str(&members.0)
    }
}

/// The members of a JSON object.
struct Members(String);

impl Members {
    fn add(&mut self, name: &str, value: &str) {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        let _ = write!(self.0, "{}:{value}", quoted(name.strip_prefix(FOR_PROGRAMS).unwrap_or(name)));
    }
}

impl Visit for Members {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field.name(), &value.to_string());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field.name(), &value.to_string());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field.name(), &value.to_string());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), &quoted(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field.name(), &quoted(&format!("{value:?}")));
    }
}

/// A text as JSON. Nothing is lost: control characters and bidirectional marks become escapes.
fn quoted(text: &str) -> String {
    escaped(&serde_json::to_string(text).expect("a text can be written as JSON"))
}

/// Writes each event as a JSON object on one line. The field `spans` contains the fields of the event's spans, the
/// innermost span first.
pub(super) struct JsonLines {
    pub(super) command: &'static str,
}

impl<S, N> FormatEvent<S, N> for JsonLines
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
        let metadata = event.metadata();
        let level = metadata.level().as_str().to_ascii_lowercase();
        let (time, command, module) = (now(), quoted(self.command), quoted(metadata.target()));
        write!(
            writer,
            "{{\"time\":\"{time}\",\"level\":\"{level}\",\"component\":{command},\"module\":{module}"
        )?;
        let mut own = String::new();
        context.field_format().format_fields(Writer::new(&mut own), event)?;
        if !own.is_empty() {
            write!(writer, ",{own}")?;
        }
        let mut mark = ",\"spans\":{";
        for span in context.event_scope().into_iter().flatten() {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<N>>().map_or("", |fields| fields.fields.as_str());
            write!(writer, "{mark}{}:{{{fields}}}", quoted(span.name()))?;
            mark = ",";
        }
        writer.write_str(if mark == "," { "}}\n" } else { "}\n" })
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};
    use tracing_subscriber::fmt::MakeWriter;

    use super::*;

    #[derive(Clone, Default)]
    struct Captured(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody panics").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Captured {
        type Writer = Self;

        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    impl Captured {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("nobody panics").clone()).expect("it is UTF-8")
        }
    }

    /// An event within a span. The span has fields that a peer chose.
    fn remark() {
        let span = tracing::info_span!("event", kind = "Client/KillApplication", peer = 7);
        let _entered = span.enter();
        tracing::info!(target: "audit", { id.app = "app-1", id.worker = Option::<&str>::None, lag = 3_u64 }, "a \"b\"\n\u{1b}[2J\u{202e}");
    }

    #[test]
    fn a_line_of_json_has_ids_as_fields_and_loses_nothing() {
        let kept = Captured::default();
        let log = tracing_subscriber::fmt().fmt_fields(JsonFields).with_writer(kept.clone());
        tracing::subscriber::with_default(log.event_format(JsonLines { command: "master" }).finish(), remark);
        let text = kept.text();
        assert!(text.ends_with("}\n") && text.lines().count() == 1, "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        let mut line: Value = serde_json::from_str(&text).expect("it is JSON");
        let time = line["time"].take();
        assert!(time.as_str().is_some_and(|time| time.ends_with('Z')), "{time}");
        assert_eq!(
            line,
            json!({
                "time": null, "level": "info", "component": "master", "module": "audit", "app": "app-1", "lag": 3,
                "message": "a \"b\"\n\u{1b}[2J\u{202e}", "spans": { "event": { "kind": "Client/KillApplication", "peer": 7 } },
            })
        );
    }

    #[test]
    fn a_line_of_text_has_no_fields_for_programs() {
        let kept = Captured::default();
        let log =
            tracing_subscriber::fmt().fmt_fields(CleanFields).with_writer(kept.clone()).with_ansi(false);
        tracing::subscriber::with_default(log.without_time().finish(), remark);
        let words = "a \"b\"\u{fffd}\\x1b[2J\u{fffd} lag=3\n";
        assert_eq!(
            kept.text(),
            format!(" INFO event{{kind=\"Client/KillApplication\" peer=7}}: audit: {words}")
        );
    }

    #[test]
    fn a_dropped_line_is_told_of_in_the_form_of_the_log() {
        assert_eq!(
            LogFormat::Text.dropped()(3),
            "(3 lines of the log dropped: they came faster than they were written)\n"
        );
        let line: Value = serde_json::from_str(&LogFormat::Json.dropped()(1)).expect("it is JSON");
        assert_eq!(line["dropped"], 1);
    }
}
