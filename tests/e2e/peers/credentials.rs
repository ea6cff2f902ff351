//! A cluster with a secret: who gets in, who does not, what nobody sees, and how its secret is replaced.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use firesteel_protocol::messages::{ClientToMaster, DriverToMaster, StateCursor, WorkerToMaster};
use firesteel_protocol::wire::{PREAMBLE, Role};
use firesteel_testkit::{
    CREDENTIALS, Daemon, Finished, firesteel, http_get, http_post, processes, run, wait_for,
};

use super::secured::{Secured, done};
use super::strangers::{answer, attack, last_answer};
use crate::executors::driver::script;

#[test]
fn those_who_were_granted_it_use_a_cluster_with_a_secret_as_any_other() {
    let cluster = Secured::start();
    fs::write(cluster.path("words"), "from a file\n").expect("it is written");
    let file = cluster.path("words").display().to_string();
    let map = ["map", "--files", &file, "--executor-cores", "1", "--total-executor-cores", "2", "--"];
    let output = cluster
        .said(&[&map[..], &["sh", "-c", "cat words; echo $1", "item", "{}", ":::", "a", "b"]].concat());
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["a", "b", "from a file", "from a file"]);
    // A program that is not Firesteel's own, with a file, and its log.
    let launch =
        ["launch", "--name", "launched", "--files", &file, "--num-executors", "1", "--until", "all", "--"];
    cluster.said(&[&launch[..], &["cat", "words"]].concat());
    assert_eq!(cluster.said(&["logs", "launched/0"]), "from a file\n");
    for words in
        [&["explain", "launched"][..], &["history"], &["plan", "--executor-cores", "1"], &["top", "--once"]]
    {
        let done = run(&mut cluster.command(Some("user"), words));
        assert!(!done.stderr.contains("secret"), "{words:?}: {done}");
    }
}

/// Each row: who, with which command, and the part of the refusal. Nothing happens but the refusal.
#[test]
fn nobody_gets_more_out_of_a_cluster_with_a_secret_than_he_was_granted() {
    let cluster = Secured::start();
    let stolen = cluster.path("stolen");
    let touch = stolen.display().to_string();
    const NONE: &str = "it admits only those who know its secret, and this side has none";
    const OTHER: &str = "it has another secret";
    const NOT_THIS: &str = "the secret of this side does not allow it to connect to a Master";
    let map = ["map", "--executor-cores", "1", "--", "touch", &touch, ":::", "a"];
    let launch = ["launch", "--num-executors", "1", "--until", "all", "--", "touch", &touch];
    let submit = ["submit", "--deploy-mode", "cluster", "--", "touch", &touch];
    let attempts =
        [(None, NONE), (Some("other"), OTHER), (Some("worker"), NOT_THIS), (Some("monitor"), NOT_THIS)];
    for (who, refusal) in attempts {
        for words in [&["status"][..], &["kill", "app-1"], &["decommission", "127.0.0.1"], &submit] {
            let done = run(&mut cluster.command(who, words));
            assert!(done.code() != 0 && done.stderr.contains(refusal), "{who:?} {words:?}: {done}");
        }
        // These try again for a while.
        for words in [&map[..], &launch] {
            let application = Daemon::spawn(&mut cluster.command(who, words));
            application.wait_for_line(&[refusal]);
        }
    }
    for (who, refusal) in
        [(None, NONE), (Some("other"), OTHER), (Some("user"), NOT_THIS), (Some("monitor"), NOT_THIS)]
    {
        let size = ["--webui-port", "none", "--cores", "64"];
        let mut worker = Daemon::worker_command(&cluster.master, &cluster.path("false"), &size);
        if let Some(who) = who {
            worker.env(CREDENTIALS, cluster.path(who));
        }
        Daemon::spawn(&mut worker).wait_for_line(&[refusal]);
    }
    let status = cluster.status();
    let count = |key: &str| status[key].as_array().map(Vec::len);
    assert_eq!(
        (count("workers"), count("applications"), count("drivers")),
        (Some(1), Some(0), Some(0)),
        "{status:#}"
    );
    assert!(!stolen.exists());
}

