//! The table of applications.

use std::io::{self, Read, Write};
use std::time::Duration;

use firesteel_placement::{Amount, MiB};
use serde::Deserialize;

use super::table::{Table, TraceError, Wrong, rows, within};
use super::{Request, Trace, TraceApplication, most};

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
}

impl Row {
    fn application(&self) -> Result<TraceApplication, Wrong> {
        let executors = within("executors", self.executors, 1, most::EXECUTORS)?;
        let request = Request {
            milli_cores: thousandths(self.cores)?,
            memory: MiB(within("memory_mib", self.memory_mib, 0, most::MIB)?.cast_signed()),
            gpus: gpus(&self.gpus)?,
        };
        Ok(TraceApplication {
            arrival: Duration::from_secs(within("arrival_s", self.arrival_s, 0, most::SECONDS)?),
            executors,
            request,
            lifetime: Duration::from_secs(within("lifetime_s", self.lifetime_s, 0, most::SECONDS)?),
            gang: within("gang", self.gang.unwrap_or(0), 0, executors)?.max(1),
        })
    }
}

/// Whole GPUs, or a part of one.
fn gpus(text: &str) -> Result<Amount, Wrong> {
    let wanted = "a whole number of GPUs, or a part of one from 0.001 to 0.999";
    let wrong = || Wrong::Field { column: "gpus".to_owned(), found: text.to_owned(), wanted };
    let amount: Amount = text.parse().map_err(|_| wrong())?;
    within("gpus", amount.addresses(), 0, most::GPUS)?;
    Ok(amount)
}

/// Cores in thousandths: at least one, and at most what a Worker can have.
fn thousandths(cores: f64) -> Result<u64, Wrong> {
    let most = most::CORES as f64;
    if cores > 0.0 && cores <= most {
        return Ok(((cores * 1000.0).round() as u64).max(1));
    }
    let wanted = "a number of cores, more than 0 and 65536 at most";
    Err(Wrong::Field { column: "cores".to_owned(), found: cores.to_string(), wanted })
}

pub(super) fn read(input: impl Read) -> Result<Vec<TraceApplication>, TraceError> {
    let table = Table::Applications;
    let applications: Vec<_> = rows::<Row>(table, input)
        .map(|row| {
            let (line, row) = row?;
            row.application().map_err(|wrong| TraceError { table, line, wrong })
        })
        .collect::<Result<_, _>>()?;
    if applications.is_empty() {
        return Err(TraceError { table, line: 1, wrong: Wrong::Empty });
    }
    Ok(applications)
}

impl Trace {
    /// Writes the table of applications.
    ///
    /// # Errors
    /// Those of `output`.
    pub fn write_applications(&self, output: impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(output);
        table.write_record([
            "arrival_s",
            "executors",
            "cores",
            "memory_mib",
            "gpus",
            "lifetime_s",
            "gang",
        ])?;
        for application in &self.applications {
            let TraceApplication { arrival, executors, request, lifetime, gang } = application;
            table.write_record([
                arrival.as_secs().to_string(),
                executors.to_string(),
                (request.milli_cores as f64 / 1000.0).to_string(),
                request.memory.0.to_string(),
                request.gpus.to_string(),
                lifetime.as_secs().to_string(),
                if *gang > 1 { gang.to_string() } else { String::new() },
            ])?;
        }
        table.flush()
    }
}
