//! `firesteel config check --security`: what a Master and a Worker with the settings of this machine leave open.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use firesteel_daemons::secret::credentials::Credentials;
use firesteel_host::clock::Clock;
use firesteel_host::plain::{self, clean};
use firesteel_protocol::byte_text;
use firesteel_settings::http::{HttpPort, HttpSettings, rest_host};
use firesteel_settings::master::{
    Recovery, credentials_optional_until, encrypted_spark, is_insecure, recovery,
};
use firesteel_settings::pages::PageSettings;
use firesteel_settings::secrets::is_secret;
use firesteel_settings::variables::Environment;
use firesteel_settings::{Origin, Properties, Reader, SettingError, WorkerSettings, keys};
use nix::unistd::geteuid;

use crate::cli::daemon::worker::is_loopback;
use crate::cli::options::flag_value::choose;

/// How bad an opening is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    /// Somebody to whom nothing was granted gets in, or reads or changes what he should not.
    Open,
    /// Those to whom something was granted get more, or a listener in the network learns something.
    Weak,
}

/// Something that is open, and what closes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    grade: Grade,
    reader: Reader,
    what: String,
    remedy: String,
}

/// What is known of a daemon that would be started here.
struct Daemon<'a> {
    reader: Reader,
    properties: &'a Properties,
    /// The host that it would listen on.
    host: String,
    work_directory: PathBuf,
    is_root: bool,
    openings: Vec<Opening>,
}

/// The openings of this daemon. An application has none.
///
/// # Errors
/// A setting cannot be used.
pub(super) fn openings(
    reader: Reader,
    properties: &Properties,
    environment: &Environment,
) -> Result<Vec<Opening>, SettingError> {
    if reader == Reader::Application {
        return Ok(Vec::new());
    }
    let flag = |name| choose(reader, name, None, environment).text;
    let work_directory = match reader {
        Reader::Worker => byte_text::path(&flag("--work-dir")),
        Reader::Master | Reader::Application => PathBuf::new(),
    };
    let (host, is_root) = (flag("--host"), geteuid().is_root());
    let mut daemon = Daemon { reader, properties, host, work_directory, is_root, openings: Vec::new() };
    daemon.look()?;
    Ok(daemon.openings)
}

