//! The body of a request to create a submission.

use std::collections::BTreeMap;

use firesteel_protocol::process::executor_command::JavaCommand;
use serde_json::Value;

use super::answers::{self, Answer};
use super::fields::JsonFields;
use crate::cluster_driver::SparkDriver;
use crate::launch::driver::is_passed_on;
use crate::memory;
use crate::translate::clients::Wanted;
use crate::words::words;

/// A submitted cluster driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The jar and the command of the driver.
    pub driver: SparkDriver,
    /// The driver's cores, memory and custom resources, and whether the driver is supervised.
    pub wanted: Wanted,
    /// Fields of the request that the protocol does not have. The answer lists them.
    pub unknown_fields: Vec<String>,
}

/// The class that submits an application, for applications in Python.
const SPARK_SUBMIT: &str = "org.apache.spark.deploy.SparkSubmit";

/// The fields of a request.
const FIELDS: [&str; 8] = [
    "action",
    "message",
    "clientSparkVersion",
    "appResource",
    "mainClass",
    "appArgs",
    "sparkProperties",
    "environmentVariables",
];

/// The `action` of a request to create a submission.
const REQUEST: &str = "CreateSubmissionRequest";

impl Submission {
    /// Reads the body of a request.
    ///
    /// Source: Spark 4.0.1 (`CreateSubmissionRequest`, `StandaloneSubmitRequestServlet`). For an unknown action or a
    /// fractional number of cores, Spark answers with status 500 and a page. This code answers with status 400 and
    /// JSON.
    pub(super) fn read(body: &[u8], variable: impl Fn(&str) -> Option<String>) -> Result<Self, Answer> {
        let no_action = || {
            let text = String::from_utf8_lossy(body);
            answers::missing(&format!("Action field not found in JSON:\n{text}"))
        };
        let fields: JsonFields = match serde_json::from_slice(body) {
            Ok(fields) => fields,
            // It is JSON, but not an object.
            Err(_) if serde_json::from_slice::<Value>(body).is_ok() => return Err(no_action()),
            Err(error) => {
                let class = "com.fasterxml.jackson.core.JsonProcessingException";
                return Err(answers::malformed(&format!("{class}: {error}")));
            }
        };
        match fields.get("action") {
            Some(Value::String(action)) if action == REQUEST => {}
            Some(Value::String(action)) => {
                return Err(answers::invalid(action, "it is no request to create a submission"));
            }
            Some(_) | None => return Err(no_action()),
        }
        let request = Request { fields: &fields };
        let version = request.required("clientSparkVersion")?;
        let properties = request.map("sparkProperties")?.ok_or_else(|| request.lacks("sparkProperties"))?;
        let jar = request.required("appResource")?;
        let supervise = boolean(&properties, "spark.driver.supervise")?;
        let cores = whole(&properties, "spark.driver.cores")?;
        numeric(&properties, "spark.cores.max")?;
        let driver_memory = megabytes(&properties, "spark.driver.memory")?;
        megabytes(&properties, "spark.executor.memory")?;
        let arguments = request.list("appArgs")?;
        let environment = request.map("environmentVariables")?.unwrap_or_default();
        let main_class =
            request.text("mainClass")?.ok_or_else(|| answers::missing("Main class is missing."))?;

        let filled = |entries: BTreeMap<String, String>| -> BTreeMap<String, String> {
            entries.into_iter().map(|(name, value)| (name, filled(value, &variable))).collect()
        };
        let (properties, mut environment) = (filled(properties), filled(environment));
        environment.retain(|name, _| is_passed_on(name));
        let wanted = Wanted {
            cores: cores.unwrap_or(1),
            memory: driver_memory.unwrap_or(1024),
            supervise: supervise.unwrap_or(false),
            resources: resources(&properties)?,
        };
        let command = command(main_class, arguments, &properties, environment, &version);
        let unknown = fields.0.iter().map(|(name, _)| name).filter(|name| !FIELDS.contains(&name.as_str()));
        Ok(Self { driver: SparkDriver { jar, command }, wanted, unknown_fields: unknown.cloned().collect() })
    }
}

