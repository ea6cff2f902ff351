//! A real Prometheus that scrapes real daemons, configured as in docs/MONITORING.md, and evaluates the board and the
//! alerts.

use std::path::{Path, PathBuf};
use std::process::Command;

use firesteel_testkit::component::{Component, Readiness};
use firesteel_testkit::ports::free_port;
use firesteel_testkit::{Daemon, firesteel, wait_for};
use libtest_mimic::Trial;
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

const PROMETHEUS: Component =
    Component { name: "prometheus", look: prometheus_is_there, prepare: || Readiness::Ready };

pub(crate) fn trials() -> Vec<Trial> {
    PROMETHEUS
        .trials(&[("prometheus::it_scrapes_the_daemons_and_evaluates_the_board_and_the_alerts", scraped)])
}

fn prometheus_is_there() -> Result<(), String> {
    let found = Command::new("prometheus").arg("--version").output();
    found.map(|_| ()).map_err(|error| format!("prometheus, of Debian's package prometheus: {error}"))
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The scrape configuration of docs/MONITORING.md with this Master and this Worker, and the alerts.
fn configuration(master: &str, worker: &str) -> String {
    let page = read(&docs().join("MONITORING.md"));
    let block =
        page.split("```yaml\n").find(|block| block.starts_with("scrape_configs:")).expect("it is there");
    let block = block.split("```").next().expect("it ends");
    let mut scraped = String::new();
    let mut targets = [master, worker].into_iter();
    for line in block.lines() {
        match line.split_once("targets: [") {
            Some((before, _)) => {
                let target = targets.next().expect("the page has a Master's targets, then a Worker's");
                scraped.push_str(&format!("{before}targets: [{target}]\n"));
            }
            None => scraped.push_str(&format!("{line}\n")),
        }
    }
    let rules = docs().join("grafana/alerts.yml").canonicalize().expect("it is there");
    format!(
        "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\nrule_files: ['{}']\n{scraped}",
        rules.display()
    )
}

/// Prometheus, on a free port of loopback.
struct Prometheus {
    _process: Daemon,
    address: String,
    _directory: TempDir,
}

impl Prometheus {
    fn start(master: &str, worker: &str) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let path = |name: &str| directory.path().join(name).display().to_string();
        std::fs::write(path("prometheus.yml"), configuration(master, worker)).expect("it can be written");
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = Command::new("prometheus");
        command.args([
            format!("--config.file={}", path("prometheus.yml")),
            format!("--storage.tsdb.path={}", path("data")),
            format!("--web.listen-address={address}"),
        ]);
        Self { _process: Daemon::spawn(&mut command), address, _directory: directory }
    }

    /// The data of its API's answer; `None` while it does not answer.
    fn ask(&self, path: &str, query: Option<&str>) -> Option<Value> {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
        let mut request = agent.get(format!("http://{}/api/v1/{path}", self.address));
        if let Some(query) = query {
            request = request.query("query", query);
        }
        let text = request.call().ok()?.body_mut().read_to_string().ok()?;
        let answer: Value = serde_json::from_str(&text).ok()?;
        assert_eq!(answer["status"], "success", "{query:?}: {answer}");
        Some(answer["data"].clone())
    }

    /// The alerts, with their state.
    fn alerts(&self) -> Option<Vec<Value>> {
        let groups = self.ask("rules", None)?;
        groups["groups"][0]["rules"].as_array().cloned()
    }

    /// The values of an expression, once there are some.
    fn values(&self, query: &str) -> Vec<f64> {
        wait_for(query, || {
            let data = self.ask("query", Some(query))?;
            let values = data["result"].as_array().expect("a query has results").iter().map(|sample| {
                sample["value"][1].as_str().and_then(|value| value.parse().ok()).expect("a number")
            });
            Some(values.collect()).filter(|values: &Vec<f64>| !values.is_empty())
        })
    }
}

/// The expressions of the board, with Grafana's variables replaced.
fn expressions() -> Vec<String> {
    let board: Value =
        serde_json::from_str(&read(&docs().join("grafana/firesteel.json"))).expect("it is JSON");
    let panels = board["panels"].as_array().expect("it has panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let expressions = targets.map(|target| target["expr"].as_str().expect("a target has an expression"));
    expressions.map(|expr| expr.replace("$__rate_interval", "30s").replace("$job", ".*")).collect()
}

fn scraped() {
    let directory = TempDir::new().expect("a temporary directory");
    let recovery = format!("spark.deploy.recoveryDirectory={}", directory.path().join("state").display());
    let master = Daemon::master(&["--conf", &recovery]);
    let work = directory.path().join("work");
    let worker = Daemon::worker(&master, &work, &["--cores", "2", "--memory", "1g"]);
    master.wait_for_workers(1);
    let gate = directory.path().join("gate");
    let script = format!("until [ -e {} ]; do sleep 0.05; done", gate.display());
    let mut command = firesteel();
    command.args(["map", "--quiet", "--master", master.url(), "--", "sh", "-c", &script, "{}", ":::", "1"]);
    let mut map = Daemon::spawn(&mut command);

    let prometheus = Prometheus::start(master.http(), worker.http());
    let both = wait_for("both targets", || {
        let targets = prometheus.ask("targets", None)?;
        let targets = targets["activeTargets"].as_array()?.clone();
        let are_up = targets.iter().all(|target| target["health"] == "up");
        (targets.len() == 2 && are_up).then_some(targets)
    });
    assert!(both.iter().all(|target| target["labels"]["job"] == "firesteel"), "{both:?}");
    assert_eq!(prometheus.values("up{job=\"firesteel\"} == 1"), [1.0, 1.0]);
    for (query, value) in [
        ("firesteel_master_workers{state=\"alive\"} == 1", 1.0),
        ("firesteel_worker_cores", 2.0),
        ("firesteel_master_applications{state=\"running\"} == 1", 1.0),
        ("firesteel_worker_executors{state=\"running\"} == 1", 1.0),
    ] {
        assert_eq!(prometheus.values(query), [value], "{query}");
    }
    let expressions = expressions();
    assert!(expressions.len() > 30, "{} expressions", expressions.len());
    for expression in &expressions {
        prometheus.values(expression);
    }
    let alerts = wait_for("all alerts to be evaluated", || {
        prometheus.alerts().filter(|alerts| alerts.iter().all(|alert| alert["health"] == "ok"))
    });
    assert!(alerts.len() > 10, "{alerts:?}");
    std::fs::write(&gate, "").expect("it can be written");
    assert_eq!(map.wait(), 0, "{}", map.log());
    wait_for("nothing to be wrong", || {
        prometheus.alerts().filter(|alerts| alerts.iter().all(|alert| alert["state"] == "inactive"))
    });

    // A fault raises its alerts, each after its waiting time.
    worker.signal(Signal::SIGKILL);
    wait_for("the alerts of a Worker that is gone", || {
        let alerts = prometheus.alerts()?;
        let raised = alerts.iter().filter(|alert| alert["state"] != "inactive");
        let raised: Vec<&str> = raised.filter_map(|alert| alert["name"].as_str()).collect();
        (raised == ["FiresteelWorkersLost"]).then_some(())
    });
    master.signal(Signal::SIGKILL);
    wait_for("the alerts of a cluster without a Master", || {
        let alerts = prometheus.alerts()?;
        let raised = alerts.iter().filter(|alert| alert["state"] != "inactive");
        let raised: Vec<&str> = raised.filter_map(|alert| alert["name"].as_str()).collect();
        (raised == ["FiresteelDown", "FiresteelNoLeader"]).then_some(())
    });
}
