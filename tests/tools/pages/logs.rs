//! Logs of executors of real Workers.

use firesteel_testkit::wait::wait;
use firesteel_testkit::{Daemon, firesteel};
use nix::sys::signal::Signal;
use std::time::Duration;

use super::browser::Browser;
use super::many::judge;

pub(crate) fn followed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let master = Daemon::master(&["--conf", "spark.deploy.recoveryMode=NONE"]);
    let work = directory.path().join("work");
    let size = ["--cores", "2", "--memory", "1g"];
    let mut worker = Daemon::worker(&master, &work, &size);
    master.wait_for_workers(1);
    let gate = |name: &str| directory.path().join(name);
    let script = format!(
        "echo first line; echo '<b>bold</b>' >&2; until [ -e {} ]; do sleep 0.05; done; echo second line; \
         until [ -e {} ]; do sleep 0.05; done; echo last line",
        gate("one").display(),
        gate("two").display()
    );
    let mut command = firesteel();
    command.args(["launch", "--master", master.url(), "--name", "writer", "--num-executors", "1"]);
    command.args(["--executor-memory", "128m", "--total-executor-cores", "1", "--", "sh", "-c", &script]);
    let launch = Daemon::spawn(&mut command);
    let app = wait("the application", Duration::from_secs(60), || {
        let page: serde_json::Value = serde_json::from_str(&master.get("/json/").1).ok()?;
        (page["coresused"] == 1).then(|| page["activeapps"][0]["id"].as_str().map(str::to_owned)).flatten()
    });

    let browser = Browser::start();
    for daemon in [&master, &worker] {
        browser.open(&format!("http://{}/", daemon.http()));
        judge(&browser, if std::ptr::eq(daemon, &master) { "small" } else { "own-worker" });
    }
    // From the first page to the log by links only.
    browser.open(&format!("http://{}/", master.http()));
    browser.run("document.querySelector('#running tbody a').click()");
    browser.until("the application's page", "document.querySelector('#executors .logs a')");
    browser.run("document.querySelector('#executors .logs a').click()");
    browser.until("the log", "document.querySelector('pre.log')");
    browser.until("its first line", "document.querySelector('pre.log').innerText.includes('first line')");
    judge(&browser, "log");
    std::fs::write(gate("one"), "").expect("it can be written");
    browser.until("its second line", "document.querySelector('pre.log').innerText.includes('second line')");

    let log = |daemon: &Daemon, stream: &str| {
        let log = format!("appId={app}&executorId=0&logType={stream}");
        daemon.get(&format!("/log/?{log}")).1
    };
    for daemon in [&master, &worker] {
        assert!(log(daemon, "stdout").starts_with("==== Bytes 0-23 of 23 of "), "{}", log(daemon, "stdout"));
        assert!(log(daemon, "stderr").ends_with("<b>bold</b>\n"), "{}", log(daemon, "stderr"));
    }
    browser.open(&format!("http://{}/logPage/?appId={app}&executorId=0&logType=stderr", worker.http()));
    browser.until("text, not markup", "document.querySelector('pre.log').innerText.includes('<b>bold</b>')");
    judge(&browser, "own-log");

    // The log is also at the path that Spark's executors give for a reverse proxy.
    let proxied = format!("/proxy/any-worker/logPage/?appId={app}&executorId=0&logType=stdout");
    assert!(master.get(&proxied).1.contains("second line"));

    // The Worker is lost. Another Worker in its directory serves the kept logs.
    worker.signal(Signal::SIGKILL);
    worker.wait();
    let lost = wait("a sentence", Duration::from_secs(60), || {
        let page = master.get(&format!("/logPage/?appId={app}&executorId=0&logType=stdout")).1;
        page.contains("does not answer").then_some(page)
    });
    assert!(lost.contains("the logs are on 127.0.0.1 in "), "{lost}");
    worker = Daemon::worker(&master, &work, &size);
    wait("the log from the new Worker", Duration::from_secs(60), || {
        log(&master, "stdout").contains("first line").then_some(())
    });
    assert!(log(&worker, "stdout").contains("second line"));
    drop(launch);
}
