//! One Worker as its Master sees it, with the executors and cluster drivers on it.

use std::collections::BTreeMap;

use firesteel_placement::advanced::words::duration;
use firesteel_protocol::ids::{AppId, ExecutorKey};
use firesteel_protocol::messages::{
    Departure, ExecutorView, MasterView, Usage, WorkerRemark, WorkerState, WorkerView, is_web_address,
};
use maud::{Markup, html};

use super::actions::Permit;
use super::{framed, mood_of_executor, mood_of_worker, named};
use crate::http::pages::log;
use crate::http::pages::parts::{ago, bar, fact, sentence, state};
use crate::http::pages::table::{Column, Shape, Table};
use crate::http::query::Query;
use crate::wording::application::{addresses, resources};
use crate::wording::usage;
use crate::wording::worker::state_in_words;

const PACE: u64 = 3000;

struct Row {
    app: AppId,
    name: String,
    executor: ExecutorView,
    usage: Option<Usage>,
}

const EXECUTORS: &[Column<Row>] = &[
    Column { name: "Application", shape: Shape::Words, order: Some(|one, other| one.name.cmp(&other.name)) },
    Column { name: "Executor", shape: Shape::Numbers, order: None },
    Column { name: "State", shape: Shape::Words, order: None },
    Column { name: "Logs", shape: Shape::Words, order: None },
    Column {
        name: "Cores",
        shape: Shape::Numbers,
        order: Some(|one, other| one.executor.cores.cmp(&other.executor.cores)),
    },
    Column {
        name: "Memory",
        shape: Shape::Numbers,
        order: Some(|one, other| one.executor.memory.cmp(&other.executor.memory)),
    },
    Column { name: "Resources", shape: Shape::Words, order: None },
    Column {
        name: "Runs for",
        shape: Shape::Numbers,
        order: Some(|one, other| other.executor.launched.cmp(&one.executor.launched)),
    },
    Column {
        name: "CPU",
        shape: Shape::Numbers,
        order: Some(|one, other| millicores(one).cmp(&millicores(other))),
    },
    Column { name: "RAM", shape: Shape::Numbers, order: Some(|one, other| memory(one).cmp(&memory(other))) },
];

fn millicores(row: &Row) -> Option<u64> {
    row.usage.map(|usage| usage.millicores)
}

fn memory(row: &Row) -> Option<u64> {
    row.usage.map(|usage| usage.memory)
}

pub(in super::super) fn document(view: &MasterView, query: &Query, permit: Permit<'_>) -> String {
    let asked = query.get("workerId").unwrap_or_default();
    match view.workers.iter().find(|worker| worker.id.as_str() == asked) {
        Some(worker) => {
            let parts = html! { (head(view, worker, permit)) (executors(view, worker, query)) };
            framed("../", asked, "", Some(query), PACE, &parts)
        }
        None => {
            let words = format!("No Worker has the id {asked}, or it was lost long ago.");
            framed("../", "Worker", "", None, 0, &sentence(&words))
        }
    }
}

fn head(view: &MasterView, worker: &WorkerView, permit: Permit<'_>) -> Markup {
    let drivers = view.drivers.iter().filter(|driver| {
        !driver.state.is_finished() && driver.worker.as_ref().is_some_and(|place| place.worker == worker.id)
    });
    let report = worker.report.as_ref().map(|timed| &timed.report);
    let address =
        report.and_then(|report| report.web_address.as_ref()).filter(|address| is_web_address(address));
    let [cpu, ram, disk] = usage::of_machine(report);
    html! {
        section #head {
            h1 { (worker.host) }
            p.under { span.id { (worker.id) } " · heartbeat " (ago(view.now, worker.last_heartbeat))
                @if let Some(address) = address { " · " a href=(address) { "the Worker's own page" } }
                (permit.decommission(worker))
            }
            dl.facts {
                (fact("State", &state(mood_of_worker(worker), &state_in_words(worker, view.now))))
                (fact("Cores", &html! { (worker.cores_used.0) " of " (worker.cores.0) " used" (bar(worker.cores_used.0, worker.cores.0)) }))
                (fact("Memory", &html! { (worker.memory_used) " of " (worker.memory) " used" (bar(worker.memory_used.0, worker.memory.0)) }))
                @let custom = resources(&worker.resources_used, &worker.resources);
                @if !custom.is_empty() { (fact("Resources", &html! { (custom) })) }
                @if report.is_some() {
                    (fact("Processors in use", &html! { (cpu) }))
                    (fact("RAM in use", &html! { (ram) }))
                    (fact("Disk in use", &html! { (disk) }))
                }
                @for driver in drivers { (fact("Cluster driver", &html! { (driver.id) " " (log::driver_links("../logPage/", &driver.id)) })) }
            }
            @if worker.state.is_gone() {
                p.note {
                    (if worker.state == WorkerState::Left { "The Worker has left" } else { "The Worker is lost" })
                    @if let Some(Departure { at, cause }) = worker.remark.as_ref().and_then(WorkerRemark::departure) {
                        ", since " time datetime=(at) { (at) } ": " (cause)
                    }
                    ". The logs of its executors and cluster drivers are on " (worker.host) " in its work directory. They can be read here again \
                        when a Worker with the same work directory runs there."
                }
            }
        }
    }
}

fn executors(view: &MasterView, worker: &WorkerView, query: &Query) -> Markup {
    let report = worker.report.as_ref().map(|timed| &timed.report);
    let executors = report.map(|report| report.executors.as_slice()).unwrap_or_default();
    let usages: BTreeMap<&ExecutorKey, Usage> = executors.iter().map(|(key, usage)| (key, *usage)).collect();
    let rows: Vec<Row> = view
        .applications
        .iter()
        .flat_map(|app| app.executors.iter().map(move |executor| (app, executor)))
        .filter(|(_, executor)| executor.worker == worker.id)
        .map(|(app, executor)| Row {
            app: app.id.clone(),
            name: app.name.clone(),
            usage: usages.get(&ExecutorKey { app: app.id.clone(), executor: executor.id }).copied(),
            executor: executor.clone(),
        })
        .collect();
    let text =
        |row: &Row| format!("{} {} {} {}", row.name, row.app, row.executor.id, row.executor.state.name());
    let (id, title, empty) = ("executors", "Executors", "No executor runs there.");
    let table = Table { id, title, empty, columns: EXECUTORS, text: &text };
    table.show(&table.cut(&rows, query), query, |Row { app, name, executor, usage }| {
        let [cpu, ram] = usage::of_processes(*usage);
        vec![
            named("../", name, app),
            html! { (executor.id) },
            state(mood_of_executor(&executor.state), executor.state.name()),
            log::links("../logPage/", app, executor.id),
            html! { (executor.cores.0) },
            html! { (executor.memory) },
            html! { (addresses(&executor.resources)) },
            html! { time datetime=(executor.launched) title=(executor.launched) { (duration(view.now.since(executor.launched))) } },
            html! { (cpu) },
            html! { (ram) },
        ]
    })
}
