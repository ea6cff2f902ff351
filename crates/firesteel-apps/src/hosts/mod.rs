//! The daemons of a cluster on the machines of `conf/workers`, as Spark's `sbin/start-all.sh` starts them.
//!
//! - `workers_file`: the list of machines
//! - `remote_shell`: runs a script on a machine
//! - `daemon.sh`: the script that starts, stops or shows a daemon
//! - `outcome`: the script's result
//! - `shell_words`: the messages of POSIX shells that mean that the machine lacks resources
//! - `spark_env`: the variables of `spark-env.sh`, some of which affect how daemons are started

mod outcome;
mod remote_shell;
mod shell_words;
pub mod spark_env;
pub mod workers_file;

use std::path::PathBuf;

use firesteel_host::{parallel, start};
use firesteel_protocol::byte_text;
use firesteel_protocol::process::Quoted;

pub use self::outcome::Outcome;
pub use self::remote_shell::RemoteShell;

/// The script that each machine runs. Lines before it set the script's parameters.
const SCRIPT: &str = include_str!("daemon.sh");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Start,
    Stop,
    Status,
}

/// One daemon and the result of the action on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub host: String,
    /// The kind of daemon: `master` or `worker`.
    pub daemon: &'static str,
    /// The result of the action.
    pub outcome: Outcome,
}

/// The machines of a cluster, from a file.
#[derive(Clone, Debug)]
pub struct Machines {
    pub workers: Vec<String>,
    pub shell: RemoteShell,
    /// The program's path. If this path does not exist on a machine, the program in the machine's `PATH`.
    pub program: PathBuf,
    /// The directory of settings on each machine. `None`: the machine's own default.
    pub conf_dir: Option<PathBuf>,
    /// The values of `SPARK_PID_DIR` and `SPARK_LOG_DIR`, if they are set on this machine.
    pub directories: (Option<String>, Option<String>),
    /// The name of this machine, which Workers on other machines use.
    pub name: String,
    /// How long a daemon may take to be ready or to end, in seconds.
    pub patience: u32,
}

impl Machines {
    /// Performs the action on all daemons. Returns one result for each daemon, the Master's first. Workers are not
    /// started if their Master has not started.
    #[must_use]
    pub fn all(&self, action: Action) -> Vec<Entry> {
        match action {
            Action::Start => {
                let master = self.master(action);
                let Some(url) = master.outcome.url().map(str::to_owned) else { return vec![master] };
                let workers = self.on_workers(action, &url);
                [master].into_iter().chain(workers).collect()
            }
            Action::Stop => {
                let workers = self.on_workers(action, "");
                [self.master(action)].into_iter().chain(workers).collect()
            }
            Action::Status => {
                let master = self.master(action);
                [master].into_iter().chain(self.on_workers(action, "")).collect()
            }
        }
    }

    fn master(&self, action: Action) -> Entry {
        self.one("localhost", "master", &self.script(action, "master", self.own_name(), ""))
    }

    /// The name on which a Master listens if no variable sets it. Other machines must be able to reach it.
    fn own_name(&self) -> &str {
        if self.workers.iter().all(|host| remote_shell::is_here(host)) { "127.0.0.1" } else { &self.name }
    }

    fn on_workers(&self, action: Action, url: &str) -> Vec<Entry> {
        parallel::each(&self.workers, self.shell.at_once(self.workers.len()), |host| {
            self.one(host, "worker", &self.script(action, "worker", self.name_of(host), url))
        })
    }

    /// The name on which a Worker listens if no variable of its machine sets it.
    fn name_of<'a>(&'a self, host: &'a str) -> &'a str {
        match host.rsplit_once('@') {
            _ if remote_shell::is_here(host) => self.own_name(),
            Some((_, host)) => host,
            None => host,
        }
    }

    fn one(&self, host: &str, daemon: &'static str, script: &str) -> Entry {
        let outcome = match self.shell.run(host, script) {
            Ok(output) => Outcome::of(&output),
            Err(error) => Outcome::Failed {
                why: format!("the shell or ssh cannot be started: {error}"),
                is_shortage: start::is_shortage(&error),
            },
        };
        Entry { host: host.to_owned(), daemon, outcome }
    }

    fn script(&self, action: Action, daemon: &str, default_host: &str, master_url: &str) -> String {
        let action = match action {
            Action::Start => "start",
            Action::Stop => "stop",
            Action::Status => "status",
        };
        let conf_dir = self.conf_dir.as_ref().map(|path| byte_text::of_os(path.clone()));
        let (pid_dir, log_dir) = &self.directories;
        let parameters = [
            ("action", action),
            ("daemon", daemon),
            ("program", &byte_text::of_os(self.program.clone())),
            ("conf_dir", conf_dir.as_deref().unwrap_or_default()),
            ("pid_dir", pid_dir.as_deref().unwrap_or_default()),
            ("log_dir", log_dir.as_deref().unwrap_or_default()),
            ("default_host", default_host),
            ("master_url", master_url),
            ("patience", &self.patience.to_string()),
        ];
        let lines: String =
            parameters.iter().map(|(name, value)| format!("{name}={}\n", Quoted(value))).collect();
        lines + SCRIPT
    }
}
