//! Read-only copies of a Master's tables.

use std::sync::Arc;

use firesteel_placement::Cores;
use firesteel_protocol::ids::{ExecutorId, ProfileId};
use firesteel_protocol::messages::{
    ApplicationState, ApplicationView, DriverView, ExecutorView, MasterView, StateCursor, StateHead,
    StatePage, StateRow, StateTotals, Step,
};
use firesteel_protocol::time::{Timestamp, millis};

use crate::Master;
use crate::tables::applications::application::{Application, DEFAULT_MEMORY};
use crate::tables::applications::table::AnyApplication;
use crate::tables::executors::record::ExecutorRecord;
use crate::tables::merged::merged;

impl Master {
    /// A copy of all tables, whatever their size.
    #[must_use]
    pub fn view(&self) -> MasterView {
        let StateHead { url, web_address, scheduling, reserved, lag_millis, totals: _, is_exposed } =
            self.head();
        MasterView {
            url,
            web_address,
            began: self.now,
            now: self.now,
            scheduling,
            reserved,
            lag_millis,
            workers: self.workers.views(&self.applications.excluded_for(), self.foreign_until()),
            applications: self.applications.queue().map(|app| self.view_of(app)).collect(),
            completed: self.applications.ended().iter().map(|(_, ended)| ended.view()).collect(),
            drivers: self.driver_views(0).map(|(_, view)| view).collect(),
            unread_executors: 0,
            is_exposed,
        }
    }

    /// When the executors and cluster drivers end that Workers run for another Master.
    fn foreign_until(&self) -> Timestamp {
        self.next_foreign_end().unwrap_or(self.now)
    }

    pub(crate) fn state_page(&self, from: &StateCursor) -> StatePage {
        let head = (*from == StateCursor::beginning()).then(|| self.head());
        StatePage::of(self.now, head, self.config.page, self.rows_from(from))
    }

    fn head(&self) -> StateHead {
        let (applications, completed, executors) = self.applications.totals();
        let [workers, applications, completed, drivers, executors] =
            [self.workers.len(), applications, completed, self.drivers.len(), executors]
                .map(|count| count as u64);
        let totals = StateTotals { workers, applications, completed, drivers, executors };
        StateHead {
            url: self.config.url.clone(),
            web_address: self.config.web_address.clone(),
            scheduling: self.config.scheduling(),
            reserved: self.reserved_rooms(),
            lag_millis: millis(self.lag.at(self.now)),
            totals,
            is_exposed: self.now < self.config.exposed_until,
        }
    }

    fn rows_from(&self, from: &StateCursor) -> impl Iterator<Item = Step> {
        let first = (0, ExecutorId(0));
        let (worker, application, driver, executor) = match from {
            StateCursor::Worker(id) => (Some(id), Some(0), Some(0), first),
            StateCursor::Application(number) => (None, Some(*number), Some(0), first),
            StateCursor::Driver(number) => (None, None, Some(*number), first),
            StateCursor::Executor { application, executor } => (None, None, None, (*application, *executor)),
        };
        let workers = worker
            .into_iter()
            .flat_map(|id| {
                self.workers.views_from(id, self.applications.excluded_for(), self.foreign_until())
            })
            .map(|view| StateRow::Worker(Box::new(view)));
        let applications = application.into_iter().flat_map(|number| self.applications.from(number));
        let applications = applications.map(|application| self.state_row(application));
        let drivers = driver.into_iter().flat_map(|number| self.driver_views(number));
        let drivers = drivers.map(|(number, view)| StateRow::Driver { number, view: Box::new(view) });
        let executors = self.executor_rows(executor);
        workers.chain(applications).chain(drivers).map(Step::Row).chain(executors)
    }

    /// Returns each cluster driver's number and a copy of its view, in ascending order, starting at `number`.
    fn driver_views(&self, number: u64) -> impl Iterator<Item = (u64, DriverView)> {
        self.drivers.from(number).map(|(number, driver)| match driver {
            Ok(live) => (number, self.view_of_driver(live)),
            Err(ended) => (number, ended.view.clone()),
        })
    }

    fn state_row(&self, application: AnyApplication<'_>) -> StateRow {
        let (number, view) = match application {
            AnyApplication::Live(app) => (app.sequence, self.row_of(app)),
            AnyApplication::Ended(ended) => (ended.sequence, ended.row.clone()),
        };
        StateRow::Application { number, view: Box::new(view) }
    }

    /// The live executors, beginning at this place. An application without executors is a step of its own, because
    /// there may be very many.
    fn executor_rows(&self, (first, executor): (u64, ExecutorId)) -> impl Iterator<Item = Step> {
        self.applications.live_from(first).flat_map(move |app| {
            let from = if app.sequence == first { executor } else { ExecutorId(0) };
            let application = app.sequence;
            let rows =
                self.live_executors(app, from).map(move |view| StateRow::Executor { application, view });
            let nothing =
                app.executors.is_empty().then_some(StateCursor::Executor { application, executor: from });
            nothing.into_iter().map(Step::Nothing).chain(rows.map(Step::Row))
        })
    }

    /// A copy of a live application with all its remembered executors.
    fn view_of(&self, app: &Application) -> ApplicationView {
        let executors = self.executors_from(app, ExecutorId(0)).collect();
        ApplicationView { executors, ..self.row_of(app) }
    }

    /// Returns copies of a live application's executors, live and ended, in ascending order, starting at this number.
    pub(crate) fn executors_from(
        &self,
        app: &Application,
        from: ExecutorId,
    ) -> impl Iterator<Item = ExecutorView> {
        let mut ended: Vec<&ExecutorRecord> = app.ended.iter().filter(|record| record.id >= from).collect();
        ended.sort_by_key(|record| record.id);
        let ended = ended.into_iter().map(|record| (record.id, record.view(&app.id)));
        merged(ended, self.live_executors(app, from).map(|view| (view.id, view)))
    }

    /// A copy of a live application without its executors.
    pub(crate) fn row_of(&self, app: &Application) -> ApplicationView {
        let profile = app.profiles.get(&ProfileId::DEFAULT);
        ApplicationView {
            id: app.id.clone(),
            name: app.description.name.clone(),
            user: app.description.user.clone(),
            state: if app.link.is_here() { app.state } else { ApplicationState::Unknown },
            end: None,
            outcome: None,
            submitted: app.submitted,
            ended: None,
            queue: self.config.queues.get(app.queue).map(|queue| queue.name.clone()),
            priority: app.description.priority,
            gang: app.description.gang,
            max_cores: (app.max_cores < Cores::UNLIMITED).then_some(app.max_cores),
            cores_granted: app.cores_granted,
            memory_per_executor: profile.map_or(DEFAULT_MEMORY, |profile| profile.memory),
            resources_per_executor: profile.map(|profile| profile.resources.clone()).unwrap_or_default(),
            run_time: app.run_time,
            executors_live: app.executors.len() as u64,
            executors_ended: app.ended.len() as u64 + app.forgotten,
            executors_forgotten: app.forgotten,
            away_since: app.link.away_since(),
            web_address: app.description.pages().map(str::to_owned),
            executors: Vec::new(),
        }
    }

    /// Copies of an application's live executors by number, from this number on.
    fn live_executors(&self, app: &Application, from: ExecutorId) -> impl Iterator<Item = ExecutorView> {
        app.executors.from(from).map(|(id, executor)| {
            let worker = &self.workers.row(executor.slot).description;
            executor.record(id, Arc::clone(worker)).view(&app.id)
        })
    }
}
