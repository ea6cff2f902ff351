//! Cluster drivers of Spark by REST, on a Master and a Worker with a script in place of Java: no Spark is needed.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use firesteel_testkit::{Cluster, DEADLINE, wait_for, write_program};
use serde_json::{Value, json};

/// A Master that serves REST, and a Worker with an installation of Spark.
struct Rest {
    cluster: Cluster,
    /// Where the Master serves REST: `host:port`.
    address: String,
}

/// The replacement for Java: it prints its arguments, and runs until it is ended.
const JAVA: &str =
    "#!/bin/sh\nfor word; do echo \"word $word\"; done\nenv | sort | sed 's/^/variable /'\nexec sleep 1000\n";

impl Rest {
    fn start() -> Self {
        Self::start_with(&[])
    }

    /// With these settings, too.
    fn start_with(settings: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let spark = directory.path().join("spark");
        let java = directory.path().join("java/bin/java");
        for (path, text) in [(&spark.join("jars/spark-core_2.13-4.0.1.jar"), ""), (&java, JAVA)] {
            write_program(path, text);
        }
        let plan =
            Cluster::plan().properties(&["spark.master.rest.enabled=true", "spark.master.rest.port=0"]);
        let plan = plan.properties(settings);
        let plan = plan.worker(&["--cores", "2", "--memory", "4g"]);
        let plan = plan.variable("SPARK_HOME", spark).variable("JAVA_HOME", directory.path().join("java"));
        let cluster = plan.start_in(directory, 1);
        let line = cluster.master.wait_for_line(&["serving Spark's REST protocol"]);
        let (_, address) = line.trim_end().trim_end_matches('/').rsplit_once("http://").expect("a URL");
        let address = address.to_owned();
        Self { cluster, address }
    }

    /// Sends a request. Returns the status and the text of the answer.
    fn ask(&self, method: &str, action: &str, body: &str) -> (u16, String) {
        self.ask_with(method, action, body, "Accept: */*")
    }

    /// Sends a request with one more header.
    fn ask_with(&self, method: &str, action: &str, body: &str, header: &str) -> (u16, String) {
        Self::ask_at(&self.address, method, action, body, header)
    }

    fn ask_at(address: &str, method: &str, action: &str, body: &str, header: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a time limit");
        let length = body.len();
        let head = format!(
            "{method} /v1/submissions/{action} HTTP/1.1\r\nHost: localhost\r\n{header}\r\nContent-Length: {length}\r\n\r\n"
        );
        // A body that is too long is not read to its end.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, body.to_owned())
    }

