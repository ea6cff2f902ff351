//! Makes a draft from the entries of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use firesteel_placement::advanced::resources::without_kind;
use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{Offered, WorkerDescription, WorkerView};

use super::entries::{DraftFile, WorkerEntry};
use super::fault::{Fault, FileError};
use super::names::expanded;
use super::{LONGEST_NAME, MOST_APPLICATIONS, MOST_EXECUTORS, MOST_WORKERS};
use crate::draft::Draft;

pub(super) struct DraftBuilder<'a> {
    text: &'a str,
    /// The amounts that each Worker has left for running executors.
    pub(super) free: BTreeMap<WorkerId, (Cores, MiB, Resources)>,
    /// The number of digits in generated Worker names.
    digits: usize,
    /// How many Workers without a name were added so far.
    nameless: u64,
    pub(super) draft: Draft,
}

impl<'a> DraftBuilder<'a> {
    /// Begins with the draft `draft`. `text` is the file, and `digits` the number of digits in generated names.
    pub(super) fn new(text: &'a str, digits: usize, draft: Draft) -> Self {
        Self { text, free: BTreeMap::new(), digits, nameless: 0, draft }
    }

    /// Adds all entries of the file.
    pub(super) fn build(mut self, file: DraftFile) -> Result<Draft, FileError> {
        if file.workers.is_empty() {
            return Err(FileError { line: 1, field: "workers".to_owned(), fault: Fault::NoWorkers });
        }
        let (mut workers, mut cores, mut addresses) = (0_u64, 0_u64, 0_u64);
        for (index, worker) in file.workers.into_iter().enumerate() {
            let (at, field) = (worker.span(), format!("workers[{index}]"));
            let worker = worker.into_inner();
            let count = worker.count.map_or(1, |count| count.0) as u64;
            workers += count;
            cores = cores.saturating_add(count.saturating_mul(worker.cores.0 as u64));
            self.bound(&at, &format!("{field}.count"), "Workers", workers, MOST_WORKERS)?;
            self.bound(&at, &format!("{field}.cores"), "cores of Workers", cores, MOST_EXECUTORS)?;
            let each: u64 = worker.resources.values().map(|amount| amount.0 as u64).sum();
            addresses = addresses.saturating_add(count.saturating_mul(each));
            let what = "addresses of Workers";
            self.bound(&at, &format!("{field}.resources"), what, addresses, MOST_EXECUTORS)?;
            self.named(&at, &format!("{field}.name"), worker.name.as_deref())?;
            self.named(&at, &format!("{field}.host"), worker.host.as_deref())?;
            self.workers(&worker, count, &at, &field)?;
        }
        let mut names = BTreeSet::new();
        let mut applications = 0;
        for (index, application) in file.applications.into_iter().enumerate() {
            let (at, field) = (application.span(), format!("applications[{index}]"));
            let application = application.into_inner();
            let count = application.count.map_or(1, |count| count.0) as u64;
            applications += count;
            self.bound(&at, &format!("{field}.count"), "applications", applications, MOST_APPLICATIONS)?;
            self.named(&at, &format!("{field}.name"), application.name.as_deref())?;
            let pattern =
                application.name.as_deref().map_or_else(|| format!("app-{}", index + 1), str::to_owned);
            for name in expanded(&pattern, count) {
                if !names.insert(name.clone()) {
                    return Err(self.error(&at, &format!("{field}.name"), Fault::NameTwice { name }));
                }
                let application = self.application(name, &application, &at, &field)?;
                self.draft.applications.push(application);
            }
        }
        Ok(self.draft)
    }

    fn workers(
        &mut self,
        entry: &WorkerEntry,
        count: u64,
        at: &Range<usize>,
        field: &str,
    ) -> Result<(), FileError> {
        let ids: Vec<String> = match &entry.name {
            Some(pattern) => expanded(pattern, count),
            None => {
                let (first, digits) = (self.nameless + 1, self.digits);
                self.nameless += count;
                (first..first + count).map(|number| format!("worker-{number:0digits$}")).collect()
            }
        };
        let hosts = entry.host.as_deref().map_or_else(|| ids.clone(), |host| expanded(host, count));
        let (cores, memory) = (Cores(entry.cores.0), entry.memory.0);
        let resources = addresses(entry);
        for (name, host) in ids.into_iter().zip(hosts) {
            let id = WorkerId::new(name.as_str());
            if self.free.insert(id.clone(), (cores, memory, resources.clone())).is_some() {
                return Err(self.error(at, &format!("{field}.name"), Fault::NameTwice { name }));
            }
            // Each Worker on a host has its own port, as long as there are ports.
            let port = (self.draft.workers.len() % usize::from(u16::MAX)) as u16;
            let offered = Offered { cores, memory, resources: resources.clone() };
            let description = WorkerDescription::new(id, Address::new(host, port), offered, "");
            self.draft.workers.push(WorkerView::unused(&description, self.draft.now));
        }
        Ok(())
    }

    /// Returns an error if a name is empty or too long.
    fn named(&self, at: &Range<usize>, field: &str, name: Option<&str>) -> Result<(), FileError> {
        match name.map(str::len) {
            None | Some(1..=LONGEST_NAME) => Ok(()),
            Some(length) => Err(self.error(at, field, Fault::Name { length })),
        }
    }

    fn bound(
        &self,
        at: &Range<usize>,
        field: &str,
        what: &'static str,
        found: u64,
        most: u64,
    ) -> Result<(), FileError> {
        match found > most {
            true => Err(self.error(at, field, Fault::TooMany { what, found, most })),
            false => Ok(()),
        }
    }

    pub(super) fn error(&self, at: &Range<usize>, field: &str, fault: Fault) -> FileError {
        FileError { line: line_of(self.text, at.start), field: field.to_owned(), fault }
    }
}

/// The addresses of a Worker. The addresses of one resource are numbered from 0, across all kinds of the resource.
fn addresses(entry: &WorkerEntry) -> Resources {
    let mut next: BTreeMap<&str, i64> = BTreeMap::new();
    let numbered = entry.resources.iter().map(|(name, amount)| {
        let next = next.entry(without_kind(name)).or_default();
        let first = *next;
        *next += amount.0;
        (name.clone(), (first..*next).map(|address| address.to_string()).collect::<Vec<_>>())
    });
    numbered.collect()
}

/// The number of the line at this offset, counted from 1.
pub(super) fn line_of(text: &str, at: usize) -> u64 {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() as u64 + 1
}