/// Messages without a proof, at the ports of a Master and a Worker: they are answered with a refusal and do nothing.
#[test]
fn a_message_without_a_proof_is_not_heard() {
    let cluster = Secured::start();
    let stolen = cluster.path("stolen");
    let application = script(&format!("touch {}", stolen.display()), 1);
    let state = ClientToMaster::RequestMasterState { from: StateCursor::beginning() };
    let heartbeat = WorkerToMaster::Heartbeat {
        worker: firesteel_protocol::ids::WorkerId::new("worker-1"),
        last_order: None,
    };
    let attacks = [
        attack(&PREAMBLE, Role::Driver, &DriverToMaster::RegisterApplication(Box::new(application))),
        attack(&PREAMBLE, Role::Client, &state),
        attack(&PREAMBLE, Role::Worker, &heartbeat),
        // Spark's frames of each type, before any authentication, and a TLS hello.
        (0..=13).flat_map(|kind| [&[0, 0, 0, 0, 0, 0, 0, 21, kind][..], &[0; 12]].concat()).collect(),
        b"\x16\x03\x01\x00\x05hello".to_vec(),
    ];
    for daemon in [&cluster.master, &cluster.worker] {
        for sent in &attacks {
            let said = answer(daemon.address().port(), sent);
            assert!(said.len() <= 9, "{:?}: {said:?}", &sent[..8]);
        }
    }
    let create = b"POST /v1/submissions/create HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
    let said = answer(cluster.master.address().port(), create);
    assert!(said.starts_with(b"HTTP/1.1 401 "), "{said:?}");
    let status = cluster.status();
    assert_eq!(status["applications"].as_array().map(Vec::len), Some(0), "{status:#}");
    assert!(!stolen.exists());
}

/// CVE-2020-9480: each type of Spark's frames before any proof, a real driver's registration, and false proofs.
#[test]
fn a_frame_of_spark_without_a_proof_is_refused_whatever_its_type() {
    let cluster = Secured::start();
    let frame = |kind: u8, body: &[u8]| {
        let id = if kind == 9 { &[][..] } else { &[0; 8] };
        let length = 8 + 1 + id.len() + 4 + body.len();
        let length_of_body = u32::try_from(body.len()).expect("it is short").to_be_bytes();
        [&(length as u64).to_be_bytes()[..], &[kind], id, &length_of_body, body].concat()
    };
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/spark");
    let read = |name: &str| fs::read(fixtures.join(name)).expect("it is there");
    let registration = read("spark-4.0.1/driver-to-master.bin");
    let proofs = ["4.0.1-sasl", "4.0.1-aes", "3.5.7-sasl", "3.5.7-aes"]
        .map(|name| read(&format!("authentication/{name}-driver-to-master.bin")));
    for daemon in [&cluster.master, &cluster.worker] {
        let port = daemon.address().port();
        for kind in (0..=13).chain([255]) {
            for body in [&b""[..], &[0xea], &[0xfb, 0, 0, 0, 13], b"\x01\x00\x09127.0.0.1"] {
                let said = last_answer(port, &frame(kind, body));
                // Only a request is answered, by a failure.
                let is_refused = if kind == 3 { said.get(8) == Some(&5) } else { said.is_empty() };
                assert!(is_refused, "type {kind}, {body:?}: {said:?}");
            }
        }
        let begun = Instant::now();
        let said = answer(port, &registration);
        assert!(String::from_utf8_lossy(&said).contains("no secret was proven"), "{said:?}");
        // Spark loses an answer after which the other side hangs up at once.
        assert!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
        // Proofs that somebody has recorded, of another secret.
        for proof in &proofs {
            let said = String::from_utf8_lossy(&last_answer(port, proof)).into_owned();
            assert!(!said.contains("rspauth"), "{said}");
        }
        // A frame that is longer than a proof.
        let long = [&(1_u64 << 20).to_be_bytes()[..], &[3], &[0; 100]].concat();
        assert!(answer(port, &long).is_empty());
    }
    let status = cluster.status();
    assert_eq!(status["applications"].as_array().map(Vec::len), Some(0), "{status:#}");
    cluster.master.wait_for_line(&["connection in Spark's RPC: refused"]);
}

