//! Logs as pages and as text: a piece of a log, its position, and links to the rest.

use firesteel_protocol::ids::{AppId, DriverId, ExecutorId, ExecutorKey};
use firesteel_protocol::messages::{LogAuthor, LogPiece, LogStart, Stream};
use maud::{Markup, html};

use super::super::query::{Query, link};
use super::parts::grouped;
use crate::log_client::{Log, LogSource};

/// The default number of bytes to show. Source: Spark's log pages, 4.0.1.
const BYTES: u64 = 102_400;

const MOST_BYTES: u64 = 1 << 20;

/// The part of a log that a request asks for. Source: Spark's log pages, 4.0.1, for the names in the URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct LogQuestion {
    pub(in super::super) author: LogAuthor,
    pub(in super::super) stream: Stream,
    /// The position of the first byte. `None`: the part ends at the log's end.
    offset: Option<u64>,
    bytes: u64,
    /// Whether the script sends the request. The script needs to know whether more output can follow.
    follows: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Excerpt {
    start: u64,
    text: Vec<u8>,
    /// The position of the log's end.
    length: u64,
    /// Whether nothing more will be written to the log.
    is_over: bool,
    /// The path of the log's latest file. The host is included if the file is on another machine.
    pub(in super::super) place: String,
}

/// The name of an output stream, in URLs and as the name of its file.
pub(in super::super) fn name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}

/// The names and values in a URL that identify a log. Source: Spark's log pages, 4.0.1.
fn which(author: &LogAuthor, stream: Stream) -> Vec<(&'static str, String)> {
    let mut pairs = match author {
        LogAuthor::Executor(ExecutorKey { app, executor }) => {
            vec![("appId", app.to_string()), ("executorId", executor.to_string())]
        }
        LogAuthor::Driver(driver) => vec![("driverId", driver.to_string())],
    };
    pairs.push(("logType", name(stream).to_owned()));
    pairs
}

