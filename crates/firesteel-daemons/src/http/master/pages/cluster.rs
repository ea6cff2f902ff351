//! The page of the cluster: Workers, waiting applications with the reasons, running applications, cluster drivers, and
//! ended applications and cluster drivers.

use firesteel_placement::advanced::words::{counted, duration};
use firesteel_placement::{Cores, Quantity};
use firesteel_protocol::ids::AppId;
use firesteel_protocol::messages::{
    ApplicationView, ClusterTotals, DriverState, DriverView, MasterView, Outcome, WorkerState, WorkerView,
};
use maud::{Markup, html};

use super::super::Status;
use super::actions::Permit;
use super::reasons::Reasons;
use super::{framed, mood_of_application, mood_of_worker, named, worker_link};
use crate::http::pages::log;
use crate::http::pages::parts::{Severity, ago, bar, fact, grouped, memory as memory_of, state};
use crate::http::pages::table::{Column, Shape, Table};
use crate::http::query::Query;
use crate::wording::EXPOSED;
use crate::wording::application::{addresses, cores, live_state, resources, state as state_name};
use crate::wording::driver::driver_state;
use crate::wording::usage;
use crate::wording::worker::state_in_words;

const PACE: u64 = 2000;

pub(in super::super) struct ClusterPage<'a> {
    pub(in super::super) view: &'a MasterView,
    pub(in super::super) query: &'a Query,
    pub(in super::super) reasons: &'a Reasons,
    /// The operator's title for the page.
    pub(in super::super) title: Option<&'a str>,
    pub(in super::super) history: Option<&'a str>,
    pub(in super::super) permit: Permit<'a>,
}

type App = ApplicationView;

const WAITING: &[Column<App>] = &[
    Column { name: "Application", shape: Shape::Words, order: Some(|one, other| one.name.cmp(&other.name)) },
    Column { name: "Why it waits", shape: Shape::Sentences, order: None },
    Column { name: "User", shape: Shape::Words, order: Some(|one, other| one.user.cmp(&other.user)) },
    Column { name: "State", shape: Shape::Words, order: None },
    Column { name: "Asks for", shape: Shape::Words, order: None },
    Column {
        name: "Waits for",
        shape: Shape::Numbers,
        order: Some(|one, other| other.submitted.cmp(&one.submitted)),
    },
];

const RUNNING: &[Column<App>] = &[
    Column { name: "Application", shape: Shape::Words, order: Some(|one, other| one.name.cmp(&other.name)) },
    Column { name: "User", shape: Shape::Words, order: Some(|one, other| one.user.cmp(&other.user)) },
    Column { name: "State", shape: Shape::Words, order: None },
    Column {
        name: "Cores",
        shape: Shape::Numbers,
        order: Some(|one, other| one.cores_granted.cmp(&other.cores_granted)),
    },
    Column {
        name: "Executors",
        shape: Shape::Numbers,
        order: Some(|one, other| one.executors_live.cmp(&other.executors_live)),
    },
    Column {
        name: "Memory each",
        shape: Shape::Numbers,
        order: Some(|one, other| one.memory_per_executor.cmp(&other.memory_per_executor)),
    },
    Column {
        name: "Runs for",
        shape: Shape::Numbers,
        order: Some(|one, other| other.submitted.cmp(&one.submitted)),
    },
    Column { name: "Why it has no more", shape: Shape::Sentences, order: None },
];

const COMPLETED: &[Column<App>] = &[
    Column { name: "Application", shape: Shape::Words, order: Some(|one, other| one.name.cmp(&other.name)) },
    Column { name: "User", shape: Shape::Words, order: Some(|one, other| one.user.cmp(&other.user)) },
    Column { name: "State", shape: Shape::Words, order: None },
    Column {
        name: "Executors",
        shape: Shape::Numbers,
        order: Some(|one, other| one.executors_ended.cmp(&other.executors_ended)),
    },
    Column { name: "Took", shape: Shape::Numbers, order: Some(|one, other| took(one).cmp(&took(other))) },
    Column { name: "Ended", shape: Shape::Numbers, order: Some(|one, other| one.ended.cmp(&other.ended)) },
    Column { name: "How it ended", shape: Shape::Sentences, order: None },
];