#[test]
fn an_application_belongs_to_the_user_to_whom_the_secret_was_granted_until_it_is_revoked() {
    let cluster = Secured::start();
    let file = |name: &str| cluster.path(name);
    for (user, name) in [("ann", "of-ann"), ("bob", "of-bob")] {
        done(
            firesteel().args(["secret", "grant", "user", "--name", user]).args([file("cluster"), file(name)]),
        );
    }
    let again = run(firesteel()
        .args(["secret", "grant", "worker", "--name", "ann"])
        .args([file("cluster"), file("x")]));
    assert!(again.code() == 2 && !file("x").exists(), "{again}");
    cluster.master.wait_for_line(&["read new credentials"]);
    let map = |who: &str| {
        let words = ["map", "--executor-cores", "1", "--name", who, "--", "true", "item", "{}", ":::", "a"];
        let mut map = cluster.command(Some(who), &words);
        // Who somebody says to be does not count.
        done(map.env("USER", "eve").env("SPARK_USER", "eve").env("LOGNAME", "eve"));
    };
    map("of-ann");
    map("of-bob");
    let status = cluster.status();
    let mut users: Vec<(&str, &str)> = status["completed"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| Some((row["name"].as_str()?, row["user"].as_str()?)))
        .collect();
    users.sort_unstable();
    assert_eq!(users, [("of-ann", "ann"), ("of-bob", "bob")], "{status:#}");
    done(
        &mut cluster.command(Some("of-bob"), &["submit", "--deploy-mode", "cluster", "--", "sleep", "1000"]),
    );
    let driver = cluster.status()["drivers"][0].clone();
    assert!(driver["user"].as_str().is_some_and(|user| user.starts_with("bob@")), "{driver:#}");
    let id = driver["id"].as_str().expect("an id").to_owned();
    let refused = run(&mut cluster.command(Some("of-ann"), &["kill", &id]));
    let words = format!("cluster driver {id} belongs to bob@");
    assert!(refused.code() == 1 && refused.stderr.contains(&words), "{refused}");
    cluster.master.wait_for_line(&["ann@", "kill-driver", "refused: cluster driver"]);
    done(&mut cluster.command(Some("of-bob"), &["kill", &id]));
    cluster.master.wait_for_line(&["bob@", "kill-driver", "done: driver-"]);
    // Nobody else's secrets change.
    let shown = || done(firesteel().args(["secret", "show"]).arg(file("cluster")));
    assert!(shown().contains("user     ann\nuser     bob\n"), "{}", shown());
    done(firesteel().args(["secret", "revoke", "ann"]).arg(file("cluster")));
    let again = run(firesteel().args(["secret", "revoke", "ann"]).arg(file("cluster")));
    assert!(again.code() == 1 && again.stderr.contains("names no user ann"), "{again}");
    wait_for("the end of what ann was granted", || {
        let done = run(&mut cluster.command(Some("of-ann"), &["status"]));
        done.stderr.contains("it has another secret").then_some(())
    });
    map("of-bob");
}

