//! Files of applications: simulated fetches, and the files that Workers have.

use std::collections::BTreeMap;

use firesteel_protocol::Machine;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::ExecutorKey;
use firesteel_protocol::ids::{AppId, FetchId};
use firesteel_protocol::messages::{ApplicationFiles, FileDescription, FileKind, Sha256};
use firesteel_worker as worker;

use crate::cluster::faults::Fault;
use crate::cluster::processes::node::{Body, NodeEvent};
use crate::cluster::scheduled_event::ScheduledEvent;
use crate::cluster::world::{DriverPhase, NodeIndex, World};
use firesteel_sim::dice::Dice;

/// The files of applications on live Workers.
#[derive(Debug, Default)]
pub(crate) struct Fetches {
    table: BTreeMap<(NodeIndex, AppId), Fetch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fetch {
    UnderWay(FetchId),
    There,
}

impl Fetches {
    fn begin(&mut self, worker: NodeIndex, app: &AppId, fetch: FetchId) -> Result<(), String> {
        match self.table.insert((worker, app.clone()), Fetch::UnderWay(fetch)) {
            None => Ok(()),
            Some(_) => Err(format!("the files of {app} are fetched twice by one Worker")),
        }
    }

    /// Ends a fetch. Returns whether the Worker was still waiting for this fetch.
    fn end(&mut self, worker: NodeIndex, app: &AppId, fetch: FetchId, succeeds: bool) -> bool {
        let key = (worker, app.clone());
        let awaited = self.table.get(&key) == Some(&Fetch::UnderWay(fetch));
        if awaited && succeeds {
            self.table.insert(key, Fetch::There);
        } else if awaited {
            self.table.remove(&key);
        }
        awaited
    }

    /// Whether the files are complete, so that an executor can start on this Worker.
    fn are_there(&self, worker: NodeIndex, app: &AppId) -> bool {
        self.table.get(&(worker, app.clone())) == Some(&Fetch::There)
    }

    fn remove(&mut self, worker: NodeIndex, app: &AppId) -> Result<(), String> {
        match self.table.remove(&(worker, app.clone())) {
            Some(_) => Ok(()),
            None => Err(format!("the files of {app} are removed by a Worker that has none")),
        }
    }

    /// Forgets a Worker that has ended. The next Worker of the machine removes its files.
    pub(crate) fn forget(&mut self, worker: NodeIndex) {
        self.table.retain(|(node, _), _| *node != worker);
    }

    /// The files of some application on some Worker.
    pub(crate) fn any(&self) -> Option<(NodeIndex, &AppId)> {
        self.table.keys().next().map(|(worker, app)| (*worker, app))
    }
}

/// Random files of the application with this number.
pub(crate) fn rolled_files(dice: &mut Dice, number: u64) -> Option<ApplicationFiles> {
    let file = |file: u64| FileDescription {
        name: format!("file-{file}"),
        kind: FileKind::Plain,
        length: file * 1000,
        sha256: Sha256([0; 32]),
    };
    let count = if dice.one_in(3) { dice.between(1, 3) } else { 0 };
    let source = Address::new(format!("driver{number}"), 7100);
    (count > 0).then(|| ApplicationFiles { source, files: (0..count).map(file).collect(), secret: None })
}

/// The application of these files, as an index into the scenario's applications.
fn app_of(files: &ApplicationFiles) -> Option<usize> {
    files.source.host.strip_prefix("driver")?.parse().ok()
}

impl World {
    /// A Worker begins to fetch files. The fetch takes time and may fail.
    pub(crate) fn fetch_files(
        &mut self,
        worker: NodeIndex,
        fetch: FetchId,
        app: AppId,
        files: &ApplicationFiles,
    ) {
        let result = self.fetches.begin(worker, &app, fetch);
        self.hold(result);
        let Some(number) = app_of(files).filter(|number| *number < self.drivers.len()) else {
            return self.violate(format!("files of {app} are fetched from {}", files.source));
        };
        let mut millis = self.dice.between(1, 300);
        let mut fails = false;
        if self.is_rough() && self.dice.one_in(self.scenario.faults.executor) {
            if self.dice.one_in(2) {
                self.fault(Fault::SlowFetch);
                millis = self.dice.between(1_000, 60_000);
            } else {
                self.fault(Fault::FetchFails);
                fails = true;
            }
        }
        self.after(millis, ScheduledEvent::FetchEnd { node: worker, app, fetch, driver: number, fails });
    }

    /// Reports the result of a fetch to its Worker. If the Worker has stopped the fetch, the result still arrives in
    /// half of the cases.
    pub(crate) fn end_fetch(
        &mut self,
        worker: NodeIndex,
        app: AppId,
        fetch: FetchId,
        driver: usize,
        fails: bool,
    ) {
        if !self.node(worker).body.is_alive() {
            return;
        }
        let succeeds = !fails && matches!(self.drivers[driver], DriverPhase::Lives(_));
        let awaited = self.fetches.end(worker, &app, fetch, succeeds);
        if awaited || self.dice.one_in(2) {
            let event = match succeeds {
                true => worker::Event::FilesFetched { app, fetch },
                false => {
                    worker::Event::FilesFailed { app, fetch, error: "no answer from the driver".to_owned() }
                }
            };
            self.tell(worker, NodeEvent::Worker(event));
        }
    }

    /// A Worker removes files. Checks that no executor with these files is alive, unless the Worker itself ends.
    pub(crate) fn remove_files(&mut self, worker: NodeIndex, app: &AppId) {
        let result = self.fetches.remove(worker, app);
        self.hold(result);
        let Body::Worker(body) = &self.node(worker).body else { return };
        let is_over = body.machine.next_deadline().is_none();
        let view = body.machine.view();
        let user = view.executors.into_iter().find(|executor| executor.executor.app == *app);
        if let (Some(executor), false) = (user, is_over) {
            self.violate(format!("the files of {app} are removed under executor {}", executor.executor));
        }
    }

    /// Checks that the Worker has the application's files when an executor starts.
    pub(crate) fn check_files(&mut self, worker: NodeIndex, app: usize, key: &ExecutorKey, found: &[String]) {
        let expected = match &self.scenario.apps[app].description.files {
            None => Vec::new(),
            Some(files) => files.names(),
        };
        if *found != expected {
            self.violate(format!("executor {key} is started with the files {found:?}, not {expected:?}"));
        }
        if !expected.is_empty() && !self.fetches.are_there(worker, &key.app) {
            self.violate(format!("executor {key} is started before its files are there"));
        }
    }

    /// Whether a Worker is fetching files of this application.
    pub(crate) fn fetch_is_pending(&self, app: &AppId) -> bool {
        self.pending()
            .any(|scheduled_event| matches!(scheduled_event, ScheduledEvent::FetchEnd { app: fetched, .. } if fetched == app))
    }
}
