//! The page of a Worker: its resources, and its running and ended executors with their logs.

use std::collections::BTreeMap;

use firesteel_placement::Resources;
use firesteel_protocol::ids::{DriverId, ExecutorKey};
use firesteel_protocol::messages::{
    ExecutorReport, ExecutorState, RunningExecutor, Usage, WorkerReport, WorkerViewOfItself,
};
use maud::{Markup, html};

use super::plans::Plans;
use crate::http::pages::frame::{Frame, document};
use crate::http::pages::log;
use crate::http::pages::parts::{Severity, bar, fact, grouped, state};
use crate::http::pages::table::{Column, Shape, Table};
use crate::http::query::Query;
use crate::wording::EXPOSED_WORKER;
use crate::wording::application::addresses;
use crate::wording::usage;

const PACE: u64 = 2000;

const LINKS: [(&str, &str); 1] = [("", "Worker")];

const RUNNING: &[Column<Row>] = &[
    Column { name: "Application", shape: Shape::Words, order: Some(|one, other| one.name.cmp(&other.name)) },
    Column { name: "Executor", shape: Shape::Numbers, order: None },
    Column { name: "State", shape: Shape::Words, order: None },
    Column { name: "Logs", shape: Shape::Words, order: None },
    Column { name: "Cores", shape: Shape::Numbers, order: Some(|one, other| one.cores.cmp(&other.cores)) },
    Column { name: "Memory", shape: Shape::Numbers, order: Some(|one, other| one.memory.cmp(&other.memory)) },
    Column { name: "Resources", shape: Shape::Words, order: None },
    Column { name: "Process", shape: Shape::Numbers, order: None },
    Column { name: "CPU", shape: Shape::Numbers, order: None },
    Column { name: "RAM", shape: Shape::Numbers, order: None },
];

const ENDED: &[Column<Row>] = &[
    Column { name: "Application", shape: Shape::Words, order: Some(|one, other| one.name.cmp(&other.name)) },
    Column { name: "Executor", shape: Shape::Numbers, order: None },
    Column { name: "State", shape: Shape::Words, order: None },
    Column { name: "Logs", shape: Shape::Words, order: None },
];

struct Row {
    key: ExecutorKey,
    name: String,
    state: ExecutorState,
    cores: i64,
    memory: i64,
    resources: String,
    pid: Option<u32>,
    /// The usage of the executor's processes: cores and memory.
    usage: [String; 2],
}

impl Row {
    fn of_live(executor: &RunningExecutor, usage: Option<Usage>, plans: &Plans) -> Self {
        let plan = plans.get(&executor.executor);
        Self {
            key: executor.executor.clone(),
            name: plan.app_name,
            state: executor.state.clone(),
            cores: executor.cores.0,
            memory: executor.memory.0,
            resources: addresses(&plan.resources),
            pid: executor.pid,
            usage: usage::of_processes(usage),
        }
    }

    fn of_ended(report: &ExecutorReport, plans: &Plans) -> Self {
        let (key, state) = (report.executor.clone(), report.state.clone());
        let name = plans.get(&key).app_name;
        let (resources, usage) = (String::new(), usage::of_processes(None));
        Self { key, name, state, cores: 0, memory: 0, resources, pid: None, usage }
    }

    fn text(&self) -> String {
        format!("{} {} {} {}", self.name, self.key.app, self.key.executor, self.state)
    }
}

pub(super) struct WorkerPage<'a> {
    pub(super) view: &'a WorkerViewOfItself,
    pub(super) report: &'a WorkerReport,
    pub(super) plans: &'a Plans,
    pub(super) resources: &'a Resources,
    pub(super) query: &'a Query,
    /// Whether other machines can connect to the Worker without a secret.
    pub(super) is_exposed: bool,
}

pub(super) fn framed(base: &str, title: &str, filter: Option<&Query>, pace: u64, parts: &Markup) -> String {
    document(&Frame { base, title, daemon: "Firesteel Worker", links: &LINKS, here: "", filter, pace }, parts)
}

