//! Queries of the ledger, and its comparison with the Master's tables.

use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::messages::{MasterView, Outcome};

use super::Ledger;
use firesteel_sim::dice::Dice;

impl Ledger {
    /// The connection of a live application's driver.
    pub(crate) fn peer_of_app(&self, app: &AppId) -> Option<PeerId> {
        self.apps.get(app).and_then(|book| book.peer)
    }

    /// Whether this connection belongs to a different Worker.
    pub(crate) fn is_another(&self, peer: PeerId, worker: &WorkerId) -> bool {
        self.worker_of.get(&peer).is_some_and(|own| own != worker)
    }

    /// Whether this connection belongs to a living Worker.
    pub(crate) fn is_worker(&self, peer: PeerId) -> bool {
        self.worker_of.contains_key(&peer)
    }

    /// Whether this connection belongs to a live application's driver.
    pub(crate) fn is_driver(&self, peer: PeerId) -> bool {
        self.app_of.contains_key(&peer)
    }

    pub(crate) fn peer_of_worker(&self, worker: &WorkerId) -> Option<PeerId> {
        self.workers.get(worker).and_then(|book| book.peer)
    }

    /// A random executor that an application holds.
    pub(crate) fn some_executor(&self, app: &AppId, dice: &mut Dice) -> Option<ExecutorId> {
        let executors: Vec<ExecutorId> = self.apps.get(app)?.executors.keys().copied().collect();
        dice.index(executors.len()).map(|index| executors[index])
    }

    pub(crate) fn apps(&self) -> impl Iterator<Item = &AppId> {
        self.apps.keys()
    }

    pub(crate) fn workers(&self) -> impl Iterator<Item = &WorkerId> {
        self.workers.keys()
    }

    pub(crate) fn executors(&self) -> impl Iterator<Item = (&ExecutorKey, &WorkerId)> {
        self.workers.iter().flat_map(|(worker, book)| book.grants.keys().map(move |key| (key, worker)))
    }

    /// The youngest executor that the Worker of this connection holds.
    pub(crate) fn youngest_on(&self, peer: PeerId) -> Option<ExecutorKey> {
        let book = self.workers.get(self.worker_of.get(&peer)?)?;
        book.grants.keys().max_by_key(|key| key.executor).cloned()
    }

    pub(crate) fn holds(&self, key: &ExecutorKey) -> bool {
        self.apps.get(&key.app).is_some_and(|book| book.executors.contains_key(&key.executor))
    }

    /// Compares the Master's own tables with the books.
    ///
    /// # Errors
    /// The first difference, as text.
    pub(crate) fn compare(&self, view: &MasterView) -> Result<(), String> {
        let alive = view.workers.iter().filter(|worker| !worker.state.is_gone());
        let mut seen = 0;
        for worker in alive {
            let id = &worker.id;
            let Some(book) = self.workers.get(id) else {
                return Err(format!("the Master has Worker {id}, which is gone"));
            };
            seen += usize::from(!book.grants.is_empty());
            let (cores, memory) = book.used();
            if (cores, memory) != (worker.cores_used, worker.memory_used) {
                return Err(format!(
                    "the Master counts {} and {} as used on Worker {id}; its executors and drivers have {cores} and {memory}",
                    worker.cores_used, worker.memory_used
                ));
            }
        }
        let with_grants = self.workers.values().filter(|book| !book.grants.is_empty()).count();
        if seen != with_grants {
            return Err("the Master forgot a Worker that has executors".to_owned());
        }
        if view.applications.len() != self.apps.len() {
            let (theirs, ours) = (view.applications.len(), self.apps.len());
            return Err(format!("the Master has {theirs} live applications, there are {ours}"));
        }
        for app in &view.applications {
            let Some(book) = self.apps.get(&app.id) else {
                return Err(format!("the Master has application {}, which is over", app.id));
            };
            let theirs = app.executors.iter().filter(|executor| !executor.state.is_finished());
            let theirs = theirs.map(|executor| (executor.id, executor.worker.clone()));
            if !theirs.clone().eq(book.executors.iter().map(|(id, worker)| (*id, worker.clone()))) {
                let theirs: Vec<_> = theirs.collect();
                return Err(format!(
                    "the Master gives application {} the executors {theirs:?}, it has {:?}",
                    app.id, book.executors
                ));
            }
        }
        self.compare_drivers(view)?;
        let mut listed = view.applications.iter().chain(&view.completed);
        listed.try_for_each(|app| self.compare_outcome(&app.id, app.outcome.as_ref()))
    }

    /// An application that has ended, and whose driver reported an outcome.
    pub(crate) fn over(&self) -> Option<&AppId> {
        self.told.keys().rev().find(|app| !self.apps.contains_key(*app))
    }

    /// Compares an application's listed outcome with its driver's report.
    pub(super) fn compare_outcome(&self, app: &AppId, listed: Option<&Outcome>) -> Result<(), String> {
        let told = self.told.get(app);
        match listed == told {
            true => Ok(()),
            false => Err(format!("application {app} is listed with {listed:?}, its driver said {told:?}")),
        }
    }
}
