//! Applications of Spark that prove a secret, and some that cannot.

use std::fs;
use std::process::Command;

use firesteel_testkit::wait::wait;
use firesteel_testkit::{firesteel, processes, wait_for};
use libtest_mimic::Trial;
use nix::sys::signal::Signal;

use crate::cluster::{Driver, LONGEST, MAIN, SPARK, SparkCluster, executors_within};
use crate::submissions::{id_in, run, submission, wait_until_ready};

pub(crate) fn trials() -> Vec<Trial> {
    SPARK.trials(&[
        ("applications_prove_a_secret_by_each_mechanism_and_hide_it", by_each_mechanism),
        ("an_application_with_a_secret_goes_on_under_a_restarted_master", restarted),
        ("spark_25078_a_driver_on_the_cluster_has_the_secret_of_its_submitter", on_the_cluster),
        ("who_has_a_wrong_secret_or_none_gets_nothing", refused),
    ])
}

/// The settings of an application with this secret, and these.
pub(crate) fn secret(word: &str, more: &[&str]) -> Vec<String> {
    let mut settings =
        vec!["spark.authenticate=true".to_owned(), format!("spark.authenticate.secret={word}")];
    settings.extend(more.iter().map(|setting| (*setting).to_owned()));
    settings
}

/// The settings of Spark's AES engine.
const AES: &str = "spark.network.crypto.enabled=true";
const NO_SASL: &str = "spark.network.crypto.saslFallback=false";
const GCM: &str = "spark.network.crypto.cipher=AES/GCM/NoPadding";
const V2: &str = "spark.network.crypto.authEngineVersion=2";

impl SparkCluster {
    /// Starts a durable Master with these properties and Workers with this number of cores each, with credentials.
    pub(crate) fn secured(workers: usize, cores: u32, settings: &[&str]) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let credentials = ["cluster", "worker"].map(|name| root.path().join(name));
        let [of_master, of_worker] = &credentials;
        for command in [
            firesteel().args(["secret", "new"]).arg(of_master),
            firesteel().args(["secret", "grant", "worker"]).args([of_master, of_worker]),
        ] {
            let done = firesteel_testkit::run(command);
            assert_eq!(done.code(), 0, "{done}");
        }
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        Self::of(root, workers, cores, 0, settings, Some(credentials))
    }

    /// The secret that those get who may submit Spark's applications.
    pub(crate) fn granted(&self) -> String {
        let file = self.root.path().join("user");
        if !file.exists() {
            let mut grant = firesteel();
            grant.args(["secret", "grant", "user"]).arg(self.root.path().join("cluster")).arg(&file);
            assert_eq!(firesteel_testkit::run(&mut grant).code(), 0);
        }
        let shown = firesteel_testkit::run(firesteel().args(["secret", "password", "--spark"]).arg(file));
        assert_eq!(shown.code(), 0, "{shown}");
        shown.stdout.trim().to_owned()
    }

    /// Kills the Master and starts it again. The application with this id keeps its executors, and gets another one.
    pub(crate) fn assert_goes_on_after_a_restart(&mut self, id: &str) {
        let executors = executors_within(self.root.path());
        self.restart_master();
        self.master.wait_for_line(&["all Workers and applications are back"]);
        assert_eq!(self.applications("applications")[0]["id"], id);
        assert_eq!(executors_within(self.root.path()), executors);
        // It gives further executors to the application that it has called.
        processes::signal(executors[0], Signal::SIGKILL).expect("it runs");
        wait_for("another executor", || {
            let now = executors_within(self.root.path());
            (!now.is_empty() && now != executors).then_some(())
        });
    }

    fn with_secret(&self, version: &str, app: &str, arguments: &[&str], settings: &[String]) -> Command {
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        self.driver(version, app, arguments, &settings)
    }
}

