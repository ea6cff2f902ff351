//! Requests of Spark's REST protocol, with the answers of a recorded Master of Spark.

use firesteel_placement::{Amount, Cores, MiB, ResourceAmounts, Resources};
use firesteel_protocol::ids::{DriverId, WorkerId};
use firesteel_protocol::messages::{
    ClientToMaster, DriverError, DriverLocation, DriverState, DriverView, KillDriverAnswer, LossReason,
    RefusedDriver, SubmitDriverAnswer,
};
use firesteel_protocol::process::{StartFailure, StartStep};
use firesteel_protocol::time::Timestamp;
use firesteel_spark::rest::answers::{self, Answer};
use firesteel_spark::rest::{Asked, Call, Submission, read};
use firesteel_spark::translate::clients::{self, NotAlive};
use serde_json::{Map, Value, json};

/// The recorded requests and answers, one per line.
const RECORDED: &str = include_str!("../../../fixtures/spark/rest/spark-4.0.1.jsonl");

fn asked(method: &str, path: &str, body: &str) -> Result<Call, Answer> {
    let variable = |name: &str| (name == "TOKEN").then(|| "of the Master".to_owned());
    read(Asked { method, path, body: body.as_bytes() }, variable)
}

/// The answer of a Master that knows no cluster driver, and gives this id to the next.
fn answer(call: &Call, next: &str) -> Answer {
    match call {
        Call::Create(submission) => {
            let driver = DriverId::new(next);
            answers::created(&SubmitDriverAnswer::Submitted { driver }, &submission.unknown_fields)
        }
        Call::Kill(id) => answers::kill(id, &KillDriverAnswer::Unknown),
        Call::KillAll => answers::killed_all(),
        Call::Clear => answers::cleared(),
        Call::Status(id) => answers::status(id, None),
        Call::Readyz => answers::ready(),
    }
}

/// A message without the parts that differ between parsers. They are the text after the kind of a JSON error, and the
/// reason of a failed validation (Spark puts it into a stack trace).
fn in_common(body: &Map<String, Value>) -> Map<String, Value> {
    let mut body = body.clone();
    if let Some(Value::String(message)) = body.get_mut("message") {
        if message.starts_with("Malformed request: com.fasterxml.jackson.") {
            *message = "Malformed request: com.fasterxml.jackson.".to_owned();
        }
        *message = message.split("\n\t").next().unwrap_or_default().to_owned();
    }
    body
}

#[test]
fn requests_are_answered_as_spark_s_master_answered_them() {
    let (mut same, mut differing) = (0, Vec::new());
    for line in RECORDED.lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let id = row["answer"]["submissionId"].as_str().unwrap_or_default();
        let found = match asked(text("method"), text("path"), text("body")) {
            Ok(call) => answer(&call, id),
            Err(answer) => answer,
        };
        let expected = match (&row["answer"], text("method")) {
            (Value::Object(body), _) => in_common(body),
            // The headers of an answer with a body.
            (_, "HEAD") => in_common(&found.body),
            // A page for people.
            _ => Map::new(),
        };
        if u64::from(found.status) == row["status"].as_u64().expect("a status")
            && in_common(&found.body) == expected
        {
            same += 1;
        } else {
            differing.push(format!(
                "{} {} {}: {} instead of {}",
                text("method"),
                text("path"),
                text("body"),
                found.status,
                row["status"]
            ));
        }
    }
    // Where Spark answers with a page for people, there is JSON; where it fails with 500, the request is called
    // malformed.
    let of = |what: &str| differing.iter().filter(|line| line.ends_with(what)).count();
    let pages = [of("405 instead of 405"), of("400 instead of 500")];
    // Two slashes count as one, nulls in a list are not texts, and OPTIONS is not a method of the protocol.
    let others: Vec<&String> = differing
        .iter()
        .filter(|line| !line.ends_with("405 instead of 405") && !line.ends_with("400 instead of 500"))
        .collect();
    assert_eq!((same, pages, others.len()), (78, [8, 4], 3), "{differing:#?}");
}

