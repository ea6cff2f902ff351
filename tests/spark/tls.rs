//! Applications of Spark whose connections with Masters and Workers are by TLS.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use firesteel_testkit::{processes, run};
use libtest_mimic::Trial;

use crate::cluster::{Driver, MAIN, SPARK, SparkCluster, environments, executors_within};
use crate::secrets::secret;

pub(crate) fn trials() -> Vec<Trial> {
    SPARK.trials(&[
        ("connections_with_applications_are_by_tls_also_after_a_restart_of_the_master", restarted),
        ("an_application_in_the_clear_is_refused_where_tls_is_needed", refused),
    ])
}

/// The password of the application's files.
const PASSWORD: &str = "opensesame";

/// The files of a cluster and of an application that trust each other.
struct Files<'a>(&'a Path);

impl Files<'_> {
    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn keytool(&self, words: &[&str]) {
        let mut keytool = Command::new("keytool");
        keytool.args(words).args(["-noprompt", "-storetype", "PKCS12", "-storepass", PASSWORD]);
        let done = run(&mut keytool);
        assert_eq!(done.code(), 0, "{done}");
    }

    /// Makes the application's key, its certificate, and the file with those that it trusts.
    fn make(directory: &Path) -> Files<'_> {
        let files = Files(directory);
        fs::copy(fixture("server.key"), directory.join("server.key")).expect("it can be copied");
        let only_owner = fs::Permissions::from_mode(0o600);
        fs::set_permissions(directory.join("server.key"), only_owner).expect("it is ours");
        let [keys, trusted, own] =
            ["keys.p12", "trusted.p12", "application.pem"].map(|name| files.path(name));
        let name = ["-genkeypair", "-keyalg", "EC", "-dname", "CN=application"];
        files.keytool(
            &[&name[..], &["-alias", "application", "-validity", "36500", "-keystore", &keys]].concat(),
        );
        files.keytool(&["-exportcert", "-rfc", "-alias", "application", "-file", &own, "-keystore", &keys]);
        for (alias, file) in
            [("application", own), ("cluster", fixture("authority.pem").display().to_string())]
        {
            files.keytool(&["-importcert", "-alias", alias, "-file", &file, "-keystore", &trusted]);
        }
        files
    }

    /// The settings of Masters and Workers.
    fn of_daemons(&self) -> Vec<String> {
        let certificates = fixture("server.pem");
        vec![
            "spark.ssl.rpc.enabled=true".to_owned(),
            format!("spark.ssl.rpc.certChain={}", certificates.display()),
            format!("spark.ssl.rpc.privateKey={}", self.path("server.key")),
        ]
    }

    fn of_master(&self) -> Vec<String> {
        let mut settings = self.of_daemons();
        settings.push("spark.ssl.rpc.needClientAuth=true".to_owned());
        settings.push(format!("spark.ssl.rpc.trustStore={}", self.path("application.pem")));
        settings
    }

    fn of_application(&self) -> Vec<String> {
        vec![
            "spark.ssl.rpc.enabled=true".to_owned(),
            "spark.ssl.rpc.protocol=TLSv1.3".to_owned(),
            format!("spark.ssl.rpc.keyStore={}", self.path("keys.p12")),
            format!("spark.ssl.rpc.keyStorePassword={PASSWORD}"),
            format!("spark.ssl.rpc.trustStore={}", self.path("trusted.p12")),
            format!("spark.ssl.rpc.trustStorePassword={PASSWORD}"),
        ]
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/http/tls").join(name)
}

/// A durable Master with credentials and TLS, and a Worker of two cores. Its executors are confined to the files of the
/// application and to what Spark and Python are.
fn cluster(files: &Files<'_>) -> SparkCluster {
    let settings = files.of_master();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let passwords = ["keyStore", "trustStore"].map(|file| format!("spark.ssl.rpc.{file}Password={PASSWORD}"));
    let readable =
        format!("firesteel.worker.readablePaths={},{}", files.0.display(), environments().display());
    let confined = ["firesteel.worker.confined=true".to_owned(), readable];
    let of_worker = files.of_daemons().into_iter().chain(passwords).chain(confined);
    let of_worker: Vec<String> = of_worker.flat_map(|setting| ["--conf".to_owned(), setting]).collect();
    let size = ["--cores", "2", "--memory", "8g"];
    let arguments: Vec<&str> = size.into_iter().chain(of_worker.iter().map(String::as_str)).collect();
    SparkCluster::secured(0, 0, &settings).and_worker(&arguments)
}

/// The Master that comes back dials the driver by TLS, and proves the secret to it.
fn restarted() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files = Files::make(directory.path());
    let mut cluster = cluster(&files);
    let settings = [secret(&cluster.granted(), &[]), files.of_application()].concat();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    for version in ["4.3.0", MAIN] {
        let file = cluster.root.path().join("go").display().to_string();
        let driver = Driver::start(cluster.driver(version, "idle", &[&file], &settings));
        let id = driver.wait_for("ready ");
        let executors = executors_within(cluster.root.path());
        for pid in &executors {
            let words = processes::command_line(*pid).join(" ");
            assert!(words.contains("-Dspark.ssl.rpc.enabled=true") && !words.contains(PASSWORD), "{words}");
        }
        if version == MAIN {
            cluster.assert_goes_on_after_a_restart(&id);
        }
        fs::write(&file, "").expect("it is written");
        assert!(driver.finish().contains("sum 4950"), "{version}");
        fs::remove_file(&file).expect("it is there");
        cluster.wait_until_clean();
    }
    for daemon in cluster.workers.iter().chain([&cluster.master]) {
        let log = daemon.log();
        assert!(!log.contains(PASSWORD) && !log.contains("refused"), "{log}");
    }
}

fn refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files = Files::make(directory.path());
    let cluster = cluster(&files);
    let in_the_clear = secret(&cluster.granted(), &[]);
    let by_tls = files.of_application();
    for (settings, refusal) in
        [(in_the_clear, "the connection would not be encrypted"), (by_tls, "no secret was proven")]
    {
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let driver = Driver::start(cluster.driver(MAIN, "squares", &[], &settings));
        cluster.master.wait_for_line(&["refused", refusal]);
        driver.wait_for_log(refusal);
    }
    let status = cluster.master.status();
    let count = |list: &str| status[list].as_array().map(Vec::len);
    assert_eq!((count("applications"), count("completed")), (Some(0), Some(0)), "{status:#}");
    assert!(cluster.processes().is_empty());
}
