//! The fields of a Master's `/json/`, with Spark's names and values. Source: Spark JsonProtocol, 4.0.1.

use std::borrow::Cow;
use std::collections::BTreeMap;

use firesteel_placement::{Quantity, Resources};
use firesteel_protocol::messages::{
    ApplicationState, ApplicationView, ClusterTotals, DriverState, DriverView, MasterView, WorkerState,
    WorkerView,
};
use firesteel_spark::cluster_driver::SPARK;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Status;

/// The contents of `/json/`.
pub(super) struct MasterPage {
    url: String,
    workers: Vec<WorkerRow>,
    totals: ClusterTotals,
    resources: Vec<ResourceRows>,
    resources_used: Vec<ResourceRows>,
    active: Vec<ApplicationRow>,
    completed: Vec<ApplicationRow>,
    active_drivers: Vec<DriverRow>,
    completed_drivers: Vec<DriverRow>,
    status: Status,
}

/// Custom resources by name.
pub(in super::super) type ResourceRows = BTreeMap<String, ResourceRow>;

#[derive(serde::Serialize)]
pub(in super::super) struct ResourceRow {
    name: String,
    addresses: Vec<String>,
}

/// The amount of a custom resource that an executor needs.
#[derive(serde::Serialize)]
pub(in super::super) struct ResourceAmount {
    pub(in super::super) name: String,
    pub(in super::super) amount: Quantity,
}

#[derive(serde::Serialize)]
struct WorkerRow {
    id: String,
    host: String,
    port: u16,
    webuiaddress: String,
    cores: i64,
    coresused: i64,
    coresfree: i64,
    memory: i64,
    memoryused: i64,
    memoryfree: i64,
    resources: ResourceRows,
    resourcesused: ResourceRows,
    resourcesfree: ResourceRows,
    state: WorkerState,
    lastheartbeat: u64,
}

#[derive(serde::Serialize)]
struct ApplicationRow {
    id: String,
    starttime: u64,
    name: String,
    cores: i64,
    user: String,
    memoryperexecutor: i64,
    memoryperslave: i64,
    resourcesperexecutor: Vec<ResourceAmount>,
    resourcesperslave: Vec<ResourceAmount>,
    submitdate: String,
    state: ApplicationState,
    duration: u64,
}

/// A cluster driver. Firesteel's cluster drivers have no main class, so the program is shown instead.
#[derive(serde::Serialize)]
struct DriverRow {
    id: String,
    starttime: String,
    state: &'static str,
    cores: i64,
    memory: i64,
    resources: ResourceRows,
    submitdate: String,
    worker: String,
    mainclass: String,
}

/// The contents of `/json/clusterutilization`.
#[derive(serde::Serialize)]
pub(super) struct Utilization {
    #[serde(rename = "waitingDrivers")]
    waiting_drivers: u64,
    cores: i64,
    coresused: i64,
    coresutilization: i64,
    memory: i64,
    memoryused: i64,
    memoryutilization: i64,
}

/// The URL of an HTTP server in Spark's format, without a `/` at the end.
pub(in super::super) fn plain_address(url: Option<&str>) -> String {
    url.unwrap_or_default().trim_end_matches('/').to_owned()
}

/// Custom resources in Spark's format. A fraction of an address is written as `0@0.25`.
pub(in super::super) fn resource_rows(resources: &Resources) -> ResourceRows {
    let row = |(name, addresses): (&str, Vec<String>)| {
        (name.to_owned(), ResourceRow { name: name.to_owned(), addresses })
    };
    let rows = resources.words().map(|(name, words)| (name, words.map(Cow::into_owned).collect()));
    rows.map(row).collect()
}

/// The used or free part of a Worker's custom resources. As in Spark, all names are listed, even with nothing used or
/// free.
fn share_rows(all: &Resources, share: &Resources) -> ResourceRows {
    let mut rows = resource_rows(share);
    for (name, _) in all.iter() {
        let none = || ResourceRow { name: name.to_owned(), addresses: Vec::new() };
        rows.entry(name.to_owned()).or_insert_with(none);
    }
    rows
}

/// The state to show to monitors made for Spark. A Worker that has left is shown as `DECOMMISSIONED`, because no alarm
/// is needed.
fn spark_state(state: WorkerState) -> WorkerState {
    match state {
        WorkerState::Left => WorkerState::Decommissioned,
        state => state,
    }
}

impl MasterPage {
    pub(super) fn of(view: &MasterView, status: Status) -> Self {
        let alive = || view.workers.iter().filter(|worker| worker.state == WorkerState::Alive);
        let (ended, live): (Vec<_>, Vec<_>) =
            view.drivers.iter().partition(|driver| driver.state.is_finished());
        Self {
            url: view.url.clone(),
            workers: view.workers.iter().map(WorkerRow::of).collect(),
            totals: ClusterTotals::of(view),
            resources: alive().map(|worker| resource_rows(&worker.resources)).collect(),
            resources_used: alive()
                .map(|worker| share_rows(&worker.resources, &worker.resources_used))
                .collect(),
            active: view.applications.iter().map(|app| ApplicationRow::of(app, view)).collect(),
            completed: view.completed.iter().map(|app| ApplicationRow::of(app, view)).collect(),
            active_drivers: live.into_iter().map(DriverRow::of).collect(),
            completed_drivers: ended.into_iter().map(DriverRow::of).collect(),
            status,
        }
    }