const WORKERS: &[Column<WorkerView>] = &[
    Column { name: "Worker", shape: Shape::Words, order: Some(|one, other| one.id.cmp(&other.id)) },
    Column {
        name: "State",
        shape: Shape::Words,
        order: Some(|one, other| (one.state as u8).cmp(&(other.state as u8))),
    },
    Column {
        name: "Cores used",
        shape: Shape::Numbers,
        order: Some(|one, other| one.cores_used.cmp(&other.cores_used)),
    },
    Column {
        name: "Cores free",
        shape: Shape::Numbers,
        order: Some(|one, other| one.share().cores_free().cmp(&other.share().cores_free())),
    },
    Column {
        name: "Memory used",
        shape: Shape::Numbers,
        order: Some(|one, other| one.memory_used.cmp(&other.memory_used)),
    },
    Column { name: "Resources", shape: Shape::Words, order: None },
    Column {
        name: "Heartbeat",
        shape: Shape::Numbers,
        order: Some(|one, other| one.last_heartbeat.cmp(&other.last_heartbeat)),
    },
    Column { name: "CPU", shape: Shape::Numbers, order: None },
    Column { name: "RAM", shape: Shape::Numbers, order: None },
    Column { name: "Disk", shape: Shape::Numbers, order: None },
];

const DRIVERS: &[Column<DriverView>] = &[
    Column { name: "Driver", shape: Shape::Words, order: None },
    Column { name: "User", shape: Shape::Words, order: Some(|one, other| one.user.cmp(&other.user)) },
    Column { name: "State", shape: Shape::Words, order: None },
    Column { name: "Logs", shape: Shape::Words, order: None },
    Column { name: "Program", shape: Shape::Words, order: None },
    Column { name: "Cores", shape: Shape::Numbers, order: Some(|one, other| one.cores.cmp(&other.cores)) },
    Column { name: "Memory", shape: Shape::Numbers, order: Some(|one, other| one.memory.cmp(&other.memory)) },
    Column { name: "Worker", shape: Shape::Words, order: None },
    Column {
        name: "Submitted",
        shape: Shape::Numbers,
        order: Some(|one, other| one.submitted.cmp(&other.submitted)),
    },
];

fn took(app: &App) -> std::time::Duration {
    app.ended.unwrap_or(app.submitted).since(app.submitted)
}

/// Whether the application has no executor now. It may have had executors before.
fn waits(app: &App) -> bool {
    app.executors_live == 0
}

/// Whether the view alone shows that the application has everything that it asks for.
fn has_all(app: &App) -> bool {
    app.max_cores.is_some_and(|most| app.cores_granted >= most)
}

