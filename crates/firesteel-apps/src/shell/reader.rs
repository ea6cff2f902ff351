//! The source of lines: a person at a terminal, or a script. A thread reads a line only when the session requests one.
//! Text that is typed while a task runs is read later.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc as std_mpsc};
use std::{fs, thread};

use firesteel_engine::session::Commands;
use firesteel_host::standard;
use firesteel_protocol::byte_text;
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::{FileHistory, History, SearchDirection};
use rustyline::{Behavior, CompletionType, Config, Editor};
use tokio::sync::mpsc;

use super::complete::{Completion, Living};
use super::console::Above;

/// The source of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A person at the terminal that is standard input.
    Terminal {
        /// The file for the history of typed lines. `None` if no history is stored.
        history: Option<PathBuf>,
    },
    StandardInput,
    /// A file of commands.
    File(PathBuf),
    /// Commands from the command line.
    Words(String),
}

impl Source {
    pub(super) fn commands(&self) -> Commands {
        if self.is_terminal() { Commands::Typed } else { Commands::Script }
    }

    /// Whether a person types the lines.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal { .. })
    }
}

/// An event of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line of commands, without its end.
    Text(String),
    /// A remark about the source for the user. The requested line comes after the remark.
    Remark(String),
    /// The user pressed ctrl-c. The typed line is discarded.
    Interrupted,
    /// The source has no more lines.
    End,
    /// Reading the source failed.
    Failed(String),
}

/// Requests and returns lines.
pub(super) struct Reader {
    wanted: std_mpsc::Sender<()>,
    lines: mpsc::Receiver<Line>,
    /// The printer that writes above the line that is being typed.
    pub(super) above: Option<Above>,
    restores: Option<Termios>,
    /// Lines of earlier sessions.
    pub(super) remembered: Vec<String>,
}

const PROMPT: &str = "firesteel> ";

/// Maximum number of lines in the history file.
const HISTORY: usize = 1000;

impl Reader {
    /// Opens the source.
    pub(super) fn open(source: &Source, living: Arc<Mutex<Living>>) -> io::Result<Self> {
        let (wanted, asked) = std_mpsc::channel();
        let (sender, lines) = mpsc::channel(1);
        let mut reader = Self { wanted, lines, above: None, restores: None, remembered: Vec::new() };
        let thread = thread::Builder::new().name("reader".into());
        match source {
            Source::Terminal { history } => {
                reader.restores = tcgetattr(io::stdin().as_fd()).ok();
                let mut editor = editor(history.as_deref(), living).map_err(io::Error::other)?;
                reader.above = editor.create_external_printer().ok().map(|printer| Box::new(printer) as _);
                reader.remembered = entries(editor.history());
                let history = history.clone();
                thread.spawn(move || read_terminal(editor, history.as_deref(), &asked, &sender))?;
            }
            Source::StandardInput => {
                let stdin = standard::stdin()?;
                thread.spawn(move || read_script(stdin.lock(), &asked, &sender))?;
            }
            Source::File(path) => {
                let file = BufReader::new(File::open(path)?);
                thread.spawn(move || read_script(file, &asked, &sender))?;
            }
            Source::Words(words) => {
                let words = io::Cursor::new(words.clone());
                thread.spawn(move || read_script(words, &asked, &sender))?;
            }
        }
        Ok(reader)
    }

    /// Requests a line. The caller must take this line with [`next`](Self::next) before it requests another line.
    pub(super) fn want(&self) {
        // The thread ends only after the last line.
        let _ = self.wanted.send(());
    }

    /// Returns the requested line. If this future is dropped, the next call returns the same line.
    pub(super) async fn next(&mut self) -> Line {
        self.lines.recv().await.unwrap_or(Line::End)
    }

    /// Restores the terminal's settings, even while a line is being typed. Returns the text that must be written to the
    /// terminal for this purpose, if any.
    pub(super) fn leave(&self) -> Option<&'static str> {
        let termios = self.restores.as_ref()?;
        let _ = tcsetattr(io::stdin().as_fd(), SetArg::TCSANOW, termios);
        // Turn off bracketed paste.
        Some("\x1b[?2004l\r")
    }
}

fn editor(
    history: Option<&Path>,
    living: Arc<Mutex<Living>>,
) -> rustyline::Result<Editor<Completion, FileHistory>> {
    let config = Config::builder()
        .behavior(Behavior::PreferTerm)
        .completion_type(CompletionType::List)
        .max_history_size(HISTORY)?
        .history_ignore_dups(true)?
        .history_ignore_space(true)
        .auto_add_history(true)
        .build();
    let past = FileHistory::with_config(&config);
    let mut editor = Editor::with_history(config, past)?;
    editor.set_helper(Some(Completion::new(living)));
    if let Some(path) = history {
        // The first session has no history file.
        let _ = editor.load_history(path);
    }
    Ok(editor)
}

fn entries(history: &FileHistory) -> Vec<String> {
    let entry = |at| history.get(at, SearchDirection::Forward).ok().flatten();
    (0..history.len()).filter_map(entry).map(|found| found.entry.into_owned()).collect()
}

fn read_terminal(
    mut editor: Editor<Completion, FileHistory>,
    history: Option<&Path>,
    asked: &std_mpsc::Receiver<()>,
    lines: &mpsc::Sender<Line>,
) {
    if let Some(directory) = history.and_then(Path::parent) {
        // If this fails, the history cannot be written either, which is reported below.
        let _ = fs::create_dir_all(directory);
    }
    let mut keeps = history;
    while asked.recv().is_ok() {
        let line = match editor.readline(PROMPT) {
            Ok(text) => {
                if let Some(path) = keeps
                    && let Err(error) = editor.append_history(path)
                {
                    let words = format!("cannot keep the history in {}: {error}", path.display());
                    // A receiver that is gone does not take the line either.
                    let _ = lines.blocking_send(Line::Remark(words));
                    keeps = None;
                }
                Line::Text(text)
            }
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(ReadlineError::Eof) => Line::End,
            Err(error) => Line::Failed(error.to_string()),
        };
        let is_last = matches!(line, Line::Failed(_));
        if lines.blocking_send(line).is_err() || is_last {
            return;
        }
    }
}

fn read_script(script: impl BufRead, asked: &std_mpsc::Receiver<()>, lines: &mpsc::Sender<Line>) {
    for (number, line) in (1..).zip(script.split(b'\n')) {
        if asked.recv().is_err() {
            return;
        }
        let (line, is_last) = match line {
            Ok(mut line) => {
                line.pop_if(|last| *last == b'\r');
                (Line::Text(byte_text::of(line)), false)
            }
            Err(error) => (Line::Failed(format!("cannot read line {number}: {error}")), true),
        };
        if lines.blocking_send(line).is_err() || is_last {
            return;
        }
    }
}