    /// The page of a standby Master. The page is empty, like the page of a standby Master of Spark.
    pub(super) fn of_standby(url: &str) -> Self {
        Self::of(&MasterView::empty(url), Status::Standby)
    }

    pub(super) fn utilization(&self) -> Utilization {
        let ClusterTotals { cores, cores_used, memory, memory_used, .. } = self.totals;
        let [cores, cores_used, memory, memory_used] = [cores.0, cores_used.0, memory.0, memory_used.0];
        let submitted = DriverState::Submitted.name();
        let waiting = self.active_drivers.iter().filter(|driver| driver.state == submitted);
        let percent = |used: i64, all: i64| if all == 0 { 100 } else { used * 100 / all };
        Utilization {
            waiting_drivers: waiting.count() as u64,
            cores,
            coresused: cores_used,
            coresutilization: percent(cores_used, cores),
            memory,
            memoryused: memory_used,
            memoryutilization: percent(memory_used, memory),
        }
    }

    /// The page reduced to this field. As in Spark, an unknown field gives an empty text.
    pub(super) fn only<'a>(&'a self, field: &'a str) -> Only<'a> {
        Only { page: self, field }
    }

    /// Writes one field, or all fields. Returns whether a field was written.
    fn entries<M: SerializeMap>(&self, map: &mut M, field: Option<&str>) -> Result<bool, M::Error> {
        let mut found = false;
        macro_rules! entry {
            ($name:literal, $value:expr) => {
                if field.is_none_or(|field| field == $name) {
                    found = true;
                    map.serialize_entry($name, $value)?;
                }
            };
        }
        entry!("url", &self.url);
        entry!("workers", &self.workers);
        entry!("aliveworkers", &self.totals.workers);
        entry!("cores", &self.totals.cores.0);
        entry!("coresused", &self.totals.cores_used.0);
        entry!("memory", &self.totals.memory.0);
        entry!("memoryused", &self.totals.memory_used.0);
        entry!("resources", &self.resources);
        entry!("resourcesused", &self.resources_used);
        entry!("activeapps", &self.active);
        entry!("completedapps", &self.completed);
        entry!("activedrivers", &self.active_drivers);
        entry!("completeddrivers", &self.completed_drivers);
        entry!("status", self.status.name());
        Ok(found)
    }
}

impl Serialize for MasterPage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.entries(&mut map, None)?;
        map.end()
    }
}

pub(super) struct Only<'a> {
    page: &'a MasterPage,
    field: &'a str,
}

impl Serialize for Only<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.page.entries(&mut map, Some(self.field))? {
            map.serialize_entry(self.field, "")?;
        }
        map.end()
    }
}

impl WorkerRow {
    fn of(worker: &WorkerView) -> Self {
        let web_address = worker.report.as_ref().and_then(|timed| timed.report.web_address.as_deref());
        Self {
            id: worker.id.to_string(),
            host: worker.host.clone(),
            port: worker.port,
            webuiaddress: plain_address(web_address),
            cores: worker.cores.0,
            coresused: worker.cores_used.0,
            coresfree: worker.cores.0 - worker.cores_used.0,
            memory: worker.memory.0,
            memoryused: worker.memory_used.0,
            memoryfree: worker.memory.0 - worker.memory_used.0,
            resources: resource_rows(&worker.resources),
            resourcesused: share_rows(&worker.resources, &worker.resources_used),
            resourcesfree: share_rows(&worker.resources, &worker.resources.without(&worker.resources_used)),
            state: spark_state(worker.state),
            lastheartbeat: worker.last_heartbeat.millis(),
        }
    }
}

impl DriverRow {
    fn of(driver: &DriverView) -> Self {
        Self {
            id: driver.id.to_string(),
            starttime: driver.submitted.millis().to_string(),
            state: driver.state.name(),
            cores: driver.cores.0,
            memory: driver.memory.0,
            resources: resource_rows(&driver.has),
            submitdate: driver.submitted.java_date(),
            worker: driver.worker.as_ref().map_or("None".to_owned(), |place| place.worker.to_string()),
            // Its arguments may be secret.
            mainclass: main_class(&driver.command),
        }
    }
}

/// The program of a cluster driver. For Spark's cluster drivers: the main class.
fn main_class(command: &str) -> String {
    command.split_whitespace().find(|word| *word != SPARK).unwrap_or_default().to_owned()
}

impl ApplicationRow {
    fn of(app: &ApplicationView, view: &MasterView) -> Self {
        let until = app.ended.unwrap_or(view.now);
        let amounts = || {
            let needs = app.resources_per_executor.iter();
            needs
                .map(|(name, amount)| ResourceAmount { name: name.clone(), amount: amount.quantity() })
                .collect()
        };
        Self {
            id: app.id.to_string(),
            starttime: app.submitted.millis(),
            name: app.name.clone(),
            cores: app.cores_granted.0,
            user: app.user.clone(),
            memoryperexecutor: app.memory_per_executor.0,
            memoryperslave: app.memory_per_executor.0,
            resourcesperexecutor: amounts(),
            resourcesperslave: amounts(),
            submitdate: app.submitted.java_date(),
            state: app.state,
            duration: until.millis().saturating_sub(app.submitted.millis()),
        }
    }
}
