//! The table of applications.

use std::io::{self, Read, Write};
use std::time::Duration;

use firesteel_placement::{Amount, MiB};
use serde::Deserialize;

use super::models::AskedModels;
use super::table::{Table, TraceError, Wrong, rows, within};
use super::{ModelNames, Models, Request, Trace, TraceApplication, WorkerKind, most};

#[derive(Deserialize)]
struct Row {
    arrival_s: u64,
    executors: u64,
    cores: f64,
    memory_mib: u64,
    gpus: String,
    lifetime_s: u64,
    #[serde(default)]
    gang: Option<u64>,
    #[serde(default)]
    queue: Option<u64>,
    #[serde(default)]
    priority: Option<i32>,
    #[serde(default)]
    run_time_s: Option<u64>,
    #[serde(default)]
    family: Option<u64>,
    #[serde(default)]
    near: Option<u64>,
    #[serde(default)]
    models: String,
}

impl Row {
    fn application(&self, models: &mut AskedModels<'_>) -> Result<TraceApplication, Wrong> {
        let executors = within("executors", self.executors, 1, most::EXECUTORS)?;
        let request = Request {
            milli_cores: thousandths(self.cores)?,
            memory: MiB(within("memory_mib", self.memory_mib, 0, most::MIB)?.cast_signed()),
            gpus: gpus(&self.gpus)?,
            models: models.read(&self.models, "models")?,
        };
        Ok(TraceApplication {
            arrival: Duration::from_secs(within("arrival_s", self.arrival_s, 0, most::SECONDS)?),
            executors,
            request,
            lifetime: Duration::from_secs(within("lifetime_s", self.lifetime_s, 0, most::SECONDS)?),
            gang: within("gang", self.gang.unwrap_or(0), 0, executors)?.max(1),
            queue: within("queue", self.queue.unwrap_or(0), 0, most::NUMBER)?,
            priority: self.priority.unwrap_or(0),
            run_time: seconds("run_time_s", self.run_time_s)?,
            family: number("family", self.family)?,
            near: number("near", self.near)?,
        })
    }
}

/// Parses a number of whole GPUs, or a part of one GPU.
fn gpus(text: &str) -> Result<Amount, Wrong> {
    let wanted = "a whole number of GPUs, or a part of one from 0.001 to 0.999";
    let wrong = || Wrong::Field { column: "gpus".to_owned(), found: text.to_owned(), wanted };
    let amount: Amount = text.parse().map_err(|_| wrong())?;
    within("gpus", amount.addresses(), 0, most::GPUS)?;
    Ok(amount)
}

/// Checks a number that may be missing.
fn number(column: &'static str, found: Option<u64>) -> Result<Option<u64>, Wrong> {
    found.map(|found| within(column, found, 0, most::NUMBER)).transpose()
}

/// Checks a time that may be missing.
fn seconds(column: &'static str, found: Option<u64>) -> Result<Option<Duration>, Wrong> {
    found.map(|found| within(column, found, 1, most::SECONDS).map(Duration::from_secs)).transpose()
}

/// Converts cores to thousandths: at least one, and at most the maximum of a Worker.
fn thousandths(cores: f64) -> Result<u64, Wrong> {
    let most = most::CORES as f64;
    if cores > 0.0 && cores <= most {
        return Ok(((cores * 1000.0).round() as u64).max(1));
    }
    let wanted = "a number of cores, more than 0 and 65536 at most";
    Err(Wrong::Field { column: "cores".to_owned(), found: cores.to_string(), wanted })
}

pub(super) fn read(
    input: impl Read,
    workers: &[WorkerKind],
) -> Result<(Vec<TraceApplication>, ModelNames), TraceError> {
    let table = Table::Applications;
    let mut models = AskedModels::of(workers);
    let applications: Vec<_> = rows::<Row>(table, input)
        .map(|row| {
            let (line, row) = row?;
            row.application(&mut models).map_err(|wrong| TraceError { table, line, wrong })
        })
        .collect::<Result<_, _>>()?;
    if applications.is_empty() {
        return Err(TraceError { table, line: 1, wrong: Wrong::Empty });
    }
    Ok((applications, models.names()))
}

impl Trace {
    /// Writes the table of applications. The columns from `queue` on are left out if no application has them.
    ///
    /// # Errors
    /// Writing to `output` fails.
    pub fn write_applications(&self, output: impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(output);
        let mut header = vec!["arrival_s", "executors", "cores", "memory_mib", "gpus", "lifetime_s", "gang"];
        let columns = if self.applications.iter().any(is_placed) { header.len() + 6 } else { header.len() };
        header.extend(["queue", "priority", "run_time_s", "family", "near", "models"]);
        table.write_record(&header[..columns])?;
        for application in &self.applications {
            let TraceApplication { arrival, executors, request, lifetime, gang, .. } = application;
            let TraceApplication { queue, priority, run_time, family, near, .. } = application;
            let models: Vec<&str> = match request.models {
                Models::ANY => Vec::new(),
                models => self.models.of(models).collect(),
            };
            let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
            let row = [
                arrival.as_secs().to_string(),
                executors.to_string(),
                (request.milli_cores as f64 / 1000.0).to_string(),
                request.memory.0.to_string(),
                request.gpus.to_string(),
                lifetime.as_secs().to_string(),
                if *gang > 1 { gang.to_string() } else { String::new() },
                queue.to_string(),
                priority.to_string(),
                number(run_time.map(|run_time| run_time.as_secs())),
                number(*family),
                number(*near),
                models.join("|"),
            ];
            table.write_record(&row[..columns])?;
        }
        table.flush()
    }
}

/// Whether an application has a value in the columns from `queue` on.
fn is_placed(application: &TraceApplication) -> bool {
    let TraceApplication { request, queue, priority, run_time, family, near, .. } = application;
    request.models != Models::ANY
        || *queue > 0
        || *priority != 0
        || run_time.is_some()
        || family.is_some()
        || near.is_some()
}