impl ClusterPage<'_> {
    /// The applications on the page that need a reason.
    pub(in super::super) fn wanted(&self) -> Vec<AppId> {
        let (waiting, running) = self.live();
        let text = |app: &App| self.text(app);
        let rows = self.waiting(&text).cut(&waiting, self.query).rows;
        let also = self.running(&text).cut(&running, self.query).rows;
        rows.into_iter()
            .chain(also.into_iter().filter(|app| !has_all(app)))
            .map(|app| app.id.clone())
            .collect()
    }

    fn live(&self) -> (Vec<App>, Vec<App>) {
        self.view.applications.iter().cloned().partition(waits)
    }

    fn text(&self, app: &App) -> String {
        let why = self.reasons.of(&app.id);
        let state = state_name(app.state);
        let queue = app.queue.as_deref().unwrap_or_default();
        let why = why.as_deref().or(app.end.as_deref()).unwrap_or_default();
        format!("{} {} {} {state} {queue} {why}", app.name, app.id, app.user)
    }

    fn waiting<'t>(&self, text: &'t dyn Fn(&App) -> String) -> Table<'t, App> {
        Table {
            id: "waiting",
            title: "Applications waiting",
            empty: "No application waits.",
            columns: WAITING,
            text,
        }
    }

    fn running<'t>(&self, text: &'t dyn Fn(&App) -> String) -> Table<'t, App> {
        Table {
            id: "running",
            title: "Applications running",
            empty: "No application runs.",
            columns: RUNNING,
            text,
        }
    }

    /// The totals in the words of Spark's Master, which monitors look for.
    fn summary(&self) -> Markup {
        let view = self.view;
        let ClusterTotals { workers, cores, cores_used, memory, memory_used, .. } = ClusterTotals::of(view);
        let ended = view.drivers.iter().filter(|driver| driver.state.is_finished()).count();
        html! {
            section #summary {
                p.under {
                    "Spark Master at " (view.url) " · Alive Workers: " (workers) " · Cores in use: " (cores.0) " Total, " (cores_used.0)
                    " Used · Memory in use: " (memory_of(memory)) " Total, " (memory_of(memory_used)) " Used · Applications: "
                    (view.applications.len()) " Running, " (view.completed.len()) " Completed · Drivers: "
                    (view.drivers.len() - ended) " Running, " (ended) " Completed · Status: " (Status::of(view).name())
                }
            }
        }
    }

    pub(in super::super) fn document(&self) -> String {
        let title = self.title.unwrap_or("Cluster");
        let (waiting, running) = self.live();
        let parts = html! {
            (self.head(title, &waiting, &running))
            (self.waiting_table(&waiting))
            (self.running_table(&running))
            (self.drivers(true))
            (self.workers())
            (self.completed())
            (self.drivers(false))
            (self.summary())
        };
        framed("./", title, "", Some(self.query), PACE, &parts)
    }

    fn head(&self, title: &str, waiting: &[App], running: &[App]) -> Markup {
        let MasterView { workers, drivers, .. } = self.view;
        let totals = ClusterTotals::of(self.view);
        let count = |state| workers.iter().filter(|worker| worker.state == state).count();
        let others = [
            (WorkerState::Decommissioned, "decommissioned"),
            (WorkerState::Unknown, "away"),
            (WorkerState::Dead, "dead"),
            (WorkerState::Left, "left"),
        ];
        let others: Vec<String> = others
            .into_iter()
            .filter(|(state, _)| count(*state) > 0)
            .map(|(state, name)| format!("{} {name}", grouped(count(state))))
            .collect();
        let ClusterTotals { cores: all, cores_used: used, memory, memory_used, .. } = totals;
        let live_drivers = drivers.iter().filter(|driver| !driver.state.is_finished()).count();
        let status = Status::of(self.view);
        let mood = if status == Status::Alive { Severity::Good } else { Severity::Waits };
        let behind = std::time::Duration::from_millis(self.view.lag_millis);
        html! {
            section #head {
                h1 { (title) }
                p.under { (self.view.url) " " (state(mood, &status.name().to_lowercase()))
                    @if behind.as_secs() > 0 { " · " (duration(behind)) " behind: messages wait before it handles them" }
                    @if self.view.is_exposed { " · " (state(Severity::Bad, "open")) " " (EXPOSED) }
                    @if let Some(history) = self.history { " · " a href=(history) { "Spark's history server" } }
                }
                dl.facts {
                    (fact("Workers", &html! { (grouped(totals.workers)) " alive" small { @for other in &others { " " span.whole { (other) } } } }))
                    (fact("Cores", &html! { (grouped(used.0)) " of " (grouped(all.0)) " used" (bar(used.0, all.0)) }))
                    (fact("Memory", &html! { (memory_of(memory_used)) " of " (memory_of(memory)) " used" (bar(memory_used.0, memory.0)) }))
                    (fact("Applications", &html! { (grouped(running.len())) " running, " (grouped(waiting.len())) " waiting" }))
                    @if !drivers.is_empty() { (fact("Cluster drivers", &html! { (grouped(live_drivers)) " live" })) }
                    @for (name, used, all) in self.resources() {
                        (fact(&name, &html! { (amount(used)) " of " (amount(all)) " used" (bar(thousandths(used), thousandths(all))) }))
                    }
                }
            }
        }
    }

    /// The custom resources of all living Workers: name, used amount, total amount.
    fn resources(&self) -> Vec<(String, Quantity, Quantity)> {
        let mut all = std::collections::BTreeMap::<&str, (Quantity, Quantity)>::new();
        for worker in self.view.workers.iter().filter(|worker| worker.state == WorkerState::Alive) {
            for (name, _) in worker.resources.iter() {
                let entry = all.entry(name).or_default();
                entry.0 += worker.resources_used.quantity_of(name);
                entry.1 += worker.resources.quantity_of(name);
            }
        }
        all.into_iter().map(|(name, (used, all))| (name.to_owned(), used, all)).collect()
    }

    fn why(&self, app: &App) -> Markup {
        html! { @if let Some(words) = self.reasons.of(&app.id) { (words) } }
    }

    fn waiting_table(&self, rows: &[App]) -> Markup {
        let text = |app: &App| self.text(app);
        let table = self.waiting(&text);
        let now = self.view.now;
        table.show(&table.cut(rows, self.query), self.query, |app| {
            let queue = app.queue.as_ref().map(|queue| format!("queue {queue}"));
            let gang = (app.gang > 1).then(|| format!("{} at once", counted(app.gang, "executor")));
            let asks = app.max_cores.filter(|most| *most < Cores::UNLIMITED);
            let asks = asks.map_or("all cores it can get".to_owned(), |most| counted(most.0, "core"));
            let more: Vec<String> = [Some(asks), gang, queue].into_iter().flatten().collect();
            vec![
                html! { (named("./", &app.name, &app.id)) (self.permit.kill_application(&app.id)) },
                self.why(app),
                html! { (app.user) },
                state(mood_of_application(app), &live_state(app, self.view.now)),
                html! { (more.join(", ")) " · " (app.memory_per_executor) " each" },
                html! { time datetime=(app.submitted) title=(app.submitted) { (duration(now.since(app.submitted))) } },
            ]
        })
    }

    fn running_table(&self, rows: &[App]) -> Markup {
        let text = |app: &App| self.text(app);
        let table = self.running(&text);
        let now = self.view.now;
        table.show(&table.cut(rows, self.query), self.query, |app| {
            vec![
                html! { (named("./", &app.name, &app.id)) (self.permit.kill_application(&app.id)) },
                html! { (app.user) },
                state(mood_of_application(app), &live_state(app, self.view.now)),
                html! { (cores(app)) },
                html! { (grouped(app.executors_live)) },
                html! { (app.memory_per_executor) },
                html! { time datetime=(app.submitted) title=(app.submitted) { (duration(now.since(app.submitted))) } },
                self.why(app),
            ]
        })
    }

    fn workers(&self) -> Markup {
        let now = self.view.now;
        let text =
            |worker: &WorkerView| format!("{} {} {}", worker.id, worker.host, state_in_words(worker, now));
        let title = "Workers";
        let table =
            Table { id: "workers", title, empty: "No Worker is registered.", columns: WORKERS, text: &text };
        table.show(&table.cut(&self.view.workers, self.query), self.query, |worker| {
            let free = worker.share().cores_free();
            let [cpu, ram, disk] = usage::of_machine(worker.report.as_ref().map(|timed| &timed.report));
            vec![
                html! { a.id href=(worker_link("./", &worker.id)) { (worker.id) } (self.permit.decommission(worker)) },
                state(mood_of_worker(worker), &state_in_words(worker, now)),
                html! { span { (worker.cores_used.0) " of " (worker.cores.0) } (bar(worker.cores_used.0, worker.cores.0)) },
                html! { (free.0) },
                html! { span { (worker.memory_used) " of " (worker.memory) } (bar(worker.memory_used.0, worker.memory.0)) },
                html! { (resources(&worker.resources_used, &worker.resources)) },
                ago(now, worker.last_heartbeat),
                html! { (cpu) },
                html! { (ram) },
                html! { (disk) },
            ]
        })
    }

    fn completed(&self) -> Markup {
        let now = self.view.now;
        let rows: Vec<App> = self.view.completed.iter().rev().cloned().collect();
        let text = |app: &App| self.text(app);
        let title = "Applications that have ended";
        let table =
            Table { id: "completed", title, empty: "None has ended.", columns: COMPLETED, text: &text };
        table.show(&table.cut(&rows, self.query), self.query, |app| {
            let outcome = app.outcome.as_ref().map(Outcome::to_string);
            let how = app.end.clone().or(outcome).unwrap_or_default();
            vec![
                named("./", &app.name, &app.id),
                html! { (app.user) },
                state(mood_of_application(app), state_name(app.state)),
                html! { (grouped(app.executors_ended)) },
                html! { (duration(took(app))) },
                ago(now, app.ended.unwrap_or(app.submitted)),
                html! { (how) },
            ]
        })
    }

    /// A table of the live cluster drivers, or of the ended ones. Empty if no cluster driver is to be listed.
    fn drivers(&self, live: bool) -> Markup {
        let now = self.view.now;
        let all = self.view.drivers.iter().rev();
        let rows: Vec<DriverView> =
            all.filter(|driver| driver.state.is_finished() != live).cloned().collect();
        if rows.is_empty() {
            return html! {};
        }
        let program =
            |driver: &DriverView| driver.command.split_whitespace().next().unwrap_or_default().to_owned();
        let text = |driver: &DriverView| {
            let (state, name) = (driver.state.name(), driver.name.as_deref().unwrap_or_default());
            format!("{} {} {state} {name} {}", driver.id, driver.user, program(driver))
        };
        let has = |driver: &DriverView| (!driver.has.is_empty()).then(|| addresses(&driver.has));
        let mood = |driver: &DriverView| match driver.restarts {
            // It fails again and again.
            Some(restarts) if restarts.until.is_some() => Severity::Bad,
            _ => mood_of_driver(&driver.state),
        };
        let (id, title) = match live {
            true => ("drivers", "Cluster drivers"),
            false => ("ended", "Cluster drivers that have ended"),
        };
        let table = Table { id, title, empty: "", columns: DRIVERS, text: &text };
        table.show(&table.cut(&rows, self.query), self.query, |driver| {
            vec![
                html! { span.id { (driver.id) } @if live { (self.permit.kill_driver(&driver.id)) } },
                html! { (driver.user) },
                state(mood(driver), &driver_state(driver, now)),
                html! { @if driver.worker.is_some() { (log::driver_links("logPage/", &driver.id)) } },
                html! { @if let Some(name) = &driver.name { (name) ": " } (program(driver)) },
                html! { (driver.cores.0) },
                html! { (driver.memory) @if let Some(has) = has(driver) { ", " (has) } },
                html! { @if let Some(place) = &driver.worker { a.id href=(worker_link("./", &place.worker)) { (place.worker) } } },
                ago(now, driver.submitted),
            ]
        })
    }
}

