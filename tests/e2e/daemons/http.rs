//! JSON, health and metrics of real daemons over HTTP.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use firesteel_testkit::{Daemon, firesteel, http_get, run, wait_for};
use nix::sys::signal::Signal;
use regex::Regex;
use serde_json::Value;

/// The whole answer to these bytes, until the connection ends.
fn exchange(daemon: &Daemon, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(daemon.http()).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time limit");
    // It may already have hung up.
    let _ = stream.write_all(request).and_then(|()| stream.shutdown(Shutdown::Write));
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn json(daemon: &Daemon, path: &str) -> Value {
    let (status, body) = daemon.get(path);
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).expect("it is JSON")
}

/// The value of a series; 0 if it is missing.
fn sample(page: &str, series: &str) -> f64 {
    let value = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or(0.0)
}

#[test]
fn json_and_health_are_served_at_the_port_of_the_own_protocol_too() {
    let master = Daemon::master(&[]);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let worker = Daemon::worker(&master, directory.path(), &["--cores", "1", "--memory", "1g"]);
    master.wait_for_workers(1);
    for daemon in [&master, &worker] {
        let own = daemon.address().to_string();
        let body = |answer: String| answer.split_once("\r\n\r\n").expect("it has a body").1.to_owned();
        let json = |address: &str| -> Value {
            let (status, answer) = http_get(address, "/json/", "");
            assert_eq!(status, 200, "{answer}");
            serde_json::from_str(&body(answer)).expect("JSON")
        };
        assert_eq!(json(&own)["id"], json(daemon.http())["id"]);
        assert_eq!(json(&own)["url"], json(daemon.http())["url"]);
        assert_eq!(body(http_get(&own, "/livez", "").1), "alive\n");
        assert_eq!(http_get(&own, "/readyz", "").0, 200);
        for path in ["/", "/app/?appId=app-1", "/metrics", "/log/", "/jsonx"] {
            let (status, answer) = http_get(&own, path, "");
            assert!(status == 404 && answer.contains("/json/ /livez /readyz"), "{path}: {answer}");
        }
        let (status, answer) = http_get(&own, "/json/", "Host: evil.example\r\n");
        assert!(status == 421 && answer.contains("evil.example"), "{answer}");
    }
    let silent = Daemon::master(&["--webui-port", "none"]);
    let own = silent.address().to_string();
    assert_eq!(http_get(&own, "/livez", "").0, 200);
    let (status, answer) = http_get(&own, "/json/", "");
    assert!(status == 403 && answer.contains("serves no JSON"), "{answer}");
}

#[test]
fn a_map_shows_in_the_json_and_the_metrics_of_master_and_worker() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recovery = format!("spark.deploy.recoveryDirectory={}", directory.path().join("state").display());
    let master = Daemon::master(&["--conf", &recovery]);
    let work = directory.path().join("work");
    let worker = Daemon::worker(&master, &work, &["--cores", "4", "--memory", "2g", "--resource", "gpu=2"]);
    wait_for("the Worker to be ready", || {
        (worker.get("/readyz") == (200, "ready\n".to_owned())).then_some(())
    });
    assert_eq!(master.get("/readyz"), (200, "ready\n".to_owned()));
    assert_eq!(master.get("/livez"), (200, "alive\n".to_owned()));

    let gate = directory.path().join("gate");
    let script = format!("until [ -e {} ]; do sleep 0.05; done", gate.display());
    let mut command = firesteel();
    command.args(["map", "--master", master.url(), "--name", "a \"name\"", "--executor-cores", "1"]);
    command.args(["--executor-memory", "256m", "--executor-resource", "gpu=1", "--", "sh", "-c", &script]);
    command.args(["{}", ":::", "1", "2"]);
    let mut map = Daemon::spawn(&mut command);

    let page = wait_for("both executors", || {
        assert!(map.is_alive(), "{}", map.log());
        let page = json(&master, "/json/");
        (page["coresused"] == 2 && json(&worker, "/json")["executors"][1]["id"] == 1).then_some(page)
    });
    let app = &page["activeapps"][0];
    assert_eq!(
        (&app["name"], &app["state"], &app["cores"]),
        (&"a \"name\"".into(), &"RUNNING".into(), &2.into())
    );
    assert_eq!(
        (&page["status"], &page["aliveworkers"], &page["memoryused"]),
        (&"ALIVE".into(), &1.into(), &512.into())
    );
    assert_eq!(page["workers"][0]["resourcesused"]["gpu"]["addresses"], serde_json::json!(["0", "1"]));
    assert_eq!(json(&master, "/json/activeapps")["activeapps"][0]["id"], app["id"]);
    let own = json(&worker, "/json/");
    assert_eq!((&own["id"], &own["masterurl"]), (&page["workers"][0]["id"], &page["url"]));
    assert_eq!((&own["coresused"], &own["executors"][0]["appid"]), (&2.into(), &app["id"]));
    assert_eq!(own["executors"][0]["appdesc"]["name"], "a \"name\"");

    let (_, metrics) = master.get("/metrics");
    let series = format!("firesteel_application_executors{{app={},name=\"a \\\"name\\\"\"}}", app["id"]);
    for (series, least) in [
        (series.as_str(), 2.0),
        ("firesteel_master_cores{state=\"alive\"}", 4.0),
        ("firesteel_master_cores_used{state=\"alive\"}", 2.0),
        ("firesteel_master_connections{role=\"worker\"}", 1.0),
        ("firesteel_master_connections{role=\"driver\"}", 1.0),
        ("firesteel_master_event_duration_seconds_count", 4.0),
        ("firesteel_master_journal_commit_duration_seconds_count", 2.0),
        ("firesteel_master_journal_written_bytes_total", 100.0),
        ("process_resident_memory_bytes", 1e6),
    ] {
        assert!(sample(&metrics, series) >= least, "{series}:\n{metrics}");
    }
    let (_, metrics) = worker.get("/metrics");
    assert_eq!(sample(&metrics, "firesteel_worker_executors{state=\"running\"}"), 2.0, "{metrics}");
    let (_, metrics) = master.get("/metrics/master/prometheus");
    assert!(metrics.contains("metrics_master_apps_Value{type=\"gauges\"} 1\n"), "{metrics}");
    let (_, metrics) = worker.get("/metrics/prometheus/");
    assert!(metrics.contains("metrics_worker_coresUsed_Value{type=\"gauges\"} 2\n"), "{metrics}");

    std::fs::write(&gate, "").expect("it can be written");
    assert_eq!(map.wait(), 0, "{}", map.log());
    wait_for("the application to be listed as completed", || {
        let page = json(&master, "/json/");
        let is_over = page["activeapps"][0].is_null() && page["coresused"] == 0;
        (is_over && page["completedapps"][0]["state"] == "FINISHED").then_some(())
    });
}