#[test]
fn pages_json_metrics_and_rest_need_a_password_and_probes_none() {
    let cluster = Secured::start();
    let (pages, rest) = (cluster.password(&[]), cluster.password(&["--rest"]));
    let of_user = done(firesteel().args(["secret", "password"]).arg(cluster.path("user")));
    assert_eq!(of_user.trim(), pages, "everybody has the same");
    let bearer = |word: &str| format!("Authorization: Bearer {word}\r\n");
    let address = |daemon: &Daemon| daemon.http().to_owned();
    for address in [address(&cluster.master), address(&cluster.worker)] {
        for path in ["/livez", "/readyz"] {
            assert_eq!(http_get(&address, path, "").0, 200, "{path}");
        }
        for path in [
            "/",
            "/json/",
            "/metrics",
            "/nowhere",
            "/log/",
            "/app/?appId=app-1",
            "//livez/../json/",
            "/livez/x",
        ] {
            for header in ["", &bearer("guess"), &bearer(&rest), "Authorization: Basic Og==\r\n"] {
                let (status, answer) = http_get(&address, path, header);
                assert_eq!(status, 401, "{path} {header}: {answer}");
                assert!(answer.to_ascii_lowercase().contains("www-authenticate: basic"), "{answer}");
                assert!(!answer.contains("worker-"), "{answer}");
            }
        }
        for path in ["/", "/json/", "/metrics"] {
            assert_eq!(http_get(&address, path, &bearer(&pages)).0, 200, "{path}");
        }
    }
    for daemon in [&cluster.master, &cluster.worker] {
        let address = daemon.address().to_string();
        assert_eq!(http_get(&address, "/livez", "").0, 200);
        for header in ["", &bearer("guess"), &bearer(&rest)] {
            assert_eq!(http_get(&address, "/json/", header).0, 401, "{header}");
        }
        assert_eq!(http_get(&address, "/json/", &bearer(&pages)).0, 200);
    }
    let path = "/v1/submissions/status/driver-20261129000000-0000";
    for address in [cluster.rest(), cluster.master.address().to_string()] {
        for header in ["", &bearer(&pages), &bearer("guess")] {
            assert_eq!(http_get(&address, path, header).0, 401, "{header}");
        }
        assert_eq!(http_get(&address, path, &bearer(&rest)).0, 200);
    }
}

#[test]
fn a_reader_signs_in_on_a_page_and_out_again_and_needs_a_password_that_is_still_right() {
    let cluster = Secured::start();
    let address = cluster.master.http().to_owned();
    let browser = "Accept: text/html,application/xhtml+xml\r\n";
    let cookie = |value: &str| format!("{browser}Cookie: a=b; {value}\r\n");
    let (status, page) = http_get(&address, "/app/?appId=app-1", browser);
    assert!(status == 401 && page.contains("action=\"../signin/\""), "{page}");
    assert!(page.contains("value=\"app/?appId=app-1\""), "{page}");
    let head = page.to_ascii_lowercase();
    assert!(!head.contains("www-authenticate") && !head.contains("set-cookie"), "{page}");

    let post = |head: &str, form: &str| http_post(&address, "/signin/", head, form);
    for form in ["", "password=", "password=guess&to=json/"] {
        let (status, answer) = post("", form);
        assert!(status == 401 && answer.contains("This password is not right"), "{form}: {answer}");
        assert!(!answer.to_ascii_lowercase().contains("set-cookie"), "{form}: {answer}");
    }
    let form = format!("password={}&to=json/", cluster.password(&[]));
    let (status, answer) = post("Origin: http://evil.example\r\n", &form);
    assert!(status == 403 && !answer.to_ascii_lowercase().contains("set-cookie"), "{answer}");
    let sign_in = || {
        let (status, answer) = post("", &form);
        assert!(status == 302 && answer.contains("location: ../json/\r\n"), "{answer}");
        let line = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        assert!(line.contains("; HttpOnly; SameSite=Lax") && line.contains("Max-Age=43200"), "{line}");
        line.split(';').next().expect("a value").to_owned()
    };
    let (one, other) = (sign_in(), sign_in());
    assert_ne!(one, other);
    for path in ["/", "/json/", "/metrics"] {
        assert_eq!(http_get(&address, path, &cookie(&one)).0, 200, "{path}");
    }
    let port = address.rsplit_once(':').expect("a port").1;
    for wrong in
        [format!("firesteel-{port}=guess"), format!("firesteel-{port}="), one.replace("firesteel", "f")]
    {
        assert_eq!(http_get(&address, "/json/", &cookie(&wrong)).0, 401, "{wrong}");
    }
    assert_eq!(http_get(cluster.worker.http(), "/json/", &cookie(&one)).0, 401, "it is the Master's");
    assert_eq!(http_post(&cluster.rest(), "/signin/", "", &form).0, 401, "REST is for programs");

    assert!(http_get(&address, "/signin/", &cookie(&one)).1.contains("Sign out"));
    let (status, answer) = post(&cookie(&one), "out=yes");
    assert!(status == 302 && answer.contains("Max-Age=0"), "{answer}");
    assert_eq!(http_get(&address, "/json/", &cookie(&one)).0, 401);
    assert_eq!(http_get(&address, "/json/", &cookie(&other)).0, 200);
    for step in ["add", "switch", "drop"] {
        done(firesteel().args(["secret", "rotate", step]).arg(cluster.path("cluster")));
    }
    wait_for("the end of the session", || {
        (http_get(&address, "/json/", &cookie(&other)).0 == 401).then_some(())
    });
}

