//! `firesteel launch`: an application whose executors run a command.
//!
//! ```text
//!  Launcher (owner loop, daemon) --events--> run --lines--> standard output
//!       ^                                          |
//!       `---------------- end ---------------------'  if standard output is closed
//! ```
//!
//! [`daemon`] runs the state machine. [`event`] turns each event into text or JSON. `last_lines` adds the last lines of
//! an executor that failed.

pub mod daemon;
pub mod event;
mod last_lines;

use std::io;
use std::ops::ControlFlow;
use std::pin::pin;

use firesteel_engine::launcher::{self, Note, Until};
use firesteel_protocol::NoteLevel;
use firesteel_protocol::messages::TaskDirectory;
use firesteel_protocol::process::Command;
use futures_util::future::LocalBoxFuture;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::cluster::Cluster;
use crate::detached::Announcement;
use crate::end_reason::EndReason;
use crate::startup::{self, Prepared, StartError};
use daemon::{Handle, LaunchResult};
use event::{LaunchEvent, LineFormat, Lines};
use firesteel_host::exit_code;
use firesteel_host::net::Keyring;
use firesteel_host::progress::Progress;
use firesteel_host::signals::EndRequest;
use firesteel_host::standard;
use firesteel_settings::Properties;
use firesteel_settings::application::ApplicationSettings;
use last_lines::LastLines;

#[derive(Clone, Debug)]
pub struct Launch {
    pub name: String,
    /// The command that each executor runs.
    pub command: Command,
    pub directory: TaskDirectory,
    /// The condition for the end of the application.
    pub until: Until,
    pub cluster: Cluster,
    pub settings: ApplicationSettings,
    /// All properties. An application with files uses the `spark.driver.*` properties.
    pub properties: Properties,
    /// The announcement of the application's name and id, for a detached launch.
    pub announcement: Option<Announcement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The executors ended as `until` requires, with this exit code.
    Met(i32),
    /// The user or the system requested the end.
    Asked(EndRequest),
    /// The request to end was repeated, and the launch stopped without waiting.
    Abandoned(EndRequest),
    /// The program that reads standard output has closed it.
    ReaderGone,
    /// Standard output could not be written.
    Unprinted,
    /// The application ended for a reason other than this process.
    Over(EndReason),
}

impl Ending {
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Met(code) => u8::try_from(*code).unwrap_or(u8::MAX),
            Self::Over(over) => over.exit_code(),
            Self::ReaderGone => exit_code::READER_GONE,
            Self::Unprinted => exit_code::FAILURE,
            Self::Asked(request) | Self::Abandoned(request) => request.exit_code(),
        }
    }
}

/// Launches the application and waits until it has ended.
///
/// # Errors
/// The application could not start.
pub fn run(
    launch: Launch,
    lines: Lines,
    progress: &Progress,
) -> LocalBoxFuture<'_, Result<Ending, StartError>> {
    // Boxed, so that this crate compiles the future, and not its caller's crate.
    Box::pin(run_launch(launch, lines, progress))
}

async fn run_launch(launch: Launch, lines: Lines, progress: &Progress) -> Result<Ending, StartError> {
    let mut requests = startup::end_requests()?;
    let Prepared { files, mut cluster, masters } =
        match startup::prepare(&launch.cluster, &launch.settings, progress, &mut requests).await? {
            ControlFlow::Continue(prepared) => prepared,
            ControlFlow::Break(request) => return Ok(Ending::Asked(request)),
        };
    let announcement = launch.announcement.clone();
    let keyring = cluster.keyring();
    let (handle, events) = daemon::start(launch, (masters, keyring.clone()), files, requests).await?;
    daemon::follow(&handle.inbox, cluster.events());
    let printer = Printer { lines, keyring, announcement, progress };
    let ending = follow(handle, events, printer).await;
    // A repeated request to end does not wait.
    if !matches!(ending, Ending::Abandoned(_)) {
        cluster.end().await;
    }
    Ok(ending)
}