#[test]
fn garbage_on_the_port_harms_nobody() {
    let master = Daemon::master(&[]);
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20));
    for bytes in [
        &b"\0\0\0\0\0\0\0\x15"[..],
        b"\xf5FSTL\r\n\x05",
        b"\x16\x03\x01",
        b"\r\n\r\n",
        b"GET",
        long.as_bytes(),
    ] {
        let answer = exchange(&master, bytes);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    for method in ["POST", "DELETE", "OPTIONS"] {
        let answer =
            exchange(&master, format!("{method} /json/ HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes());
        assert!(answer.starts_with("HTTP/1.0 405") || answer.starts_with("HTTP/1.1 405"), "{answer}");
    }
    let head = exchange(&master, b"HEAD /json/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.contains(" 200 OK") && head.ends_with("\r\n\r\n"), "{head}");
    let (status, sentence) = master.get("/app/none/");
    assert!(status == 404 && sentence.contains("/metrics"), "{sentence}");
    let idle: Vec<TcpStream> =
        (0..1000).map(|_| TcpStream::connect(master.http()).expect("it listens")).collect();
    let begun = Instant::now();
    assert_eq!(master.status()["workers"], serde_json::json!([]));
    assert_eq!(master.get("/readyz").0, 200);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(idle);
}

#[test]
fn pages_are_complete_and_load_nothing_from_elsewhere() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let expression = "expr:left.cores * 8 + left.gpu";
    let title = "spark.master.ui.title=<Blue>";
    let order = "firesteel.master.order=shortest";
    let master = Daemon::master(&["--conf", title, "--conf", order, "--placement-policy", expression]);
    let worker = Daemon::worker(&master, directory.path(), &["--cores", "1", "--memory", "1g"]);
    master.wait_for_workers(1);
    let mut command = firesteel();
    command.args(["launch", "--master", master.url(), "--name", "<i>&\"waits", "--executor-cores", "64"]);
    let launch = Daemon::spawn(command.args(["--total-executor-cores", "64", "--", "true"]));
    let page = wait_for("an application that waits, with the reason", || {
        let (status, page) = master.get("/");
        (status == 200 && page.contains("no Worker has 64 cores")).then_some(page)
    });
    assert!(page.contains("<h1>&lt;Blue&gt;</h1>") && page.contains("&lt;i&gt;&amp;&quot;waits"), "{page}");
    assert!(!page.contains("<i>") && !page.contains("method=\"post\""), "{page}");
    let id = json(&master, "/json/")["activeapps"][0]["id"].as_str().map(str::to_owned).expect("it is there");
    for (daemon, path, words) in [
        (&master, format!("/app/?appId={id}"), "It wants any number of executors of 64 cores"),
        (&master, "/worker/?workerId=none".to_owned(), "No Worker has the id none"),
        (&master, "/picture/".to_owned(), "The whole cluster"),
        (&master, "/policies/".to_owned(), "least-fragmentation"),
        (&master, "/policies/".to_owned(), expression),
        (&master, "/policies/".to_owned(), "<dt>firesteel.master.order</dt><dd>shortest</dd>"),
        (&master, "/logPage/?appId=none&executorId=1".to_owned(), "No application has the id none"),
        (&worker, "/".to_owned(), "No executor runs here."),
        (
            &worker,
            "/logPage/?appId=..&executorId=1&logType=stdout".to_owned(),
            "characters that an id may not have",
        ),
        (&worker, "/log/?appId=a&executorId=1&logType=out".to_owned(), "Error: Log type must be one of"),
    ] {
        let (status, page) = daemon.get(&path);
        assert!(status == 200 && page.contains(words), "{path}: {page}");
        // A Worker's page has a link to its Master's.
        let loads = page.replace("<a href=\"http://", "").contains("http://");
        assert!(!page.contains(" style=") && !loads || path.contains("log"), "{page}");
    }
    let style = exchange(&master, b"GET /static/style.css HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let version = style.lines().find_map(|line| line.strip_prefix("etag: ")).expect("it has a version");
    assert!(style.contains("content-security-policy: default-src 'none'; style-src 'self'"), "{style}");
    let again =
        format!("GET /static/style.css HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: {version}\r\n\r\n");
    let again = exchange(&master, again.as_bytes());
    assert!(again.starts_with("HTTP/1.1 304 ") && again.ends_with("\r\n\r\n"), "{again}");
    let refused =
        exchange(&master, b"POST /app/kill/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nid=a");
    assert!(refused.starts_with("HTTP/1.1 405 ") && refused.contains("spark.ui.killEnabled"), "{refused}");
    drop(launch);
}

/// A page of another site could read what a daemon answers if its own name resolved to the daemon's address.
#[test]
fn daemons_answer_to_their_own_names_only_whether_or_not_their_pages_may_change_something() {
    let allowed = |role: &str| format!("firesteel.{role}.ui.allowedHosts=spark.example.org");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let reading = Daemon::master(&["--conf", &allowed("master")]);
    let killing = Daemon::master(&["--conf", "spark.ui.killEnabled=true", "--conf", &allowed("master")]);
    let options = ["--cores", "1", "--memory", "1g", "--webui-port", "0", "--conf", &allowed("worker")];
    let worker = Daemon::worker(&reading, &directory.path().join("work"), &options);
    for (daemon, name) in [(&reading, "Master"), (&killing, "Master"), (&worker, "Worker")] {
        let get = |target: &str, host: &str| {
            exchange(daemon, format!("GET {target} HTTP/1.1\r\n{host}Connection: close\r\n\r\n").as_bytes())
        };
        let own = format!("Host: {}\r\n", daemon.http());
        for host in
            [own.as_str(), "Host: [::1]:8080\r\n", "Host: LocalHost.\r\n", "Host: spark.example.org:80\r\n"]
        {
            for path in ["/", "/json/", "/log/?appId=app-1&executorId=0&logType=stdout"] {
                assert!(get(path, host).starts_with("HTTP/1.1 200 "), "{name} {path} {host}");
            }
        }
        let evil = "Host: evil.example:8080\r\n";
        for (target, host) in [
            ("/", evil),
            ("/log/?appId=app-1&executorId=0&logType=stdout", evil),
            ("/logPage/?appId=app-1&executorId=0&logType=stdout", evil),
            ("/json/", evil),
            ("/metrics", evil),
            ("/static/style.css", evil),
            ("/", ""),
            ("/", "Host: \r\n"),
            ("/", "Host: localhost.evil.example\r\n"),
            ("http://evil.example/", own.as_str()),
            ("http://127.0.0.1/", evil),
        ] {
            let refused = get(target, host);
            let line = "HTTP/1.1 421 Misdirected Request\r\n";
            assert!(refused.starts_with(line), "{name} {target} {host}: {refused}");
            assert!(refused.contains("Host") && !refused.contains("token"), "{refused}");
        }
        assert!(get("/", evil).contains(&format!("This {name} is not known as evil.example")));
        assert!(get("/livez", evil).starts_with("HTTP/1.1 200 "), "{name}");
    }
    let post = b"POST /app/kill/ HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 4\r\n\r\nid=a";
    assert!(exchange(&killing, post).starts_with("HTTP/1.1 421 "));
}

#[test]
fn a_restarted_master_says_that_it_recovers() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recovery = format!("spark.deploy.recoveryDirectory={}", directory.path().join("state").display());
    let mut master = Daemon::master(&["--conf", &recovery]);
    let worker = Daemon::worker(&master, &directory.path().join("work"), &["--cores", "1", "--memory", "1g"]);
    master.wait_for_workers(1);
    drop(worker);
    master.signal(Signal::SIGKILL);
    master.wait();
    let master = Daemon::master(&["--conf", &recovery, "--conf", "spark.worker.timeout=3600s"]);
    let page = json(&master, "/json/");
    // The Master may have noticed the end of the Worker before it was killed.
    if page["workers"][0]["state"] == "UNKNOWN" {
        assert_eq!((&page["status"], &page["cores"]), (&"RECOVERING".into(), &0.into()));
        let (status, line) = master.get("/readyz");
        assert!(status == 200 && line.starts_with("recovering"), "{line}");
        assert_eq!(sample(&master.get("/metrics").1, "firesteel_master_status{status=\"recovering\"}"), 1.0);
    }
}

#[test]
fn the_port_can_be_chosen_and_switched_off() {
    let off = Daemon::master(&["--webui-port", "none"]);
    assert_eq!(off.http(), "");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("it is bound").port().to_string();
    let next = Daemon::master(&["--webui-port", &port, "--conf", "spark.port.maxRetries=100"]);
    assert_eq!(next.get("/livez").0, 200);
    for (arguments, code, words) in [
        (
            ["--webui-port", &port, "--conf", "spark.port.maxRetries=0"],
            1,
            "choose another one with --webui-port",
        ),
        (["--webui-port", "off", "--conf", "spark.port.maxRetries=0"], 2, "none for no HTTP"),
    ] {
        let done = run(firesteel().args(["master", "--port", "0"]).args(arguments));
        assert!(done.code() == code && done.stderr.contains(words), "{done}");
    }
    let property = format!("spark.master.ui.port={port}");
    let done = run(firesteel().args([
        "master",
        "--port",
        "0",
        "--conf",
        &property,
        "--conf",
        "spark.port.maxRetries=0",
    ]));
    assert_eq!(done.code(), 1, "{done}");
}

/// The names of metrics in a text: Firesteel's, and those of processes.
fn metric_names(text: &str) -> BTreeSet<String> {
    let pattern =
        Regex::new(r"\b(firesteel_(master|worker|application|build|http)|process)_[a-z0-9_]+[a-z0-9]\b")
            .expect("the pattern is sound");
    pattern.find_iter(text).map(|name| name.as_str().to_owned()).collect()
}

/// The names of metrics that a page serves, including series of histograms.
fn served(page: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in page.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').expect("a metric has a type");
        names.insert(name.to_owned());
        if kind == "histogram" {
            names.extend(["bucket", "sum", "count"].map(|series| format!("{name}_{series}")));
        }
    }
    names
}

#[test]
fn every_metric_of_the_board_and_the_alerts_is_served_and_the_page_names_all() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recovery = format!("spark.deploy.recoveryDirectory={}", directory.path().join("state").display());
    let master = Daemon::master(&["--conf", &recovery]);
    let worker = Daemon::worker(&master, &directory.path().join("work"), &["--cores", "1", "--memory", "1g"]);
    master.wait_for_workers(1);
    // A Worker measures usage from time to time.
    let pages = wait_for("what the Worker measures", || {
        let pages = [master.get("/metrics").1, worker.get("/metrics").1];
        let measured = ["firesteel_worker_machine_cpu_cores", "firesteel_worker_disk_bytes"];
        measured.iter().all(|name| pages[1].contains(name)).then_some(pages)
    });
    let served: BTreeSet<String> = pages.iter().flat_map(|page| served(page)).collect();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for file in ["grafana/firesteel.json", "grafana/alerts.yml", "MONITORING.md", "RUNBOOK.md"] {
        let text = std::fs::read_to_string(docs.join(file)).expect("it can be read");
        let named = metric_names(&text);
        let unknown: Vec<_> = named.difference(&served).collect();
        assert!(
            unknown.is_empty() && !named.is_empty(),
            "{file} names metrics that no daemon serves: {unknown:?}"
        );
    }
    let page = std::fs::read_to_string(docs.join("MONITORING.md")).expect("it can be read");
    let families = pages.iter().flat_map(|page| page.lines()).filter_map(|line| line.strip_prefix("# TYPE "));
    let missing: Vec<_> =
        families.filter(|line| !page.contains(line.split(' ').next().unwrap_or("-"))).collect();
    assert!(missing.is_empty(), "docs/MONITORING.md does not name {missing:?}");
}