#[test]
fn the_secrets_of_a_cluster_are_shown_to_nobody() {
    let cluster = Secured::start();
    let touched = cluster.path("touched");
    let script = format!("env > {}; sleep 1000", touched.display());
    let map = cluster
        .command(Some("user"), &["map", "--executor-cores", "1", "--", "sh", "-c", &script, ":::", "a"]);
    let mut map = map;
    let map = Daemon::spawn(&mut map);
    wait_for("the item", || touched.is_file().then_some(()));
    let words: Vec<String> = ["cluster", "worker", "user", "monitor"]
        .iter()
        .flat_map(|name| {
            let mode = fs::metadata(cluster.path(name)).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
            let text = fs::read_to_string(cluster.path(name)).expect("it is text");
            let secrets = text.lines().filter(|line| !line.starts_with('#'));
            secrets.map(|line| line.split(' ').next_back().expect("a word").to_owned()).collect::<Vec<_>>()
        })
        .chain([cluster.password(&[]), cluster.password(&["--rest"])])
        .collect();
    assert!(words.len() > 10 && words.iter().all(|word| word.len() == 64), "{words:?}");
    let mut seen: Vec<(String, Vec<u8>)> = Vec::new();
    for daemon in [&cluster.master, &cluster.worker, &map] {
        seen.push(("a log".to_owned(), daemon.log().into_bytes()));
        for pid in [vec![daemon.pid()], processes::descendants_of(daemon.pid())].concat() {
            for file in ["cmdline", "environ"] {
                seen.push((
                    format!("{file} of {pid}"),
                    fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default(),
                ));
            }
        }
    }
    for entry in fs::read_dir(cluster.path("state")).expect("it is there").flatten() {
        seen.push(("the journal".to_owned(), fs::read(entry.path()).unwrap_or_default()));
    }
    seen.push(("the item's environment".to_owned(), fs::read(&touched).expect("it is there")));
    let header = format!("Authorization: Bearer {}\r\n", cluster.password(&[]));
    for path in ["/", "/json/", "/metrics"] {
        seen.push((path.to_owned(), http_get(cluster.master.http(), path, &header).1.into_bytes()));
    }
    let shown = done(firesteel().args(["secret", "show"]).arg(cluster.path("cluster")));
    seen.push(("secret show".to_owned(), shown.into_bytes()));
    for (name, bytes) in &seen {
        for word in &words {
            assert!(!bytes.windows(64).any(|part| part == word.as_bytes()), "a secret is in {name}");
        }
    }
    assert!(seen.iter().filter(|(_, bytes)| !bytes.is_empty()).count() > 10);
}

