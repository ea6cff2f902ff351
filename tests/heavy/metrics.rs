//! The metrics of real daemons, as Prometheus' own tool judges them.

use std::process::Command;

use libtest_mimic::Trial;

use crate::cluster::{Daemon, run, run_with_input};
use crate::component::{Component, Readiness};

const PROMTOOL: Component =
    Component { name: "promtool", look: promtool_is_there, prepare: || Readiness::Ready };

pub(crate) fn trials() -> Vec<Trial> {
    PROMTOOL.trials(&[
        ("metrics::promtool_accepts_the_metrics_of_master_and_worker", accepted),
        ("metrics::promtool_accepts_the_alerts", alerts_are_accepted),
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

fn alerts_are_accepted() {
    let alerts = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana/alerts.yml");
    let judged = run(Command::new("promtool").args(["check", "rules", alerts]));
    assert!(judged.code() == 0 && judged.stdout.contains("SUCCESS"), "{judged}");
}
