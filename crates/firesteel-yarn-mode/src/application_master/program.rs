//! The program of cluster mode: a child process that uses this ApplicationMaster as its Master.

use std::fs::File;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use firesteel_application_master::Event;
use firesteel_protocol::address::Address;
use firesteel_protocol::process::{ExitStatus, StartFailure, StartStep};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, Notify};
use tokio::time::timeout;

use crate::blueprint::Program;
use firesteel_host::inbox::Inbox;
use firesteel_host::process_group::exit_status;
use firesteel_host::start::not_started;

/// How long a program may take to end after it was asked to end. Then it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// The program of cluster mode, before and during its run.
///
/// It stays in the process group of the ApplicationMaster, because a NodeManager kills that group.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    program: Option<Program>,
    master: String,
    user: String,
    /// Notified when the program must end.
    unwanted: Arc<Notify>,
    /// Locked while the program runs.
    running: Arc<Mutex<()>>,
}

impl Programs {
    pub(super) fn new(program: Option<Program>, master: &Address, user: &str) -> Self {
        Self {
            program,
            master: master.url(),
            user: user.to_owned(),
            unwanted: Arc::default(),
            running: Arc::default(),
        }
    }

    /// Starts the program. The inbox receives `ProgramNotStarted` or `ProgramEnded`.
    pub(super) fn start(&self, inbox: Inbox<Event>) {
        let programs = self.clone();
        let running = Arc::clone(&self.running).try_lock_owned();
        let running = running.expect("it is started once");
        tokio::spawn(async move {
            let event = match programs.spawn() {
                Ok(child) => Event::ProgramEnded(programs.wait(child).await),
                Err(failure) => Event::ProgramNotStarted(failure),
            };
            drop(running);
            // The owner loop may already have ended.
            let _ = inbox.send(event).await;
        });
    }

    pub(super) fn stop(&self) {
        self.unwanted.notify_one();
    }

    /// Asks the program to end, and waits for its end.
    pub(super) async fn end(&self) {
        self.stop();
        drop(self.running.lock().await);
    }

    fn spawn(&self) -> Result<Child, StartFailure> {
        let Program { arguments, environment, input, output } = self.program.clone().unwrap_or_default();
        let failure = |step, path: &dyn std::fmt::Display, error: &std::io::Error| StartFailure {
            step,
            error: format!("{path}: {error}"),
        };
        let own =
            std::env::current_exe().map_err(|error| failure(StartStep::Program, &"this program", &error))?;
        let stdin = match &input {
            Some(name) => File::open(name).map_err(|error| failure(StartStep::Files, name, &error))?.into(),
            None => Stdio::null(),
        };
        let stdout = match &output {
            Some(path) => {
                let file = File::create(path);
                file.map_err(|error| failure(StartStep::Output, &path.display(), &error))?.into()
            }
            None => Stdio::inherit(),
        };
        let mut command = Command::new(&own);
        let spawned = command
            .args(arguments)
            .envs(environment)
            .env("MASTER", &self.master)
            .env("SPARK_USER", &self.user)
            .stdin(stdin)
            .stdout(stdout)
            .kill_on_drop(true)
            .spawn();
        spawned.map_err(|error| not_started(command.as_std(), &own.display().to_string(), &error).failure)
    }

    async fn wait(&self, mut child: Child) -> ExitStatus {
        let pid = child.id();
        tokio::select! {
            status = child.wait() => return exit_status(status),
            () = self.unwanted.notified() => {}
        }
        if let Some(pid) = pid.and_then(|pid| i32::try_from(pid).ok()) {
            // The child was not waited for yet, so no other process has its id.
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        if let Ok(status) = timeout(GRACE, child.wait()).await {
            return exit_status(status);
        }
        let _ = child.start_kill();
        exit_status(child.wait().await)
    }
}