/// A request to create a submission with these properties and fields.
fn create(properties: Value, more: Value) -> Result<Submission, Answer> {
    let mut request = json!({
        "action": "CreateSubmissionRequest", "clientSparkVersion": "4.0.1", "appResource": "file:/x.jar",
        "mainClass": "Main", "sparkProperties": properties,
    });
    let fields = request.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    match asked("POST", "/v1/submissions/create", &request.to_string())? {
        Call::Create(submission) => Ok(*submission),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_submission_is_started_with_its_properties_and_options() {
    let properties = json!({
        "spark.app.name": "x y", "spark.driver.cores": "2", "spark.driver.memory": "2g",
        "spark.driver.supervise": "True", "spark.driver.extraJavaOptions": "-Xss4m '-Da=b c'",
        "spark.driver.defaultJavaOptions": "-Dd=e", "spark.driver.extraClassPath": "/a.jar:/b.jar",
        "spark.driver.extraLibraryPath": "/lib", "spark.hadoop.token": "{{TOKEN}}", "spark.x": "{{OTHER}}",
        "spark.y": "not {{TOKEN}}",
    });
    let environment = json!({"SPARK_LOCAL_IP": "1.2.3.4", "PYSPARK_PYTHON": "/py", "SPARK_SECRET": "{{TOKEN}}", "SPARK_HOME": "/s"});
    let submission = create(properties, json!({"appArgs": ["one", 2], "environmentVariables": environment}));
    let Submission { driver, wanted, unknown_fields } = submission.expect("it is sound");
    assert_eq!((wanted.cores, wanted.memory, wanted.supervise), (2, 2048, true));
    assert_eq!((driver.jar.as_str(), unknown_fields.len()), ("file:/x.jar", 0));
    let command = &driver.command;
    assert_eq!(
        (command.main_class.as_str(), &command.arguments[..]),
        ("Main", &["one".to_owned(), "2".to_owned()][..])
    );
    assert_eq!(command.class_path, ["/a.jar", "/b.jar"]);
    assert_eq!(command.library_path, ["/lib"]);
    assert_eq!(command.releases, ["4.0"]);
    let variables: Vec<String> =
        command.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(variables, ["PYSPARK_PYTHON=/py", "SPARK_SECRET=of the Master"]);
    assert!(command.java_options.ends_with(&["-Dd=e".to_owned(), "-Xss4m".to_owned(), "-Da=b c".to_owned()]));
    for option in [
        "-Dspark.app.name=x y",
        "-Dspark.hadoop.token=of the Master",
        "-Dspark.x={{OTHER}}",
        "-Dspark.y=not {{TOKEN}}",
    ] {
        assert!(command.java_options.iter().any(|found| found == option), "{option}");
    }
    let question = clients::driver(driver.clone(), wanted, None, "REST").expect("it fits");
    let ClientToMaster::RequestSubmitDriver(description) = question else { panic!("{question:?}") };
    assert_eq!(
        (description.cores, description.memory, description.user.as_str()),
        (Cores(2), MiB(2048), "REST")
    );
}

#[test]
fn an_application_in_python_is_submitted_by_spark_submit() {
    let more = json!({"mainClass": "org.apache.spark.deploy.SparkSubmit", "appResource": "", "appArgs": ["/app.py"]});
    let submission = create(json!({"spark.app.name": "x"}), more).expect("it is sound");
    assert_eq!(submission.driver.command.arguments, ["-c", "spark.app.name=x", "/app.py"]);
    assert_eq!((submission.wanted.cores, submission.wanted.memory), (1, 1024));
    assert!(clients::driver(submission.driver, submission.wanted, None, "REST").is_ok(), "it needs no jar");
}

#[test]
fn a_driver_may_need_custom_resources() {
    let properties = json!({
        "spark.driver.resource.gpu.amount": "2",
        "spark.driver.resource.gpu.discoveryScript": "/gpus",
        "spark.driver.resource.fpga.amount": "0",
    });
    let Submission { driver, wanted, .. } = create(properties, json!({})).expect("it is sound");
    let question = clients::driver(driver, wanted, None, "REST").expect("it fits");
    let ClientToMaster::RequestSubmitDriver(description) = question else {
        panic!("{question:?}");
    };
    assert_eq!(description.resources, [("gpu".to_owned(), Amount::Whole(2))].into());
    for amount in ["0.5", "two", ""] {
        let answer = create(json!({"spark.driver.resource.gpu.amount": amount}), json!({}));
        let message = answer.expect_err("it is no number").body["message"].to_string();
        assert!(message.contains("spark.driver.resource.gpu.amount has to be a whole number"), "{message}");
    }
}

#[test]
fn what_no_worker_can_start_is_refused_with_a_sentence() {
    let refused = |properties, more| {
        let Submission { driver, wanted, .. } = create(properties, more).expect("it is sound");
        clients::driver(driver, wanted, None, "REST").expect_err("it does not fit").to_string()
    };
    let s3 = refused(json!({}), json!({"appResource": "s3a://bucket/x.jar"}));
    assert!(s3.contains("cannot be fetched from s3a:"), "{s3}");
    let gpu = refused(json!({"spark.driver.resource.gpu.amount": "-1"}), json!({}));
    assert!(gpu.contains("cannot have -1 addresses of gpu"), "{gpu}");
    let answer = answers::refused(s3.clone(), &[]);
    assert_eq!(
        (answer.status, &answer.body["success"], &answer.body["message"]),
        (200, &json!(false), &json!(s3))
    );
    assert!(!answer.body.contains_key("submissionId"));
    let refusal = SubmitDriverAnswer::Refused(RefusedDriver::TooManyWait { most: 1 });
    let message = answers::created(&refusal, &[]).body["message"].clone();
    assert_eq!(
        message,
        "the Master refuses the driver: 1 drivers wait for a Worker already, and the Master keeps no more"
    );
}

fn view(state: DriverState) -> DriverView {
    let time = Timestamp::from_millis(0);
    DriverView {
        id: DriverId::new("driver-1"),
        user: "ann".to_owned(),
        command: "{{SPARK}} Pi".to_owned(),
        cores: Cores(1),
        memory: MiB(512),
        supervise: false,
        state,
        submitted: time,
        launched: Some(time),
        ended: None,
        worker: Some(DriverLocation {
            worker: WorkerId::new("worker-1"),
            host: "10.0.0.2".to_owned(),
            port: 7079,
            directory: "/work/driver-1".to_owned(),
        }),
        name: None,
        needs: ResourceAmounts::new(),
        has: Resources::default(),
        restarts: None,
        wait: None,
    }
}

#[test]
fn a_status_says_where_a_driver_runs_and_why_it_could_not_be_started() {
    let status = |state| Value::Object(answers::status("driver-1", Some(&view(state))).body);
    let mut expected = json!({
        "action": "SubmissionStatusResponse", "driverState": "RUNNING", "serverSparkVersion": "4.0.1",
        "submissionId": "driver-1", "success": true, "workerHostPort": "10.0.0.2:7079", "workerId": "worker-1",
    });
    assert_eq!(status(DriverState::Running), expected);
    expected["driverState"] = "ERROR".into();
    let lost = DriverState::Error(DriverError::Lost(LossReason::Disconnected));
    assert_eq!(status(lost), expected);
    let failure = StartFailure { step: StartStep::Files, error: "/x.jar: No such file".to_owned() };
    let message = format!("Exception from the cluster:\n{failure}");
    expected["message"] = message.into();
    assert_eq!(status(DriverState::Error(DriverError::NotStarted(failure))), expected);
}

#[test]
fn a_master_that_does_not_lead_says_so_in_the_words_that_clients_know() {
    let call = |method, path| asked(method, path, "").expect("it is one");
    let answer = |call| answers::not_leading(&call, NotAlive::Standby);
    let kill = answer(call("POST", "/v1/submissions/kill/x"));
    let message = "Current state is not alive: STANDBY. Can only kill drivers in ALIVE state.";
    assert_eq!((kill.status, &kill.body["message"]), (200, &json!(message)));
    let status = answer(call("GET", "/v1/submissions/status/x"));
    assert_eq!(status.body["success"], json!(false));
    let ready = answer(call("GET", "/v1/submissions/readyz"));
    assert_eq!((ready.status, &ready.body["message"]), (503, &json!("Master is not ready.")));
    let submission = create(json!({}), json!({"odd": 1})).expect("it is sound");
    let creation = answers::not_leading(&Call::Create(Box::new(submission)), NotAlive::Recovering);
    let message =
        "Current state is not alive: RECOVERING. Can only accept driver submissions in ALIVE state.";
    assert_eq!(
        (&creation.body["message"], &creation.body["unknownFields"]),
        (&json!(message), &json!(["odd"]))
    );
}