fn link_of(pairs: &[(&'static str, String)]) -> String {
    link(pairs.iter().map(|(name, value)| (*name, value.as_str())))
}

/// Links to both logs of an executor. `pages` is the relative path of log pages, such as `../logPage/`.
pub(in super::super) fn links(pages: &str, app: &AppId, executor: ExecutorId) -> Markup {
    links_of(pages, &LogAuthor::Executor(ExecutorKey { app: app.clone(), executor }))
}

pub(in super::super) fn driver_links(pages: &str, driver: &DriverId) -> Markup {
    links_of(pages, &LogAuthor::Driver(driver.clone()))
}

fn links_of(pages: &str, author: &LogAuthor) -> Markup {
    html! {
        span.logs {
            @for stream in [Stream::Stdout, Stream::Stderr] {
                a href={ (pages) (link_of(&which(author, stream))) }
                    aria-label={ (name(stream)) " of " (author) } { (name(stream)) }
            }
        }
    }
}

impl LogQuestion {
    /// Reads the request in a URL, or reports what is wrong with the URL.
    pub(in super::super) fn of(query: &Query) -> Result<Self, String> {
        if query.has("self") {
            return Err("The daemon's own log goes to its standard error: ask the service manager for it, for example with \
                        journalctl -u firesteel-master or firesteel-worker."
                .to_owned());
        }
        let author = match (query.get("appId"), query.get("executorId"), query.get("driverId")) {
            (Some(app), Some(executor), None) => {
                let number =
                    executor.parse().map_err(|_| format!("{executor} is not the number of an executor."))?;
                LogAuthor::Executor(ExecutorKey { app: AppId::new(app), executor: ExecutorId(number) })
            }
            (None, None, Some(driver)) => LogAuthor::Driver(DriverId::new(driver)),
            // Source: Spark's log pages, 4.0.1, which also refuse both at once.
            _ => {
                let words = "The URL names no log: it needs appId and executorId, or driverId, and logType.";
                return Err(words.to_owned());
            }
        };
        let stream = match query.get("logType") {
            Some("stdout") => Stream::Stdout,
            Some("stderr") | None => Stream::Stderr,
            Some(_) => return Err("Error: Log type must be one of stderr, stdout".to_owned()),
        };
        Ok(Self {
            author,
            stream,
            offset: query.number("offset"),
            bytes: query.number("byteLength").unwrap_or(BYTES).clamp(1, MOST_BYTES),
            follows: query.has("follow"),
        })
    }

    /// Reads the part of the log. `place` says where the log is.
    pub(in super::super) async fn read<S: LogSource>(
        &self,
        source: &mut S,
        place: String,
    ) -> Result<Excerpt, S::Error> {
        let mut log = Log::of(self.author.clone());
        let from = self.offset.map_or(LogStart::LastBytes(self.bytes), LogStart::Offset);
        let LogPiece { start, bytes, mut length, mut is_over } = log.piece(source, self.stream, from).await?;
        let mut text = bytes.to_vec();
        let room = usize::try_from(self.bytes).expect("it is at most MOST_BYTES");
        while text.len() < room && start + (text.len() as u64) < length {
            let next = LogStart::Offset(start + text.len() as u64);
            let more = log.piece(source, self.stream, next).await?;
            if more.bytes.is_empty() {
                break;
            }
            text.extend_from_slice(&more.bytes);
            (length, is_over) = (more.length, more.is_over);
        }
        text.truncate(room);
        Ok(Excerpt { start, text, length, is_over, place })
    }

    fn link(&self, offset: Option<u64>) -> String {
        let bytes = (self.bytes != BYTES).then_some(self.bytes);
        let rest = [("offset", offset), ("byteLength", bytes)];
        let rest = rest.into_iter().filter_map(|(name, value)| Some((name, value?.to_string())));
        link_of(&which(&self.author, self.stream).into_iter().chain(rest).collect::<Vec<_>>())
    }

    /// The author's name in the heading. For an executor, the application is named below the heading.
    fn called(&self) -> String {
        match &self.author {
            LogAuthor::Executor(key) => format!("executor {}", key.executor),
            LogAuthor::Driver(driver) => driver.to_string(),
        }
    }

    pub(in super::super) fn title(&self) -> String {
        match &self.author {
            LogAuthor::Executor(key) => format!("{} of {}/{}", name(self.stream), key.app, key.executor),
            LogAuthor::Driver(driver) => format!("{} of {driver}", name(self.stream)),
        }
    }

    /// The page. `base` is the relative path to the first page. `under` names the log's author.
    pub(in super::super) fn page(&self, base: &str, under: &Markup, excerpt: &Excerpt) -> Markup {
        let end = excerpt.end();
        let text = String::from_utf8_lossy(&excerpt.text);
        let at_end = end >= excerpt.length && !excerpt.is_over;
        let follow = at_end.then(|| format!("{base}log/{}&follow=1", self.link(None)));
        html! {
            section #head {
                h1 { (name(self.stream)) " of " (self.called()) }
                p.under { (under) }
                nav.turns aria-label="Logs" {
                    @for stream in [Stream::Stdout, Stream::Stderr] {
                        @let current = (stream == self.stream).then_some("page");
                        a href=(link_of(&which(&self.author, stream))) aria-current=[current] { (name(stream)) }
                    }
                }
            }
            section #log {
                p.under {
                    @if excerpt.length == 0 { "Nothing was written yet" }
                    @else { "Bytes " (grouped(excerpt.start)) " to " (grouped(end)) " of " (grouped(excerpt.length)) }
                    " · " (excerpt.place) @if excerpt.is_over { " · complete" }
                }
                @if excerpt.start > 0 || end < excerpt.length {
                    nav.turns aria-label="Parts of the log" {
                        @if excerpt.start > 0 {
                            a href=(self.link(Some(0))) { "Beginning" }
                            a href=(self.link(Some(excerpt.start.saturating_sub(self.bytes)))) { "Earlier" }
                        }
                        @if end < excerpt.length {
                            a href=(self.link(Some(end))) { "Later" }
                            a href=(self.link(None)) { "End" }
                        }
                        a href={ (base) "log/" (self.link(Some(excerpt.start))) } { "As text" }
                    }
                }
                pre.log tabindex="0" role="log" aria-label={ (name(self.stream)) " of " (self.called()) }
                    data-follow=[follow] data-end=(end) { (text) }
            }
        }
    }

    /// The text, after a line that says which part of the log is shown. Source: Spark's `/log/`, 4.0.1.
    pub(in super::super) fn text(&self, excerpt: &Excerpt) -> String {
        let Excerpt { start, text, length, is_over, place } = excerpt;
        let ended = if self.follows && *is_over { ", ended" } else { "" };
        let text = String::from_utf8_lossy(text);
        format!("==== Bytes {start}-{} of {length} of {place}{ended} ====\n{text}", excerpt.end())
    }
}