#[test]
fn the_secret_of_a_running_cluster_is_replaced_and_no_task_is_lost() {
    let mut cluster = Secured::start();
    let (begun, go) = (cluster.path("begun"), cluster.path("go"));
    let script =
        format!("echo $1 >> {}; until [ -e {} ]; do sleep 0.1; done; echo $1", begun.display(), go.display());
    let words = [
        "map",
        "--executor-cores",
        "1",
        "--total-executor-cores",
        "2",
        "--",
        "sh",
        "-c",
        &script,
        "item",
        "{}",
    ];
    let mut map = cluster.command(Some("user"), &[&words[..], &[":::", "1", "2", "3", "4"]].concat());
    let mut map = Daemon::spawn(&mut map);
    let lines = || fs::read_to_string(&begun).unwrap_or_default().lines().count();
    wait_for("two items to begin", || (lines() == 2).then_some(()));
    let fingerprints = || done(firesteel().args(["secret", "show"]).arg(cluster.path("cluster")));
    let before = fingerprints();
    for (number, (step, secrets)) in (1..).zip([("add", 2), ("switch", 2), ("drop", 1)]) {
        done(firesteel().args(["secret", "rotate", step]).arg(cluster.path("cluster")));
        for holder in ["worker", "user"] {
            let new = cluster.path("new");
            done(firesteel().args(["secret", "grant", holder]).arg(cluster.path("cluster")).arg(&new));
            fs::rename(new, cluster.path(holder)).expect("it is ours");
        }
        let shown = fingerprints();
        assert_eq!(shown.lines().count(), secrets, "{shown}");
        let used = shown.split_whitespace().nth(1).expect("a fingerprint").to_owned();
        let read = |daemon: &Daemon| {
            daemon.log().lines().filter(|line| line.contains("read new credentials")).count() == number
        };
        wait_for("the new credentials", || (read(&cluster.master) && read(&cluster.worker)).then_some(()));
        assert!(cluster.master.log().contains(&used), "{}", cluster.master.log());
    }
    let after = fingerprints();
    assert_ne!(before.split_whitespace().nth(1), after.split_whitespace().nth(1));
    // All connections are made anew, with the new secret.
    let port = cluster.master.address().port().to_string();
    cluster.master.signal(nix::sys::signal::Signal::SIGKILL);
    cluster.master.wait();
    let state = format!("spark.deploy.recoveryDirectory={}", cluster.path("state").display());
    let mut master = firesteel();
    master.args(["master", "--port", &port, "--webui-port", "0", "--conf", &state]);
    cluster.master = Daemon::start(master.env(CREDENTIALS, cluster.path("cluster")));
    cluster.master.wait_for_line(&["all Workers and applications are back"]);
    fs::write(&go, "").expect("it is written");
    assert_eq!(map.wait(), 0, "{}", map.log());
    assert_eq!(lines(), 4, "no item ran twice");
    let output: Finished = run(&mut cluster.command(Some("user"), &["status"]));
    assert_eq!(output.code(), 0, "{output}");
}

#[test]
fn a_file_that_others_can_read_is_refused_and_nothing_is_written_over() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("credentials");
    let new = || run(firesteel().args(["secret", "new"]).arg(&file));
    assert_eq!(new().code(), 0);
    let again = new();
    assert!(again.code() == 1 && again.stderr.contains("exists"), "{again}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
    for words in [&["master", "--port", "0"][..], &["worker", "spark://127.0.0.1:1"]] {
        let done = run(firesteel().args(words).args(["--webui-port", "none"]).env(CREDENTIALS, &file));
        assert!(done.code() == 78 && done.stderr.contains("chmod 600"), "{done}");
    }
    let missing = run(firesteel().arg("status").env(CREDENTIALS, directory.path().join("nowhere")));
    assert!(missing.code() == 78 && missing.stderr.contains("cannot read"), "{missing}");
}
