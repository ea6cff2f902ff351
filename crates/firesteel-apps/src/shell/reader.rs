//! Where lines come from: a person at a terminal, or a script. Each is read by a thread of its own, and only when
//! the session asks for it: while a task runs, what is typed waits.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc as std_mpsc};
use std::{fs, thread};

use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::{FileHistory, History, SearchDirection};
use rustyline::{Behavior, CompletionType, Config, Editor};
use tokio::sync::mpsc;

use super::complete::{Completion, Living};
use super::console::Above;

/// Where lines come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A person, at the terminal that is standard input.
    Terminal {
        /// Where lines are kept from session to session, if they are.
        history: Option<PathBuf>,
    },
    /// Standard input.
    StandardInput,
    /// A file.
    File(PathBuf),
    /// The command line.
    Words(String),
}

impl Source {
    /// Whether there is a person to be spoken to.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal { .. })
    }
}

/// What the source gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line.
    Text {
        /// Counted from 1.
        number: u64,
        /// Without its end.
        text: String,
    },
    /// Something about the source that whoever types should know. The line that was asked for comes after it.
    Remark(String),
    /// ctrl-c: the line that was being typed is not wanted.
    Interrupted,
    /// There are no more.
    End,
    /// It cannot be read any further.
    Failed(String),
}

/// How lines are asked for.
pub struct Reader {
    wanted: std_mpsc::Sender<()>,
    lines: mpsc::Receiver<Line>,
    /// How to write above the line that is being typed.
    pub above: Option<Above>,
    restores: Option<Termios>,
    /// Lines of earlier sessions.
    pub remembered: Vec<String>,
}

const PROMPT: &str = "firesteel> ";

/// Lines that are kept from session to session.
const HISTORY: usize = 1000;

impl Reader {
    /// Opens the source.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(source: &Source, living: Arc<Mutex<Living>>) -> io::Result<Self> {
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
                thread.spawn(move || read_script(io::stdin().lock(), &asked, &sender))?;
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

    /// Asks for a line. Whoever asks takes it with [`next`](Self::next) before asking again.
    pub fn want(&self) {
        // The thread ends only after the last line.
        let _ = self.wanted.send(());
    }

    /// The line that was asked for. May be dropped and called again.
    pub async fn next(&mut self) -> Line {
        self.lines.recv().await.unwrap_or(Line::End)
    }

    /// Leaves the terminal as it was, though a line is being typed, whether or not it shows anything at the time. What
    /// is to be written to it for that.
    pub fn leave(&self) -> Option<&'static str> {
        let termios = self.restores.as_ref()?;
        let _ = tcsetattr(io::stdin().as_fd(), SetArg::TCSANOW, termios);
        // Pasted text is not bracketed any more.
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
        // The first session has none.
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
        // Where it cannot be made, the history cannot be written either, which is said below.
        let _ = fs::create_dir_all(directory);
    }
    let mut keeps = history;
    for number in 1.. {
        if asked.recv().is_err() {
            return;
        }
        let line = match editor.readline(PROMPT) {
            Ok(text) => {
                if let Some(path) = keeps
                    && let Err(error) = editor.append_history(path)
                {
                    let words = format!("cannot keep the history in {}: {error}", path.display());
                    // Whoever does not take it takes no line either.
                    let _ = lines.blocking_send(Line::Remark(words));
                    keeps = None;
                }
                Line::Text { number, text }
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
    for (number, text) in (1..).zip(script.lines()) {
        if asked.recv().is_err() {
            return;
        }
        let (line, is_last) = match text {
            Ok(text) => (Line::Text { number, text }, false),
            Err(error) => (Line::Failed(format!("cannot read line {number}: {error}")), true),
        };
        if lines.blocking_send(line).is_err() || is_last {
            return;
        }
    }
}