impl Excerpt {
    fn end(&self) -> u64 {
        self.start + self.text.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use firesteel_protocol::messages::LogRange;

    use super::*;

    /// A log whose files have at most 10 bytes each.
    struct Short(Vec<u8>);

    impl LogSource for Short {
        type Error = &'static str;

        async fn ask(&mut self, range: LogRange) -> Result<LogPiece, Self::Error> {
            let length = self.0.len() as u64;
            let start = match range.from {
                LogStart::Offset(offset) => offset.min(length),
                LogStart::LastBytes(bytes) => length.saturating_sub(bytes),
                LogStart::LastLines(_) => return Err("not asked for"),
            };
            let end = (start / 10 * 10 + 10).min(length);
            let bytes = Bytes::copy_from_slice(&self.0[start as usize..end as usize]);
            Ok(LogPiece { start, bytes, length, is_over: true })
        }
    }

    async fn text(query: &str) -> String {
        let question = LogQuestion::of(&Query::of(query)).expect("it is sound");
        let mut source = Short(b"0123456789abcdefghij<script>".to_vec());
        let excerpt = question.read(&mut source, "/work/a/1/stdout".to_owned()).await.expect("it reads");
        assert!(!question.page("../", &html! {}, &excerpt).into_string().contains("<script"));
        question.text(&excerpt)
    }

    #[tokio::test]
    async fn a_part_spans_files_and_the_text_begins_as_in_spark() {
        let log = "appId=a&executorId=1&logType=stdout";
        assert_eq!(
            text(log).await,
            "==== Bytes 0-28 of 28 of /work/a/1/stdout ====\n0123456789abcdefghij<script>"
        );
        assert_eq!(
            text(&format!("{log}&offset=8&byteLength=4")).await,
            "==== Bytes 8-12 of 28 of /work/a/1/stdout ====\n89ab"
        );
        assert_eq!(
            text(&format!("{log}&byteLength=8&follow")).await,
            "==== Bytes 20-28 of 28 of /work/a/1/stdout, ended ====\n<script>"
        );
    }

    #[tokio::test]
    async fn links_on_the_page_of_a_cluster_drivers_log_name_the_driver() {
        let question = LogQuestion::of(&Query::of("driverId=driver-1&logType=stdout")).expect("it is sound");
        let mut source = Short(b"0123456789abcdefghij".to_vec());
        let excerpt = question.read(&mut source, "/work/driver-1/stdout".to_owned()).await.expect("it reads");
        let page = question.page("../", &html! {}, &excerpt).into_string();
        assert!(page.contains("<h1>stdout of driver-1</h1>"), "{page}");
        assert!(page.contains("href=\"?driverId=driver-1&amp;logType=stderr\""), "{page}");
        let links = driver_links("logPage/", &DriverId::new("driver-1")).into_string();
        assert!(links.contains("href=\"logPage/?driverId=driver-1&amp;logType=stdout\""), "{links}");
    }

    #[test]
    fn what_cannot_be_asked_is_refused_in_words() {
        let refused = |query: &str| LogQuestion::of(&Query::of(query)).expect_err(query);
        assert!(refused("").contains("appId"));
        assert!(refused("self&logType=out").contains("journalctl"));
        assert!(refused("appId=a&executorId=x").contains("not the number"));
        assert!(refused("appId=a&executorId=1&driverId=d").contains("driverId"));
        assert!(refused("appId=a&executorId=1&logType=out").starts_with("Error: Log type must be one of"));
    }
}
