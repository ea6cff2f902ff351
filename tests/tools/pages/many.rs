//! A cluster of a thousand Workers and ten thousand executors.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use firesteel_testkit::Daemon;
use firesteel_testkit::peers::crowd::{Asked, Crowd, Ends};
use firesteel_testkit::wait::wait;
use serde_json::Value;

use super::browser::{Browser, Look};

/// The codes of keys in WebDriver.
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

const WORKERS: u64 = 1000;
const APPLICATIONS: u64 = 40;
const EXECUTORS: u64 = 250;

/// How long the cluster may take to start.
const PATIENCE: Duration = Duration::from_secs(240);

/// A Master with its crowd, which all tests of this file share.
struct CrowdedCluster {
    master: Daemon,
    crowd: Crowd,
}

static CLUSTER: Mutex<Option<Arc<CrowdedCluster>>> = Mutex::new(None);

fn cluster() -> Arc<CrowdedCluster> {
    let mut cluster = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(cluster.get_or_insert_with(|| Arc::new(started())))
}

/// Ends the cluster: nothing else drops it.
pub(crate) fn end() {
    CLUSTER.lock().unwrap_or_else(PoisonError::into_inner).take();
}

fn started() -> CrowdedCluster {
    let settings = [
        "spark.deploy.recoveryMode=NONE",
        "spark.worker.timeout=3600s",
        "spark.master.ui.title=Analytics",
        "spark.master.ui.historyServerUrl=http://127.0.0.1:18080",
    ];
    let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--conf", setting]).collect();
    let master = Daemon::master(&settings);
    let crowd = Crowd::of(&master.address().to_string());
    crowd.workers(0..WORKERS);
    wait("all Workers", PATIENCE, || (json(&master)["aliveworkers"] == WORKERS).then_some(()));
    for ended in ["monthly-close", "backfill-2025", "train-embeddings"] {
        let ends = if ended == "backfill-2025" { Ends::Failed } else { Ends::Well };
        crowd.application(Asked { executors: 4, ends: Some(ends), ..asked(ended, "dana", (2, 4)) });
    }
    wait("ended applications", PATIENCE, || (json(&master)["completedapps"][2] != Value::Null).then_some(()));
    for number in 0..APPLICATIONS {
        let names = ["clickstream", "fraud-scores", "orders-etl", "sessions", "features"];
        let users = ["ann", "ben", "chloe", "dana"];
        let name = format!("{}-{number:02}", names[number as usize % names.len()]);
        let each = if number % 4 == 3 { (2, 8) } else { (1, 4) };
        crowd.application(Asked { executors: EXECUTORS, ..asked(&name, users[number as usize % 4], each) });
    }
    let used = 10_000 + 2500;
    wait("all executors", PATIENCE, || (json(&master)["coresused"] == used).then_some(()));
    crowd.application(Asked { executors: 2, ..asked("large-joins", "ann", (4, 256)) });
    crowd.application(Asked { executors: 40, ..asked("graph <em>& co</em>", "ben", (24, 96)) });
    crowd.application(Asked { executors: 600, gang: 600, ..asked("train-ranker", "chloe", (8, 24)) });
    wait("applications that wait", PATIENCE, || {
        (json(&master)["activeapps"][42] != Value::Null).then_some(())
    });
    wait("a Master that has caught up", PATIENCE, || {
        let metrics = master.get("/metrics").1;
        metrics.lines().any(|line| line == "firesteel_master_lag_seconds 0").then_some(())
    });
    CrowdedCluster { master, crowd }
}

fn asked(name: &str, user: &str, each: (i64, i64)) -> Asked {
    let (name, user) = (name.to_owned(), user.to_owned());
    Asked { name, user, executors: 1, each, gang: 0, ends: None }
}

fn json(master: &Daemon) -> Value {
    serde_json::from_str(&master.get("/json/").1).unwrap_or_default()
}

impl CrowdedCluster {
    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.master.http())
    }

    fn app(&self, name: &str) -> String {
        let page = json(&self.master);
        let apps = page["activeapps"].as_array().expect("it is a list");
        let app = apps.iter().find(|app| app["name"] == name).expect("it is there");
        app["id"].as_str().expect("an id is text").to_owned()
    }
}

/// The path of a screenshot, if screenshots are wanted.
pub(crate) fn picture(name: &str, look: Look) -> Option<PathBuf> {
    let directory = std::env::var_os("FIRESTEEL_PICTURES")?;
    Some(PathBuf::from(directory).join(format!("page-{name}-{}.webp", look.name())))
}

/// Checks the open page with each look.
pub(crate) fn judge(browser: &Browser, name: &str) {
    for look in Look::ALL {
        browser.show(look);
        let complaints = browser.run(include_str!("judge.js"));
        assert_eq!(complaints, Value::Array(Vec::new()), "{name}, {}", look.name());
        if let Some(path) = picture(name, look) {
            browser.picture(&path);
        }
    }
    browser.show(Look::Light);
    assert_eq!(browser.console(), [] as [String; 0], "{name}");
}

