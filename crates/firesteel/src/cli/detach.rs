//! `--detach`: starts the same command in a second process without this terminal, and returns when the application is
//! registered.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write as _};
use std::iter;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use clap::Args;
use firesteel_apps::detached::{Announcement, DetachedRun, DetachedRuns};
use firesteel_host::plain;
use firesteel_host::progress::{Progress, Show};
use firesteel_host::signals::EndRequests;
use firesteel_host::standard;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};

use super::block_on;
use super::exit::{Exit, Failure};

/// The environment variable that passes the directory of a detached run to the second process, which runs the driver.
const DIRECTORY: &str = "FIRESTEEL_DETACHED_RUN";

/// The interval at which the first process checks whether the second process's application is registered.
const TICK: Duration = Duration::from_millis(20);

/// Whether the command returns before its application ends.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Detach {
    /// Return once the application is registered; firesteel attach shows its output
    ///
    /// The id of the application goes to standard output.
    #[arg(long, help_heading = "Output")]
    detach: bool,
}

impl Detach {
    /// Runs a command in this process. With `--detach`, runs it in a new process.
    pub(super) fn run(
        self,
        show: Show,
        here: impl FnOnce(Option<Announcement>) -> Result<u8, Failure>,
    ) -> Result<u8, Failure> {
        if !self.detach {
            return here(None);
        }
        let Some(directory) = env::var_os(DIRECTORY) else { return block_on(start(show))? };
        let run = DetachedRun::at(PathBuf::from(directory));
        run.become_driver().map_err(|error| failed(run.path(), &error))?;
        let done = here(Some(run.announcement()));
        let code = done.as_ref().map_or_else(|failure| failure.exit().code(), |code| *code);
        run.record_exit(code).map_err(|error| failed(run.path(), &error))?;
        done
    }
}

/// Refuses `--detach` for an application whose driver runs in a container.
pub(super) fn refuse_container(announcement: Option<&Announcement>) -> Result<(), Failure> {
    match announcement {
        None => Ok(()),
        Some(_) => Err(Failure::of(
            Exit::Usage,
            "--detach is for a driver on this machine, and this one runs in a container of YARN: write --conf \
             spark.yarn.submit.waitAppCompletion=false in its place",
        )),
    }
}

pub(super) fn runs() -> Result<DetachedRuns, Failure> {
    DetachedRuns::of(|name| env::var_os(name)).map_err(|error| Failure::with(Exit::Failure, &error))
}

/// Starts the second process, and waits until its application is registered or the process has ended.
async fn start(show: Show) -> Result<u8, Failure> {
    let mut requests = EndRequests::install().map_err(|error| Failure::with(Exit::Failure, &error))?;
    let words: Vec<OsString> = iter::once("firesteel".into()).chain(env::args_os().skip(1)).collect();
    let run = runs()?.begin(&words).map_err(|error| Failure::with(Exit::Failure, &error))?;
    let mut child = spawn(&run, &words).map_err(|error| {
        run.remove();
        failed(run.path(), &error)
    })?;
    let mut remarks = File::open(run.stderr()).map_err(|error| failed(run.path(), &error))?;
    loop {
        // Checked before reading: everything that the process wrote before its end is then in the files.
        let ended = child.try_wait().map_err(|error| failed(run.path(), &error))?;
        let app = run.apps().pop();
        copy(&mut remarks, standard::stderr());
        if let Some(app) = app {
            // The reader may have closed standard output.
            let _ = writeln!(plain::stdout(), "{app}");
            let remark = format!("{app} runs without this command; firesteel attach {app} shows its output");
            Progress::new(show).remark(remark);
            return Ok(Exit::Done.code());
        }
        if let Some(status) = ended {
            let _ = File::open(run.stdout()).map(|mut output| copy(&mut output, standard::stdout()));
            run.remove();
            let signal = status.signal().map(|signal| signal + 128);
            let code = status.code().or(signal).and_then(|code| u8::try_from(code).ok());
            return Ok(code.unwrap_or_else(|| Exit::Failure.code()));
        }
        tokio::select! {
            _ = child.wait() => {}
            _ = requests.next() => ask_to_end(&child),
            () = tokio::time::sleep(TICK) => {}
        }
    }
}

/// Starts the second process, which runs the driver: this program with these words. Its output goes to the files of the
/// run.
fn spawn(run: &DetachedRun, words: &[OsString]) -> io::Result<Child> {
    let append = |path| OpenOptions::new().append(true).open(path);
    // Items may come from a pipe, but not from the terminal that the driver leaves.
    let stdin = match standard::stdin() {
        Ok(stdin) if stdin.is_terminal() => Stdio::null(),
        Ok(_) => Stdio::inherit(),
        // Reading from it fails in the new process, as it does here.
        Err(_) => OpenOptions::new().write(true).open("/dev/null")?.into(),
    };
    Command::new(env::current_exe()?)
        .args(words.iter().skip(1))
        .env(DIRECTORY, run.path())
        .stdin(stdin)
        .stdout(append(run.stdout())?)
        .stderr(append(run.stderr())?)
        .spawn()
}

fn ask_to_end(child: &Child) {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(id) = id {
        // If the process has already ended, the next check finds that out.
        let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
    }
}

/// Copies the new output of the driver since the last copy, unchanged.
fn copy(file: &mut File, mut to: impl io::Write) {
    // The reader may have closed its end; the driver continues.
    let _ = io::copy(file, &mut to).and_then(|_| to.flush());
}

fn failed(directory: &Path, error: &dyn Error) -> Failure {
    Failure::of(Exit::Failure, format!("cannot run detached with {}: {error}", directory.display()))
}
