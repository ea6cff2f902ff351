//! The common metrics of all daemons: process, owner loop, and HTTP server.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use firesteel_host::meter::{OwnerMeter, ROLES, Traffic};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::exposition::Exposition;
use super::server::HttpMeter;

/// The version of the JSON of Dropwizard's metrics.
const DROPWIZARD: &str = "4.0.0";

/// The metrics of this process, with Prometheus' usual names. `started` is the start time of the process.
pub(super) fn process(page: &mut Exposition, started: SystemTime) {
    page.gauge("firesteel_build_info", "The version of Firesteel; always 1.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
        let seconds = [usage.user_time(), usage.system_time()]
            .map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
            .iter()
            .sum::<f64>();
        page.counter("process_cpu_seconds_total", "Processor time that the process took, user and system.")
            .sample(&[], seconds);
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    if let Some(kib) = field("VmRSS") {
        page.gauge("process_resident_memory_bytes", "Memory of the process that is in RAM.")
            .sample(&[], kib * 1024);
    }
    if let Some(kib) = field("VmSize") {
        page.gauge("process_virtual_memory_bytes", "Address space of the process.").sample(&[], kib * 1024);
    }
    if let Some(threads) = field("Threads") {
        page.gauge("process_threads", "Threads of the process.").sample(&[], threads);
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        page.gauge("process_open_fds", "Open files of the process, connections among them.")
            .sample(&[], files.count());
    }
    if let Ok((soft, _)) = getrlimit(Resource::RLIMIT_NOFILE) {
        page.gauge("process_max_fds", "How many files the process may have open.").sample(&[], soft);
    }
    let since = started.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    page.gauge("process_start_time_seconds", "When the process started, in seconds since 1970.")
        .sample(&[], since.as_secs_f64());
}

pub(super) struct OwnerNames {
    pub(super) events: &'static str,
    pub(super) inbox_messages: &'static str,
    pub(super) inbox_bytes: &'static str,
    pub(super) outbox_bytes: &'static str,
    pub(super) connections: &'static str,
}

/// The metrics of an owner loop, under these names.
pub(super) fn owner(page: &mut Exposition, names: &OwnerNames, meter: &OwnerMeter, traffic: Traffic) {
    let Traffic { inbox_messages, inbox_bytes, outbox_bytes } = traffic;
    page.histogram(
        names.events,
        "How long the daemon takes to decide on one event, with the scheduling pass that follows.",
        &meter.applied.distribution(),
    );
    page.gauge(names.inbox_messages, "Messages of peers that wait to be handled.")
        .sample(&[], inbox_messages);
    page.gauge(names.inbox_bytes, "Bytes of the messages of peers that wait to be handled.")
        .sample(&[], inbox_bytes);
    page.gauge(names.outbox_bytes, "Bytes that wait to be sent to peers.").sample(&[], outbox_bytes);
    let mut connections = page.gauge(names.connections, "Open connections by the peer's role.");
    for role in ROLES {
        let name = role.to_string().to_lowercase().replace(' ', "_");
        connections = connections.sample(&[("role", &name)], meter.connections(role));
    }
}

pub(super) fn http(page: &mut Exposition, meter: &HttpMeter) {
    page.gauge("firesteel_http_connections", "Open connections to the HTTP server.")
        .sample(&[], meter.connections());
    let mut family =
        page.counter("firesteel_http_answers_total", "Answers of the HTTP server, by class of status.");
    for (answers, class) in meter.answers.iter().zip(["1xx", "2xx", "3xx", "4xx", "5xx"]) {
        family = family.sample(&[("class", class)], answers.get());
    }
    page.counter(
        "firesteel_http_silent_connections_total",
        "Connections that ended without a whole request.",
    )
    .sample(&[], meter.silent.get());
}

/// Gauges under Spark's names.
#[derive(Debug, Default)]
pub(super) struct SparkGauges(Vec<(String, Value)>);

/// The form in which gauges are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GaugeForm {
    /// Spark's `MetricsServlet`, the JSON of Dropwizard's metrics.
    Json,
    /// Spark's `PrometheusServlet`.
    Prometheus,
}

impl SparkGauges {
    pub(super) fn add(&mut self, name: String, value: impl Into<Value>) {
        self.0.push((name, value.into()));
    }

    /// Source: Spark MetricsServlet and PrometheusServlet, 4.0.1. Numbers only have a form for Prometheus.
    pub(super) fn answer(self, form: GaugeForm) -> Answer {
        match form {
            GaugeForm::Json => {
                let gauges: Map<String, Value> =
                    self.0.into_iter().map(|(name, value)| (name, json!({ "value": value }))).collect();
                let none = "\"counters\":{},\"histograms\":{},\"meters\":{},\"timers\":{}";
                let gauges = Value::from(gauges);
                Answer::json(format!("{{\"version\":\"{DROPWIZARD}\",\"gauges\":{gauges},{none}}}"))
            }
            GaugeForm::Prometheus => Answer::spark_metrics(self.lines()),
        }
    }

    pub(super) fn lines(&self) -> String {
        let mut page = String::new();
        for (name, value) in self.0.iter().filter(|(_, value)| value.is_number()) {
            let sound = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
            let name: String = name.chars().map(sound).collect();
            for kind in ["Number", "Value"] {
                writeln!(page, "metrics_{name}_{kind}{{type=\"gauges\"}} {value}")
                    .expect("a string takes everything");
            }
        }
        page
    }
}