/// Prints events until the launch has ended. Blocked standard output does not delay a repeated request to end.
async fn follow(handle: Handle, events: mpsc::Receiver<LaunchEvent>, printer: Printer<'_>) -> Ending {
    let Handle { inbox, mut result } = handle;
    let progress = printer.progress;
    let mut printing = pin!(printer.print(events));
    let mut reader = Reader::There;
    loop {
        tokio::select! {
            // The owner loop sends its result unless it panicked, which the log shows.
            end = &mut result => {
                let ending = ending(end.unwrap_or(LaunchResult::Abandoned(EndRequest::Terminate)), reader);
                if reader == Reader::There && !matches!(ending, Ending::Abandoned(_)) {
                    // Print the last events too.
                    if let Err(error) = printing.await
                        && unprinted(&error, progress) == Reader::Failed
                    {
                        return Ending::Unprinted;
                    }
                }
                return say(ending, progress);
            }
            printed = &mut printing, if reader == Reader::There => if let Err(error) = printed {
                reader = unprinted(&error, progress);
                daemon::end(&inbox).await;
            } else {
                let ending = ending((&mut result).await.unwrap_or(LaunchResult::Abandoned(EndRequest::Terminate)), reader);
                return say(ending, progress);
            },
        }
    }
}

/// The state of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    There,
    Gone,
    /// Standard output cannot be written.
    Failed,
}

/// Reports why no more events are printed, unless standard output was closed at the other end.
fn unprinted(error: &io::Error, progress: &Progress) -> Reader {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Reader::Gone;
    }
    progress.error(format_args!("cannot write to standard output: {error}"));
    Reader::Failed
}

fn ending(result: LaunchResult, reader: Reader) -> Ending {
    match (result, reader) {
        (LaunchResult::Abandoned(request), _) => Ending::Abandoned(request),
        (LaunchResult::Done { .. }, Reader::Gone) => Ending::ReaderGone,
        (LaunchResult::Done { .. }, Reader::Failed) => Ending::Unprinted,
        (LaunchResult::Done { asked: Some(request), .. }, Reader::There) => Ending::Asked(request),
        (LaunchResult::Done { ending, asked: None }, Reader::There) => match ending {
            launcher::Ending::Met { code } => Ending::Met(code),
            launcher::Ending::Asked => Ending::Asked(EndRequest::Terminate),
            launcher::Ending::Removed(end) => Ending::Over(EndReason::Removed(end)),
            launcher::Ending::NoMaster { errors } => Ending::Over(EndReason::NoMaster(errors)),
        },
    }
}

fn say(ending: Ending, progress: &Progress) -> Ending {
    match &ending {
        Ending::Over(over) => progress.error(over),
        Ending::Met(_) | Ending::Asked(_) | Ending::Abandoned(_) | Ending::ReaderGone | Ending::Unprinted => {
        }
    }
    ending
}

struct Printer<'a> {
    lines: Lines,
    keyring: Option<Keyring>,
    announcement: Option<Announcement>,
    progress: &'a Progress,
}

impl Printer<'_> {
    /// Prints all events until the queue is closed.
    async fn print(mut self, mut events: mpsc::Receiver<LaunchEvent>) -> io::Result<()> {
        let mut stdout = tokio::io::stdout();
        let mut unreachable = std::collections::BTreeSet::new();
        let mut last_lines = LastLines::new(self.keyring.take());
        while let Some(event) = events.recv().await {
            if let LaunchEvent::Noted { note, .. } = &event {
                // Print each pair of Master and error once.
                let repeated =
                    matches!(note, Note::MasterUnreachable { .. }) && !unreachable.insert(note.to_string());
                if note.level() == NoteLevel::Warn && !repeated {
                    self.progress.remark(note);
                }
            }
            for line in self.lines.of(&event) {
                standard::stdout().check()?;
                stdout.write_all(format!("{line}\n").as_bytes()).await?;
            }
            stdout.flush().await?;
            if let (LineFormat::Text, LaunchEvent::Noted { note, .. }) = (self.lines.format(), &event) {
                for line in last_lines.after(note).await {
                    stdout.write_all(format!("{line}\n").as_bytes()).await?;
                }
                stdout.flush().await?;
            }
            if let (Some(announcement), LaunchEvent::Noted { note: Note::Registered { app, .. }, .. }) =
                (&self.announcement, &event)
            {
                announcement.registered(app);
            }
        }
        Ok(())
    }
}