impl WorkerPage<'_> {
    pub(super) fn document(&self) -> String {
        let usages: BTreeMap<_, _> = self.report.executors.iter().map(|(key, usage)| (key, *usage)).collect();
        let of_live = |it: &RunningExecutor| Row::of_live(it, usages.get(&it.executor).copied(), self.plans);
        let live: Vec<Row> = self.view.executors.iter().map(of_live).collect();
        let ended: Vec<Row> = self.view.ended.iter().rev().map(|it| Row::of_ended(it, self.plans)).collect();
        let parts =
            html! { (self.head(live.len())) (self.live(&live)) (self.drivers()) (self.ended(&ended)) };
        framed("./", self.view.id.as_str(), Some(self.query), PACE, &parts)
    }

    fn head(&self, live: usize) -> Markup {
        let WorkerViewOfItself { id, master_url, cores, memory, .. } = self.view;
        let (cores_used, memory_used) = (self.view.cores_used(), self.view.memory_used());
        let [cpu, ram, disk] = usage::of_machine(Some(self.report));
        html! {
            section #head {
                h1 { (id) }
                p.under {
                    @match master_url {
                        Some(master) => {
                            "Registered with "
                            @match &self.report.master_web_address {
                                Some(page) => a href=(page) { (master) },
                                None => (master),
                            }
                            " " (state(Severity::Good, "registered"))
                        }
                        None => (state(Severity::Waits, "no Master has accepted this Worker")),
                    }
                    @if self.is_exposed { " · " (state(Severity::Bad, "open")) " " (EXPOSED_WORKER) }
                }
                dl.facts {
                    (fact("Cores", &html! { (cores_used.0) " of " (cores.0) " used" (bar(cores_used.0, cores.0)) }))
                    (fact("Memory", &html! { (memory_used) " of " (memory) " used" (bar(memory_used.0, memory.0)) }))
                    (fact("Executors", &html! { (grouped(live)) " live" }))
                    (fact("Processors in use", &html! { (cpu) }))
                    (fact("RAM in use", &html! { (ram) }))
                    (fact("Disk in use", &html! { (disk) }))
                    @if self.resources.iter().next().is_some() { (fact("Resources", &html! { (addresses(self.resources)) })) }
                }
            }
        }
    }

    fn live(&self, rows: &[Row]) -> Markup {
        let (id, title, empty) = ("executors", "Executors", "No executor runs here.");
        let table = Table { id, title, empty, columns: RUNNING, text: &Row::text };
        table.show(&table.cut(rows, self.query), self.query, |row| {
            let mood = if row.state == ExecutorState::Running { Severity::Good } else { Severity::Waits };
            vec![
                named(row),
                html! { (row.key.executor) },
                state(mood, row.state.name()),
                log::links("logPage/", &row.key.app, row.key.executor),
                html! { (row.cores) },
                html! { (firesteel_placement::MiB(row.memory)) },
                html! { (row.resources) },
                html! { @if let Some(pid) = row.pid { (pid) } },
                html! { (row.usage[0]) },
                html! { (row.usage[1]) },
            ]
        })
    }

    fn ended(&self, rows: &[Row]) -> Markup {
        let (id, title, empty) = ("ended", "Executors that have ended", "None has ended here.");
        let table = Table { id, title, empty, columns: ENDED, text: &Row::text };
        table.show(&table.cut(rows, self.query), self.query, |row| {
            let failed = row.state.exit_status().is_none_or(|status| status.shell_code() != 0);
            let killed = matches!(row.state, ExecutorState::Killed(_));
            vec![
                named(row),
                html! { (row.key.executor) },
                state(if failed && !killed { Severity::Bad } else { Severity::Over }, &row.state.to_string()),
                log::links("logPage/", &row.key.app, row.key.executor),
            ]
        })
    }

    fn drivers(&self) -> Markup {
        let live = |id: &DriverId| self.view.drivers.iter().any(|driver| driver.driver == *id);
        let ended: Vec<&DriverId> = self.plans.drivers().filter(|id| !live(id)).collect();
        html! {
            @if !self.view.drivers.is_empty() {
                section #drivers {
                    h2 { "Cluster drivers " span.count { (grouped(self.view.drivers.len())) } }
                    ul { @for driver in &self.view.drivers {
                        li { span.id { (driver.driver) } ": " (driver.cores.0) " cores, " (driver.memory)
                            @if driver.starts > 1 { ", started " (driver.starts) " times" }
                            " " (log::driver_links("logPage/", &driver.driver)) }
                    } }
                }
            }
            @if !ended.is_empty() {
                section #ended-drivers {
                    h2 { "Cluster drivers that have ended " span.count { (grouped(ended.len())) } }
                    ul { @for driver in ended {
                        li { span.id { (driver) } " " (log::driver_links("logPage/", driver)) }
                    } }
                }
            }
        }
    }
}

fn named(row: &Row) -> Markup {
    html! { @if row.name.trim().is_empty() { (row.key.app) } @else { (row.name) " " span.also { (row.key.app) } } }
}