impl Daemon<'_> {
    fn find(&mut self, grade: Grade, what: impl Into<String>, remedy: impl Into<String>) {
        let (what, remedy) = (what.into(), remedy.into());
        self.openings.push(Opening { grade, reader: self.reader, what, remedy });
    }

    fn has_credentials(&self) -> bool {
        self.properties.get(keys::CREDENTIALS_FILE).is_some()
    }

    fn look(&mut self) -> Result<(), SettingError> {
        self.strangers()?;
        self.secrets_in_files();
        self.spark()?;
        match self.reader {
            Reader::Master => {
                let http = HttpSettings::of_master(self.properties, false)?;
                self.pages(&http);
                self.rest(&HttpSettings::of_rest(self.properties)?);
                self.forms(&PageSettings::of_master(self.properties)?, &http);
                self.users();
                self.state(&recovery(self.properties)?);
                if self.is_root {
                    self.find(
                        Grade::Weak,
                        "it runs as root, and needs no right of root's",
                        "a user of its own",
                    );
                }
            }
            Reader::Worker => {
                let http = HttpSettings::of_worker(self.properties, false)?;
                self.pages(&http);
                self.executors(&WorkerSettings::of(self.properties)?);
            }
            Reader::Application => {}
        }
        Ok(())
    }

    /// Who gets in without a secret.
    fn strangers(&mut self) -> Result<(), SettingError> {
        let until =
            credentials_optional_until(self.properties)?.filter(|until| *until > Clock::start().now());
        let (when, may_listen, remedy) = match until {
            Some(until) if self.has_credentials() => {
                (format!("until {until} "), true, format!("no {}", keys::CREDENTIALS_OPTIONAL_UNTIL))
            }
            None if self.has_credentials() => return Ok(()),
            Some(_) | None => {
                let remedy = format!("firesteel secret new FILE, and {}=FILE", keys::CREDENTIALS_FILE);
                (String::new(), is_insecure(self.properties)?, remedy)
            }
        };
        let can = match self.reader {
            Reader::Master => "run programs on the Workers",
            Reader::Worker | Reader::Application => "read what executors write",
        };
        let who = match (is_loopback(&self.host), may_listen) {
            (true, _) => "every account of this machine".to_owned(),
            (false, true) => format!("everybody who reaches {}", self.host),
            // It does not start.
            (false, false) => return Ok(()),
        };
        self.find(Grade::Open, format!("{when}{who} can {can}, without a secret"), remedy);
        Ok(())
    }

    /// Secrets in files that others can read.
    fn secrets_in_files(&mut self) {
        let mut found: Vec<(String, PathBuf)> = Vec::new();
        for (name, property) in self.properties.each() {
            if let Origin::File { path, .. } = &property.origin
                && is_secret(name)
                && is_read_by_others(path)
            {
                found.push((name.to_owned(), path.to_path_buf()));
            }
        }
        for (name, path) in found {
            let path = path.display();
            self.find(Grade::Open, format!("others can read {name} in {path}"), format!("chmod 600 {path}"));
        }
    }

    /// What Spark's applications prove and hide.
    fn spark(&mut self) -> Result<(), SettingError> {
        // TLS encrypts everything.
        if !self.has_credentials() || self.properties.boolean(keys::RPC_TLS)? == Some(true) {
            return Ok(());
        }
        let (what, remedy) = match encrypted_spark(self.properties)? {
            false => (
                "Spark's applications may send everything in the clear (SASL)",
                format!("{}=true", keys::CRYPTO),
            ),
            true => (
                "Spark's applications may use AES in counter mode, which does not notice changes (CVE-2025-55039)",
                "spark.network.crypto.cipher=AES/GCM/NoPadding of the applications, from Spark 4.3.0"
                    .to_owned(),
            ),
        };
        self.find(Grade::Weak, what, remedy);
        Ok(())
    }

    fn pages(&mut self, http: &HttpSettings) {
        let is_secured = self.has_credentials() || http.token_key.is_some();
        if http.port != HttpPort::Off && is_secured && http.tls.is_none() && !is_loopback(&self.host) {
            let what = "who listens in the network reads the password of the pages, and the pages";
            self.find(Grade::Weak, what, format!("{}=true", keys::TLS));
        }
    }

    fn rest(&mut self, rest: &HttpSettings) {
        let host = rest_host(self.properties).unwrap_or(&self.host).to_owned();
        if rest.port != HttpPort::Off && !is_loopback(&host) {
            let what = format!(
                "who listens in the network of {host} reads the password of REST, and what is submitted"
            );
            let remedy = format!("{}=127.0.0.1 behind a server with TLS", keys::REST_HOST);
            self.find(Grade::Weak, what, remedy);
        }
    }

    fn forms(&mut self, pages: &PageSettings, http: &HttpSettings) {
        let is_secured = self.has_credentials() || http.token_key.is_some();
        if pages.may_kill && http.port != HttpPort::Off && !is_secured {
            let what = "every reader of the pages can end applications and decommission Workers";
            self.find(Grade::Open, what, format!("{}=false, or credentials", keys::UI_KILL_ENABLED));
        }
    }

    /// Whether users can be told apart.
    fn users(&mut self) {
        let Some(path) = self.properties.get(keys::CREDENTIALS_FILE) else { return };
        let Ok(credentials) = Credentials::open(&byte_text::path(path)) else { return };
        if credentials.users().next().is_none() {
            let what = "users have no names: everyone with a user's file ends the applications of all";
            self.find(Grade::Weak, what, "firesteel secret grant user --name NAME");
        }
    }

    /// Where the Master keeps its state, which has the secrets of applications.
    fn state(&mut self, recovery: &Recovery) {
        match recovery {
            Recovery::Nowhere | Recovery::Directory(None) => {}
            Recovery::Directory(Some(path)) => {
                if is_read_by_others(path) {
                    let path = path.display();
                    let what =
                        format!("others can read the state in {path}, with the secrets of applications");
                    self.find(Grade::Open, what, format!("chmod -R go= {path}"));
                }
            }
            Recovery::ZooKeeper(zookeeper) => {
                if zookeeper.password.is_none() {
                    let what = "everybody who reaches ZooKeeper reads and changes the state of the Masters";
                    self.find(Grade::Open, what, format!("{}=USER:PASSWORD", keys::ZOOKEEPER_PASSWORD));
                }
                let what =
                    "what Masters tell ZooKeeper is not encrypted, the secrets of applications included";
                self.find(Grade::Weak, what, "a network between them that nobody else reads");
            }
        }
    }

    /// What programs of executors can do.
    fn executors(&mut self, settings: &WorkerSettings) {
        if self.is_root && settings.run_as.is_none() {
            let what = "it runs as root, and so do the programs of all applications";
            self.find(Grade::Open, what, format!("{}=*, or a user of its own", keys::RUN_AS));
        }
        // Confined programs reach no file of others.
        if settings.confinement.is_none() {
            let (whose, can) = match settings.run_as.as_deref() {
                Some("*") => ("of a user run under one account", "can read each other's files"),
                Some(_) => ("of all users run under one account", "can read each other's files"),
                None => {
                    ("run under the Worker's account", "can read each other's files, and its credentials")
                }
            };
            let remedy = format!("{}=true, or {}=* gives each user an account", keys::CONFINED, keys::RUN_AS);
            self.find(Grade::Weak, format!("programs {whose}, and {can}"), remedy);
        }
        if settings.may_gain_privileges {
            let what = "programs can gain privileges, for example by sudo";
            self.find(Grade::Weak, what, format!("{}=false", keys::GAIN_PRIVILEGES));
        }
        let limits = settings.limits;
        let unlimited = [
            (limits.memory_overhead.is_none(), "memory", keys::WORKER_OVERHEAD_FACTOR),
            (limits.threads.is_none(), "threads", keys::MAX_THREADS),
            (limits.disk.is_none(), "disk", keys::MAX_DISK_SIZE),
        ];
        let (what, remedy): (Vec<_>, Vec<_>) =
            unlimited.into_iter().filter(|row| row.0).map(|(_, what, key)| (what, key)).unzip();
        if !what.is_empty() {
            let what = format!("a program can take what it was not granted: {}", what.join(", "));
            self.find(Grade::Weak, what, remedy.join(", "));
        }
        if settings.shuffle_service.is_some() && !self.has_credentials() {
            let what = "everybody who reaches the port of the shuffle service reads all shuffle data";
            self.find(Grade::Open, what, format!("{}=FILE", keys::CREDENTIALS_FILE));
        }
        let path = self.work_directory.clone();
        if is_read_by_others(&path) {
            let path = path.display();
            let what = format!("other users can enter the work directory {path}");
            self.find(Grade::Weak, what, format!("chmod o= {path}"));
        }
    }
}

