//! Checks the metrics of real daemons with Prometheus' own tool.

use std::path::Path;
use std::process::Command;

use firesteel_testkit::component::{Component, Readiness};
use firesteel_testkit::{Daemon, run, run_with_input};
use libtest_mimic::Trial;

const PROMTOOL: Component =
    Component { name: "promtool", look: promtool_is_there, prepare: || Readiness::Ready };

pub(crate) fn trials() -> Vec<Trial> {
    PROMTOOL.trials(&[
        ("metrics::promtool_accepts_the_metrics_of_master_and_worker", accepted),
        ("metrics::each_alert_fires_and_is_silent_as_it_should", alerts_are_right),
    ])
}

fn promtool_is_there() -> Result<(), String> {
    let found = Command::new("promtool").arg("--version").output();
    found.map(|_| ()).map_err(|error| format!("promtool, of Debian's package prometheus: {error}"))
}

fn accepted() {
    let master = Daemon::master(&["--conf", "spark.deploy.recoveryMode=NONE"]);
    let work = tempfile::tempdir().expect("a temporary directory");
    let worker = Daemon::worker(&master, work.path(), &["--cores", "1", "--memory", "1g"]);
    master.wait_for_workers(1);
    for daemon in [&master, &worker] {
        let page = daemon.get("/metrics").1;
        let judged = run_with_input(Command::new("promtool").args(["check", "metrics"]), page.into_bytes());
        assert!(judged.code() == 0 && judged.stdout.is_empty() && judged.stderr.is_empty(), "{judged}");
    }
}

fn alerts_are_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grafana");
    for arguments in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts-test.yml"]] {
        let judged = run(Command::new("promtool").args(arguments).current_dir(&folder));
        assert!(judged.code() == 0 && judged.stdout.contains("SUCCESS"), "{judged}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it is there");
    let (alerts, cases) = (read("alerts.yml"), read("alerts-test.yml"));
    let alerts = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    for alert in alerts {
        let expected: Vec<&str> =
            cases.split("alertname: ").filter_map(|case| case.strip_prefix(alert)).collect();
        let silent = |case: &&&str| case.trim_start().starts_with("exp_alerts: []");
        assert!(expected.iter().any(|case| silent(&case)), "no case in which {alert} is silent");
        assert!(expected.iter().any(|case| !silent(&case)), "no case in which {alert} fires");
    }
}