fn by_each_mechanism() {
    let cluster = SparkCluster::secured(2, 4, &["spark.authenticate.secret=old-secret"]);
    let granted = cluster.granted();
    let rows = [
        ("3.5.9", secret(&granted, &[])),
        ("3.5.9", secret(&granted, &[AES, NO_SASL])),
        ("4.0.1", secret("old-secret", &[AES, NO_SASL, V2])),
        // Earlier releases lose messages with this cipher (SPARK-56227).
        ("4.3.0", secret(&granted, &[AES, NO_SASL, GCM])),
    ];
    for (version, settings) in rows {
        let file = cluster.root.path().join("go").display().to_string();
        let more = ["spark.cores.max=2".to_owned(), "spark.executor.cores=1".to_owned()];
        let driver = cluster.with_secret(version, "idle", &[&file], &[settings, more.into()].concat());
        let driver = Driver::start(driver);
        driver.wait_for("ready ");
        let executors = executors_within(cluster.root.path());
        assert_eq!(executors.len(), 2, "{version}");
        // Each is connected to its Worker, which lets only those of its executors prove a secret.
        for pid in &executors {
            let words = processes::command_line(*pid).join(" ");
            assert!(!words.contains(&granted) && !words.contains("old-secret"), "{words}");
        }
        fs::write(&file, "").expect("it is written");
        assert!(driver.finish().contains("sum 4950"), "{version}");
        fs::remove_file(&file).expect("it is there");
        cluster.wait_until_clean();
    }
    for daemon in cluster.workers.iter().chain([&cluster.master]) {
        let log = daemon.log();
        assert!(!log.contains(&granted) && !log.contains("old-secret"), "{log}");
        assert!(!log.contains("refused"), "{log}");
    }
}

/// The Master that comes back dials the driver, and proves the secret to it.
fn restarted() {
    for more in [&[][..], &[AES, NO_SASL, V2]] {
        let mut cluster = SparkCluster::secured(1, 2, &[]);
        let settings = secret(&cluster.granted(), more);
        let file = cluster.root.path().join("go").display().to_string();
        let driver = Driver::start(cluster.with_secret(MAIN, "idle", &[&file], &settings));
        let id = driver.wait_for("ready ");
        cluster.assert_goes_on_after_a_restart(&id);
        fs::write(&file, "").expect("it is written");
        assert!(driver.finish().contains("sum 4950"));
    }
}

/// SPARK-25078: Spark's Worker starts a driver without the secret that its submitter had.
fn on_the_cluster() {
    let cluster = SparkCluster::secured(1, 2, &[]);
    let granted = cluster.granted();
    let file = cluster.root.path().join("go");
    let settings = secret(&granted, &[AES, NO_SASL]);
    let words: Vec<&str> = settings.iter().flat_map(|setting| ["--conf", setting]).collect();
    let (code, text) = run(submission(MAIN, cluster.url(), &file, &words));
    assert_eq!(code, 0, "{text}");
    let id = id_in(&text);
    wait_until_ready(&cluster.work(0).join(&id), 1);
    for pid in cluster.processes() {
        let words = processes::command_line(pid).join(" ");
        assert!(!words.contains(&granted), "{words}");
    }
    fs::write(&file, "0").expect("it is written");
    wait("the end of the driver", LONGEST, || {
        let status = cluster.master.status();
        let drivers = status["drivers"].as_array()?;
        drivers
            .iter()
            .any(|driver| driver["id"] == id.as_str() && driver["state"] == "FINISHED")
            .then_some(())
    });
}

fn refused() {
    let cluster = SparkCluster::secured(1, 2, &[AES]);
    let granted = cluster.granted();
    let rows: [(Vec<String>, &str); 4] = [
        (Vec::new(), "no secret was proven"),
        (secret("guess", &[AES, NO_SASL]), "the secret is wrong"),
        (secret("guess", &[]), "the connection would not be encrypted"),
        (secret(&granted, &[]), "the connection would not be encrypted"),
    ];
    for (settings, refusal) in rows {
        let driver = Driver::start(cluster.with_secret(MAIN, "squares", &[], &settings));
        cluster.master.wait_for_line(&["refused", refusal]);
        driver.wait_for_log(refusal);
    }
    let status = cluster.master.status();
    assert_eq!(status["applications"].as_array().map(Vec::len), Some(0), "{status:#}");
    assert_eq!(status["completed"].as_array().map(Vec::len), Some(0), "{status:#}");
    assert!(cluster.processes().is_empty());
    // Meanwhile, somebody who knows it is served.
    let output = cluster.run(cluster.with_secret(MAIN, "squares", &[], &secret(&granted, &[AES, NO_SASL])));
    assert!(output.contains("sum 332833500\n"), "{output}");
}