    fn json(&self, method: &str, action: &str, body: &Value) -> Value {
        let (status, text) = self.ask(method, action, &body.to_string());
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Submits a driver with this jar. Returns the answer.
    fn create(&self, jar: &str) -> Value {
        let body = json!({
            "action": "CreateSubmissionRequest", "clientSparkVersion": "4.0.2", "appResource": jar, "mainClass": "Main",
            "appArgs": ["one two"],
            "sparkProperties": {"spark.master": "spark://elsewhere:6066", "spark.driver.memory": "300m"},
            "environmentVariables": {"SPARK_GIVEN": "1", "SPARK_LOCAL_IP": "1.2.3.4", "SPARK_HOME": "/elsewhere"},
        });
        self.json("POST", "create", &body)
    }

    fn wait_for_state(&self, id: &Value, state: &str) -> Value {
        let id = id.as_str().expect("an id");
        wait_for("the state of a driver", || {
            let status = self.json("GET", &format!("status/{id}"), &Value::Null);
            (status["driverState"] == state).then_some(status)
        })
    }

    fn jar(&self) -> PathBuf {
        let jar = self.cluster.path("main.jar");
        fs::write(&jar, "classes").expect("it is written");
        jar
    }
}

#[test]
fn a_driver_runs_with_the_spark_of_its_worker_until_it_is_ended() {
    let rest = Rest::start();
    let created = rest.create(&format!("file:{}", rest.jar().display()));
    assert_eq!(
        (&created["success"], &created["serverSparkVersion"]),
        (&json!(true), &json!("4.0.1")),
        "{created}"
    );
    let id = &created["submissionId"];
    let status = rest.wait_for_state(id, "RUNNING");
    assert_eq!(status["workerHostPort"], rest.cluster.workers[0].address().to_string());
    let directory =
        rest.cluster.work(0).canonicalize().expect("it is there").join(id.as_str().expect("an id"));
    let stdout = wait_for("all that the driver says", || {
        let stdout = fs::read_to_string(directory.join("stdout")).ok()?;
        stdout.contains("variable SPARK_LAUNCH_WITH_SCALA").then_some(stdout)
    });
    let words: Vec<&str> = stdout.lines().filter_map(|line| line.strip_prefix("word ")).collect();
    let jar = directory.join("main.jar").display().to_string();
    let url = format!("spark://Worker@{}", rest.cluster.workers[0].address());
    let end = ["org.apache.spark.deploy.worker.DriverWrapper", &url, &jar, "Main", "one two"];
    assert!(words.ends_with(&end), "{stdout}");
    assert!(words.contains(&"-Xmx300M"), "{stdout}");
    assert!(words.contains(&format!("-Dspark.master={}", rest.cluster.master.url()).as_str()), "{stdout}");
    assert_eq!(fs::read(Path::new(&jar)).expect("it is there"), b"classes");
    let home = format!("variable SPARK_HOME={}\n", rest.cluster.path("spark").display());
    assert!(stdout.contains(&home) && stdout.contains("variable SPARK_GIVEN=1\n"), "{stdout}");
    assert!(!stdout.contains("1.2.3.4") && !stdout.contains("{{SPARK}}"), "{stdout}");

    let killed = rest.json("POST", &format!("kill/{}", id.as_str().expect("an id")), &Value::Null);
    assert_eq!(killed["success"], true, "{killed}");
    rest.wait_for_state(id, "KILLED");
    rest.json("POST", "clear", &Value::Null);
    let unknown = rest.json("GET", &format!("status/{}", id.as_str().expect("an id")), &Value::Null);
    assert_eq!(unknown["success"], false, "{unknown}");
}

/// Spark's Master answers HTTP at its REST port only, so `spark-submit --status` fails with the URL that users know.
#[test]
fn a_master_answers_rest_at_its_own_port_where_it_serves_rest_to_everybody() {
    let mut rest = Rest::start();
    let own = rest.cluster.master.address().to_string();
    rest.address.clone_from(&own);
    let created = rest.create(&format!("file:{}", rest.jar().display()));
    let id = created["submissionId"].as_str().expect("an id");
    rest.wait_for_state(&created["submissionId"], "RUNNING");
    let killed = rest.json("POST", &format!("kill/{id}"), &Value::Null);
    assert_eq!(killed["success"], true, "{killed}");
    rest.wait_for_state(&created["submissionId"], "KILLED");
    let of_worker = rest.cluster.workers[0].address().to_string();
    let (status, text) = Rest::ask_at(&of_worker, "GET", "readyz", "", "Accept: */*");
    assert!(status == 404 && text.contains("/json/"), "{status} {text}");
    drop(rest);

    for (settings, words) in [
        (&[][..], "This Master serves no REST: set spark.master.rest.enabled=true there"),
        (
            &[
                "spark.master.rest.enabled=true",
                "spark.master.rest.port=0",
                "spark.master.rest.host=127.0.0.1",
            ],
            "This Master serves REST only at its REST port (spark.master.rest.host)",
        ),
    ] {
        let cluster = Cluster::plan().properties(settings).start(0);
        let own = cluster.master.address().to_string();
        for (method, action) in [("GET", "status/driver-1"), ("POST", "kill/driver-1"), ("POST", "killall")] {
            let (status, text) = Rest::ask_at(&own, method, action, "", "Accept: */*");
            let answer: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(
                (status, &answer["action"], &answer["message"]),
                (403, &json!("ErrorResponse"), &json!(words))
            );
        }
        // A client that gets no answer submits by Spark's RPC.
        assert_eq!(Rest::ask_at(&own, "POST", "create", "{}", "Accept: */*"), (0, String::new()));
    }
}

#[test]
fn what_cannot_be_started_is_said_with_its_reason() {
    let rest = Rest::start();
    let refused = rest.create("s3a://bucket/main.jar");
    assert_eq!(refused["success"], false, "{refused}");
    assert!(refused["message"].to_string().contains("cannot be fetched from s3a:"), "{refused}");
    let missing = rest.create("file:/nowhere/main.jar");
    let status = rest.wait_for_state(&missing["submissionId"], "ERROR");
    let message = status["message"].as_str().expect("a message");
    let expected = "Exception from the cluster:\ncannot get the application's files: the driver's jar file:/nowhere/main.jar: ";
    assert!(message.starts_with(expected), "{message}");
    for header in ["Origin: http://evil.example", "Sec-Fetch-Site: same-origin"] {
        let (status, text) = rest.ask_with("POST", "killall", "", header);
        assert!(status == 403 && text.contains("Pages may not submit"), "{status} {text}");
    }
    let (status, _) = rest.ask("POST", "create", &"x".repeat(1 << 20));
    assert!([0, 400].contains(&status), "a body of a MiB: {status}");
    assert_eq!(rest.ask("GET", "readyz", "").0, 200);
}

/// Source: `spark.master.rest.allowedAppResourcePatterns`, Spark 4.3.0.
#[test]
fn only_what_a_pattern_matches_as_a_whole_may_be_submitted() {
    let rest =
        Rest::start_with(&[r"spark.master.rest.allowedAppResourcePatterns=file:/.*/main\.jar,hdfs://.*"]);
    let jar = rest.jar().display().to_string();
    let elsewhere = rest.cluster.path("other.jar").display().to_string();
    for refused in
        [format!("file:{elsewhere}"), format!("file:{jar}?x=/main.jar.sh"), "file:/x/../main.jar".into()]
    {
        let answer = rest.create(&refused);
        let words = answer["message"].as_str().unwrap_or_default();
        assert_eq!((&answer["success"], answer.get("submissionId")), (&json!(false), None), "{answer}");
        assert!(words.contains("spark.master.rest.allowedAppResourcePatterns admits no"), "{words}");
        rest.cluster.master.wait_for_line(&["audit: ", "submit-driver", &refused, "refused"]);
    }
    let created = rest.create(&format!("file:{jar}"));
    assert_eq!(created["success"], true, "{created}");
    assert_eq!(rest.cluster.master.status()["drivers"].as_array().map(Vec::len), Some(1));
}