pub(crate) fn legible() {
    let (cluster, browser) = (cluster(), Browser::start());
    let (running, waiting) = (cluster.app("sessions-03"), cluster.app("train-ranker"));
    let ended = json(&cluster.master)["completedapps"][0]["id"].as_str().expect("it has an id").to_owned();
    for (name, path, words) in [
        ("cluster", "/".to_owned(), "train-ranker"),
        ("application", format!("/app/?appId={running}"), "Runs for"),
        ("waiting", format!("/app/?appId={waiting}"), "at once"),
        ("ended", format!("/app/?appId={ended}"), "history server"),
        ("worker", "/worker/?workerId=worker-20261126084210-node-0005-7078".to_owned(), "32"),
        ("picture", "/picture/".to_owned(), "stranded"),
        ("policies", "/policies/".to_owned(), "best-fit"),
        ("unknown", "/app/?appId=%3Cb%3E".to_owned(), "No running application with ID <b>"),
        ("no-log", "/logPage/?appId=a&executorId=1&logType=stdout".to_owned(), "No application has the id a"),
    ] {
        browser.open(&cluster.url(&path));
        browser.until(name, &format!("document.body.innerText.includes({})", serde_json::json!(words)));
        judge(&browser, name);
    }
    browser.open(&cluster.url("/"));
    let rows = "[...document.querySelectorAll('#waiting tbody tr')]";
    assert_eq!(browser.run(&format!("return {rows}.length")), 3);
    browser.until(
        "a reason on every waiting row",
        &format!("{rows}.every((row) => row.cells[1].innerText.length > 20)"),
    );
    assert_eq!(browser.run("return document.querySelectorAll('em').length"), 0, "a name is no markup");
    let painted = "performance.getEntriesByName('first-contentful-paint')[0]";
    browser.until("the first paint", painted);
    println!("first contentful paint: {} ms", browser.run(&format!("return {painted}.startTime")));
}

pub(crate) fn filtered() {
    let (cluster, browser) = (cluster(), Browser::start());
    browser.open(&cluster.url("/"));
    assert_eq!(browser.run("return document.querySelectorAll('#workers tbody tr').length"), 100);
    // The Worker is not on the first page of its table.
    browser.press("/");
    browser.until("the filter to have the focus", "document.activeElement.id === 'filter'");
    browser.press("node-0777");
    let rows = "document.querySelectorAll('#workers tbody tr').length";
    browser.until(
        "one Worker",
        &format!(
            "{rows} === 1 && document.querySelector('#workers th[scope=row]').innerText.includes('node-0777')"
        ),
    );
    browser.until("the URL", "location.search === '?filter=node-0777'");
    assert_eq!(browser.run("return document.activeElement.id"), "filter", "the focus stays");
    browser.press(ESCAPE);
    browser.until("all Workers again", &format!("{rows} === 100 && location.search === ''"));
    // Selects the second row with a link, and opens it.
    browser.press("jj");
    let second = "document.querySelectorAll('#waiting tbody tr a')[1]";
    assert_eq!(browser.run(&format!("return document.activeElement === {second}")), true);
    browser.press("k");
    browser.press(ENTER);
    browser.until("an application's page", "location.pathname === '/app/'");
    browser.press("g");
    browser.until("the first page", "location.pathname === '/'");
    // Sorting is a link.
    browser.run("document.querySelector('#workers thead a[title=\"Sort by cores free\"]').click()");
    browser.until("sorted rows", "document.querySelector('#workers th[aria-sort=descending]')");
    assert_eq!(browser.console(), [] as [String; 0]);
}

pub(crate) fn live() {
    let (cluster, browser) = (cluster(), Browser::start());
    browser.open(&cluster.url("/"));
    browser.run("window.same = true; document.querySelector('#waiting tbody tr a').focus()");
    let focused = browser.run("return document.activeElement.href");
    cluster.crowd.application(Asked { executors: 2, ..asked("just-now", "ann", (1, 1)) });
    browser.until("the new application", "document.getElementById('running').innerText.includes('just-now') || document.getElementById('waiting').innerText.includes('just-now')");
    assert_eq!(browser.run("return window.same"), true, "the page was not loaded again");
    assert_eq!(browser.run("return document.activeElement.href"), focused);
    assert_eq!(browser.run("return document.getElementById('live').innerText"), "Live");
    cluster.crowd.workers(WORKERS..WORKERS + 1);
    browser.until("the new Worker", "document.getElementById('head').innerText.includes('1,001 alive')");
    assert_eq!(browser.console(), [] as [String; 0]);
}

pub(crate) fn unscripted() {
    let (cluster, browser) = (cluster(), Browser::start());
    browser.open(&cluster.url("/"));
    browser.devtools("Emulation.setScriptExecutionDisabled", &serde_json::json!({"value": true}));
    browser.open(&cluster.url("/?filter=node-0777+alive"));
    let page = cluster.master.get("/?filter=node-0777+alive").1;
    assert!(page.contains("node-0777") && page.contains("1 of 1,00"), "{page}");
    let rows = browser.run("return document.querySelectorAll('#workers tbody tr').length");
    assert_eq!(rows, 1);
    assert_eq!(
        browser.run("return getComputedStyle(document.querySelector('.filter button')).display !== 'none'"),
        true
    );
    assert_eq!(browser.run("return document.documentElement.className"), "", "no script has run");
}