fn mood_of_driver(state: &DriverState) -> Severity {
    match (state.name(), state.is_finished()) {
        ("RUNNING", _) => Severity::Good,
        ("FINISHED" | "KILLED", _) => Severity::Over,
        (_, true) => Severity::Bad,
        (_, false) => Severity::Waits,
    }
}

/// A quantity of addresses, as text.
fn amount(quantity: Quantity) -> String {
    let all = thousandths(quantity);
    if all % 1000 == 0 { grouped(all / 1000) } else { quantity.to_string() }
}

fn thousandths(quantity: Quantity) -> i64 {
    i64::try_from(quantity.thousandths()).unwrap_or(i64::MAX)
}

#[cfg(test)]
pub(in super::super) mod tests {
    use super::*;

    pub(in super::super::super) fn cores_free(view: &MasterView) -> i64 {
        let (query, reasons) = (Query::default(), Reasons::default());
        let permit = Permit { base: "./", token: None };
        let page = ClusterPage { view, query: &query, reasons: &reasons, title: None, history: None, permit };
        let table = page.workers().into_string();
        let cells = table.split("data-name=\"Cores free\">").skip(1).map(|cell| {
            let text = cell.split_once('<').expect("the cell ends").0;
            text.parse::<i64>().unwrap_or_else(|error| panic!("{error}: {text}"))
        });
        assert_eq!(cells.clone().count(), view.workers.len());
        cells.sum()
    }
}