/// Whether users other than the owner and the group can read this. What is missing is made without that right.
fn is_read_by_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o007 != 0)
}

/// Prints the openings, the worst first. Returns whether none is open.
pub(super) fn print(mut openings: Vec<Opening>) -> io::Result<bool> {
    let mut stdout = plain::stdout();
    openings.sort_by_key(|opening| opening.grade);
    for Opening { grade, reader, what, remedy } in &openings {
        let grade = match grade {
            Grade::Open => "open",
            Grade::Weak => "weak",
        };
        writeln!(stdout, "{grade}  {}: {}", reader.described(), clean(what))?;
        writeln!(stdout, "      -> {}", clean(remedy))?;
    }
    let count = openings.iter().filter(|opening| opening.grade == Grade::Open).count();
    match count {
        0 => writeln!(stdout, "nothing is open")?,
        1 => writeln!(stdout, "1 opening")?,
        count => writeln!(stdout, "{count} openings")?,
    }
    stdout.flush()?;
    Ok(count == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The openings of a daemon with these properties and variables: grade and words.
    fn found(reader: Reader, pairs: &[&str], variables: &[(&str, &str)]) -> Vec<(Grade, String)> {
        let properties = Properties::parse(pairs.iter().copied()).expect("they are pairs");
        let environment: Environment =
            variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let openings = openings(reader, &properties, &environment).expect("they can be used");
        openings.into_iter().map(|opening| (opening.grade, opening.what)).collect()
    }

    fn has(found: &[(Grade, String)], grade: Grade, words: &str) -> bool {
        found.iter().any(|(of, what)| *of == grade && what.contains(words))
    }

    #[test]
    fn what_is_open_is_found_and_what_closes_it_closes_it() {
        use Grade::{Open, Weak};
        use Reader::{Master, Worker};
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let file = scratch.path().join("credentials");
        Credentials::draw().create(&file).expect("it is new");
        let secured = format!("firesteel.credentials.file={}", file.display());
        let there: &[(&str, &str)] = &[("SPARK_LOCAL_IP", "192.0.2.1")];
        let rest = "spark.master.rest.enabled=true";
        let zookeeper = ["spark.deploy.recoveryMode=ZOOKEEPER", "spark.deploy.zookeeper.url=127.0.0.1:1"];
        let closed: &[&str] = &["spark.network.crypto.enabled=true"];
        let tls: &[&str] = &[
            "spark.ssl.rpc.enabled=true",
            "spark.ssl.rpc.certChain=/certificate.pem",
            "spark.ssl.rpc.privateKey=/key.pem",
        ];
        // Each row: what is set, what else closes it, where, and the words.
        for (reader, opened, closes, variables, grade, words) in [
            (
                Master,
                &[][..],
                &[&*secured][..],
                &[][..],
                Open,
                "every account of this machine can run programs",
            ),
            (Worker, &[], &[&*secured], &[], Open, "every account of this machine can read what"),
            (
                Master,
                &["firesteel.insecure=true"],
                &[&*secured],
                there,
                Open,
                "everybody who reaches 192.0.2.1",
            ),
            (
                Master,
                &["firesteel.credentials.optionalUntil=2126-12-24T18:00Z", &*secured],
                &["firesteel.credentials.optionalUntil=2016-12-24T18:00Z"],
                there,
                Open,
                "until 2126-12-24T18:00:00.000Z everybody who reaches 192.0.2.1 can run",
            ),
            (Master, &[&*secured], closed, &[], Weak, "in the clear (SASL)"),
            (Worker, &[&*secured], closed, &[], Weak, "in the clear (SASL)"),
            (Worker, &[&*secured], tls, &[], Weak, "in the clear (SASL)"),
            (Master, &[&*secured], &["spark.master.ui.port=none"], there, Weak, "the password of the pages"),
            (Master, &[&*secured, rest], &["spark.master.rest.host=127.0.0.1"], there, Weak, "of REST"),
            (
                Master,
                &["spark.ui.killEnabled=true"],
                &[&*secured],
                &[],
                Open,
                "every reader of the pages can end",
            ),
            (
                Master,
                &zookeeper,
                &["firesteel.master.zookeeper.password=a:b"],
                &[],
                Open,
                "reaches ZooKeeper",
            ),
            (Worker, &[], &["firesteel.worker.runAs=nobody"], &[], Weak, "and its credentials"),
            (Worker, &[], &["firesteel.worker.confined=true"], &[], Weak, "and its credentials"),
            (
                Worker,
                &["firesteel.worker.runAs=nobody"],
                &["firesteel.worker.runAs=*"],
                &[],
                Weak,
                "of all users",
            ),
            (Worker, &["firesteel.worker.gainPrivileges=true"], &[], &[], Weak, "by sudo"),
            (
                Worker,
                &["firesteel.worker.maxThreads=500"],
                &["firesteel.worker.memoryOverheadFactor=0.1", "firesteel.worker.maxDiskSize=10g"],
                &[],
                Weak,
                "what it was not granted: memory, disk",
            ),
            (Worker, &["spark.shuffle.service.enabled=true"], &[&*secured], &[], Open, "all shuffle data"),
            (Master, &[&*secured], &[], &[], Weak, "users have no names"),
        ] {
            assert!(has(&found(reader, opened, variables), grade, words), "{words}");
            let both = [opened, closes].concat();
            assert_eq!(has(&found(reader, &both, variables), grade, words), closes.is_empty(), "{words}");
        }
        assert!(found(Reader::Application, &[], &[]).is_empty());
    }

    #[test]
    fn files_that_others_can_read_are_found_by_their_modes() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let state = scratch.path().join("state");
        fs::create_dir(&state).expect("it is new");
        let pair = format!("spark.deploy.recoveryDirectory={}", state.display());
        for (mode, expected) in [(0o700, false), (0o750, false), (0o755, true), (0o701, true)] {
            fs::set_permissions(&state, fs::Permissions::from_mode(mode)).expect("it is ours");
            let found = found(Reader::Master, &[&pair], &[]);
            assert_eq!(has(&found, Grade::Open, "others can read the state"), expected, "{mode:o}");
            let variables = [("SPARK_WORKER_DIR", state.to_str().expect("it is a text"))];
            let found = self::found(Reader::Worker, &[], &variables);
            assert_eq!(has(&found, Grade::Weak, "can enter the work directory"), expected, "{mode:o}");
        }
    }
}