/// The JVM's command line of a cluster driver with these properties.
fn command(
    main_class: String,
    mut arguments: Vec<String>,
    properties: &BTreeMap<String, String>,
    environment: BTreeMap<String, String>,
    version: &str,
) -> JavaCommand {
    let property = |name: &str| properties.get(name).map(String::as_str);
    if main_class == SPARK_SUBMIT
        && let Some(name) = property("spark.app.name")
    {
        arguments.splice(..0, ["-c".to_owned(), format!("spark.app.name={name}")]);
    }
    let mut java_options: Vec<String> =
        properties.iter().map(|(name, value)| format!("-D{name}={value}")).collect();
    for name in ["spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions"] {
        java_options.extend(words(property(name).unwrap_or_default()));
    }
    let paths = |name: &str| {
        let paths = property(name).unwrap_or_default().split(':').filter(|path| !path.is_empty());
        paths.map(str::to_owned).collect()
    };
    JavaCommand {
        main_class,
        arguments,
        environment,
        class_path: paths("spark.driver.extraClassPath"),
        library_path: paths("spark.driver.extraLibraryPath"),
        java_options,
        releases: release(version).into_iter().collect(),
        ..JavaCommand::default()
    }
}

/// The number of addresses that a driver with these properties needs of each custom resource.
fn resources(properties: &BTreeMap<String, String>) -> Result<BTreeMap<String, i64>, Answer> {
    let resource = |key: &String| {
        let name = key.strip_prefix("spark.driver.resource.")?.strip_suffix(".amount")?;
        Some(whole(properties, key).map(|amount| (name.to_owned(), amount.unwrap_or(0))))
    };
    properties.keys().filter_map(resource).collect()
}

/// The release of a client, from its version: `4.0` of `4.0.1`.
fn release(version: &str) -> Option<String> {
    let mut numbers = version.split('.');
    let (major, minor) = (numbers.next()?, numbers.next()?);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    [major, minor].into_iter().all(is_number).then(|| format!("{major}.{minor}"))
}

/// Replaces a value of the form `{{NAME}}` with the value of the variable `NAME`, if the Master has this variable.
fn filled(value: String, variable: impl Fn(&str) -> Option<String>) -> String {
    let name = value.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    name.and_then(variable).unwrap_or(value)
}

fn boolean(properties: &BTreeMap<String, String>, name: &str) -> Result<Option<bool>, Answer> {
    read(properties, name, "true or false", |text| match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    })
}

fn whole(properties: &BTreeMap<String, String>, name: &str) -> Result<Option<i64>, Answer> {
    read(properties, name, "a whole number", |text| text.parse::<i32>().ok().map(i64::from))
}

fn numeric(properties: &BTreeMap<String, String>, name: &str) -> Result<Option<f64>, Answer> {
    read(properties, name, "a number", |text| text.parse().ok())
}

fn megabytes(properties: &BTreeMap<String, String>, name: &str) -> Result<Option<i64>, Answer> {
    read(properties, name, "an amount of memory, such as 512m or 2g", memory::mebibytes)
}

/// The value of a property, parsed by the given function. `None` if the property is not set.
fn read<T>(
    properties: &BTreeMap<String, String>,
    name: &str,
    expected: &str,
    value: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Answer> {
    let Some(text) = properties.get(name) else { return Ok(None) };
    let read = value(text.trim());
    read.map(Some)
        .ok_or_else(|| answers::invalid(REQUEST, &format!("{name} has to be {expected}, not {text:?}")))
}

/// The fields of a request, by type. As in Spark, numbers and booleans may be given as texts.
struct Request<'a> {
    fields: &'a JsonFields,
}

impl Request<'_> {
    fn lacks(&self, name: &str) -> Answer {
        answers::invalid(REQUEST, &format!("the field {name} is missing"))
    }

    fn required(&self, name: &str) -> Result<String, Answer> {
        self.text(name)?.ok_or_else(|| self.lacks(name))
    }

    fn text(&self, name: &str) -> Result<Option<String>, Answer> {
        match self.fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => text(name, value).map(Some),
        }
    }

    fn list(&self, name: &str) -> Result<Vec<String>, Answer> {
        match self.fields.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(values)) => values.iter().map(|value| text(name, value)).collect(),
            Some(_) => Err(of_another_type(name, "a list of texts")),
        }
    }

    fn map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, Answer> {
        match self.fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(entries)) => {
                let entry = |(key, value): (&String, &Value)| Ok((key.clone(), text(name, value)?));
                entries.iter().map(entry).collect::<Result<_, _>>().map(Some)
            }
            Some(_) => Err(of_another_type(name, "an object with texts")),
        }
    }
}

fn text(name: &str, value: &Value) -> Result<String, Answer> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(truth) => Ok(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(of_another_type(name, "a text")),
    }
}

fn of_another_type(name: &str, expected: &str) -> Answer {
    let class = "com.fasterxml.jackson.databind.exc.MismatchedInputException";
    answers::malformed(&format!("{class}: the field {name} has something else than {expected}"))
}
