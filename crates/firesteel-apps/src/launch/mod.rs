//! `firesteel launch`: an application whose executors each run a command.
//!
//! ```text
//!  Launcher (owner loop, daemon) --occurrences--> run --lines--> standard output
//!       ^                                          |
//!       `---------------- end ---------------------'  if nobody reads them
//! ```
//!
//! [`daemon`] is the shell around the machine, [`occurrence`] words what happened, for people and for programs, and
//! `last_words` adds what an executor that failed wrote last.

pub mod daemon;
mod last_words;
pub mod occurrence;

use std::io;
use std::ops::ControlFlow;
use std::pin::pin;

use firesteel_core::NoteLevel;
use firesteel_core::launcher::{Note, Outcome, Until};
use firesteel_core::messages::TaskDirectory;
use firesteel_core::process::Command;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::beginning::{self, Ground, StartError};
use crate::cluster::Cluster;
use crate::over::Over;
use daemon::{Handle, Last};
use firesteel_host::exit_code;
use firesteel_host::progress::Progress;
use firesteel_host::signals::EndRequest;
use firesteel_settings::Properties;
use firesteel_settings::application::ApplicationSettings;
use last_words::LastWords;
use occurrence::{Form, Lines, Occurrence};

/// What is to be launched.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The application's name.
    pub name: String,
    /// What every executor runs.
    pub command: Command,
    /// Where it runs.
    pub directory: TaskDirectory,
    /// When it is over.
    pub until: Until,
    /// Where the executors come from.
    pub cluster: Cluster,
    /// What is asked for.
    pub settings: ApplicationSettings,
    /// Everything else: `spark.driver.*` are read here, for an application that brings files.
    pub properties: Properties,
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The executors ended as was waited for, with this code.
    Met(i32),
    /// Somebody asked for the end.
    Asked(EndRequest),
    /// Somebody asked again, and nothing was waited for.
    Abandoned(EndRequest),
    /// Nobody reads the events any more.
    ReaderGone,
    /// The application is over, and nobody here ended it.
    Over(Over),
}

impl Ending {
    /// The exit code of a command that ended so.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Met(code) => u8::try_from(*code).unwrap_or(u8::MAX),
            Self::Over(over) => over.exit_code(),
            Self::ReaderGone => exit_code::READER_GONE,
            Self::Asked(request) | Self::Abandoned(request) => request.exit_code(),
        }
    }
}

/// Launches, and stays until it is over.
///
/// # Errors
/// It could not begin.
pub async fn run(launch: Launch, lines: Lines, progress: &Progress) -> Result<Ending, StartError> {
    let mut requests = beginning::end_requests()?;
    let Ground { files, mut cluster, masters } =
        match beginning::begin(&launch.cluster, &launch.settings, progress, &mut requests).await? {
            ControlFlow::Continue(ground) => ground,
            ControlFlow::Break(request) => return Ok(Ending::Asked(request)),
        };
    let (handle, occurrences) = daemon::start(launch, masters, files, requests).await?;
    daemon::follow(&handle.inbox, cluster.news());
    let ending = follow(handle, occurrences, lines, progress).await;
    // Whoever asked twice does not wait.
    if !matches!(ending, Ending::Abandoned(_)) {
        cluster.end().await;
    }
    Ok(ending)
}

/// Prints what happens until it is over. A reader that does not read keeps nobody who asks twice.
async fn follow(
    handle: Handle,
    occurrences: mpsc::Receiver<Occurrence>,
    lines: Lines,
    progress: &Progress,
) -> Ending {
    let Handle { inbox, mut last } = handle;
    let mut printing = pin!(print(occurrences, lines, progress));
    let mut reader = Reader::There;
    loop {
        tokio::select! {
            // The owner loop has not panicked, or has said so.
            end = &mut last => {
                let ending = ending(end.unwrap_or(Last::Abandoned(EndRequest::Terminate)), reader);
                if reader == Reader::There && !matches!(ending, Ending::Abandoned(_)) {
                    // What happened last is printed, too.
                    let _ = printing.await;
                }
                return say(ending, progress);
            }
            printed = &mut printing, if reader == Reader::There => if let Err(error) = printed {
                reader = Reader::Gone;
                if error.kind() != io::ErrorKind::BrokenPipe {
                    progress.error(format_args!("cannot write to standard output: {error}"));
                }
                daemon::end(&inbox).await;
            } else {
                let ending = ending((&mut last).await.unwrap_or(Last::Abandoned(EndRequest::Terminate)), reader);
                return say(ending, progress);
            },
        }
    }
}

/// Who reads standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    There,
    Gone,
}

fn ending(last: Last, reader: Reader) -> Ending {
    match (last, reader) {
        (Last::Abandoned(request), _) => Ending::Abandoned(request),
        (Last::Done { .. }, Reader::Gone) => Ending::ReaderGone,
        (Last::Done { asked: Some(request), .. }, Reader::There) => Ending::Asked(request),
        (Last::Done { outcome, asked: None }, Reader::There) => match outcome {
            Outcome::Met { code } => Ending::Met(code),
            Outcome::Asked => Ending::Asked(EndRequest::Terminate),
            Outcome::Removed(end) => Ending::Over(Over::Removed(end)),
            Outcome::NoMaster { errors } => Ending::Over(Over::NoMaster(errors)),
        },
    }
}

fn say(ending: Ending, progress: &Progress) -> Ending {
    match &ending {
        Ending::Over(over) => progress.error(over),
        Ending::Met(_) | Ending::Asked(_) | Ending::Abandoned(_) | Ending::ReaderGone => {}
    }
    ending
}

async fn print(
    mut occurrences: mpsc::Receiver<Occurrence>,
    mut lines: Lines,
    progress: &Progress,
) -> io::Result<()> {
    let mut stdout = tokio::io::stdout();
    let mut unreachable = std::collections::BTreeSet::new();
    let mut last_words = LastWords::default();
    while let Some(occurrence) = occurrences.recv().await {
        if let Occurrence::Noted { note, .. } = &occurrence {
            // Once for each Master and error is enough.
            let repeated =
                matches!(note, Note::MasterUnreachable { .. }) && !unreachable.insert(note.to_string());
            if note.level() == NoteLevel::Warn && !repeated {
                progress.remark(note);
            }
        }
        for line in lines.of(&occurrence) {
            stdout.write_all(format!("{line}\n").as_bytes()).await?;
        }
        stdout.flush().await?;
        if let (Form::Text, Occurrence::Noted { note, .. }) = (lines.form(), &occurrence) {
            for line in last_words.after(note).await {
                stdout.write_all(format!("{line}\n").as_bytes()).await?;
            }
            stdout.flush().await?;
        }
    }
    Ok(())
}
