//! The page of one application: what it asked for, what it has, why it has no more, and its executors with their logs.

use firesteel_placement::advanced::words::duration;
use firesteel_protocol::messages::{ApplicationAnswer, ApplicationDetail, ApplicationView, ExecutorView};
use maud::{Markup, html};

use super::actions::Permit;
use super::{app_link, framed, mood_of_application, mood_of_executor, worker_link};
use crate::http::pages::log;
use crate::http::pages::parts::{ago, bar, fact, grouped, sentence, state};
use crate::http::pages::table::{Column, Shape, Table};
use crate::http::query::Query;
use crate::wording::application::{
    addresses, cores, end, lifetime, live_state, shown_state, state_and_outcome,
};
use crate::wording::explanation;

const PACE: u64 = 2000;

const EXECUTORS: &[Column<ExecutorView>] = &[
    Column { name: "Executor", shape: Shape::Words, order: Some(|one, other| one.id.cmp(&other.id)) },
    Column {
        name: "State",
        shape: Shape::Words,
        order: Some(|one, other| one.state.name().cmp(other.state.name())),
    },
    Column { name: "Logs", shape: Shape::Words, order: None },
    Column { name: "Cores", shape: Shape::Numbers, order: Some(|one, other| one.cores.cmp(&other.cores)) },
    Column { name: "Memory", shape: Shape::Numbers, order: Some(|one, other| one.memory.cmp(&other.memory)) },
    Column { name: "Resources", shape: Shape::Words, order: None },
    Column {
        name: "Runs for",
        shape: Shape::Numbers,
        order: Some(|one, other| other.launched.cmp(&one.launched)),
    },
    Column { name: "Worker", shape: Shape::Words, order: Some(|one, other| one.worker.cmp(&other.worker)) },
    Column { name: "How it ended", shape: Shape::Sentences, order: None },
];

pub(in super::super) struct ApplicationPage<'a> {
    pub(in super::super) answer: &'a ApplicationAnswer,
    pub(in super::super) query: &'a Query,
    pub(in super::super) history: Option<&'a str>,
    pub(in super::super) permit: Permit<'a>,
}

impl ApplicationPage<'_> {
    pub(in super::super) fn document(&self) -> String {
        let asked = self.query.get("appId").unwrap_or_default();
        match self.answer {
            ApplicationAnswer::Known(detail) => {
                let app = &detail.application;
                let (live, ended): (Vec<ExecutorView>, Vec<ExecutorView>) =
                    app.executors.iter().cloned().partition(|executor| !executor.state.is_finished());
                let ended: Vec<ExecutorView> = ended.into_iter().rev().collect();
                let parts = html! {
                    (self.head(detail))
                    (self.why(detail))
                    @if app.ended.is_none() {
                        (self.executors(detail, "executors", "Executors", &live, "It has no executor."))
                    }
                    (self.executors(detail, "ended", "Executors that have ended", &ended, "None has ended."))
                    @if app.executors_forgotten > 0 {
                        section #forgotten { p.empty { "And " (grouped(app.executors_forgotten)) " earlier ones, which are no longer listed." } }
                    }
                };
                framed("../", &app.name, "", Some(self.query), PACE, &parts)
            }
            ApplicationAnswer::Unknown => {
                let words = format!(
                    "No running application with ID {asked}, and none that has ended and is still listed."
                );
                framed("../", "Application", "", None, 0, &sentence(&words))
            }
            ApplicationAnswer::Ambiguous { apps } => {
                let parts = html! {
                    section #sentence {
                        p.lead { "Several applications are called " (asked) ":" }
                        ul { @for app in apps { li { a href=(app_link("../", app)) { (app) } } } }
                    }
                };
                framed("../", asked, "", None, 0, &parts)
            }
        }
    }

    fn head(&self, detail: &ApplicationDetail) -> Markup {
        let app = &detail.application;
        let words = match app.ended {
            None => live_state(app, detail.now),
            Some(_) => state_and_outcome(app.state, app.outcome.as_ref()),
        };
        let ended = app.ended.zip(self.history);
        html! {
            section #head {
                h1 { (app.name) }
                p.under { span.id { (app.id) } " of " (app.user) " · submitted " (ago(detail.now, app.submitted))
                    @if let Some((_, history)) = ended { " · " a href={ (history.trim_end_matches('/')) "/history/" (app.id) } { "Spark's history server" } }
                    // Monitors find the driver's pages by these words.
                    @if let Some(pages) = &app.web_address { " · " a href=(pages) { "Application Detail UI" } }
                    @if app.ended.is_none() { (self.permit.kill_application(&app.id)) }
                }
                dl.facts {
                    (fact("State", &state(mood_of_application(app), &words)))
                    @if let Some(ended) = app.ended {
                        (fact("Took", &html! { (duration(ended.since(app.submitted))) }))
                        (fact("Ended", &ago(detail.now, ended)))
                    } @else {
                        (fact("Cores", &html! { (cores(app)) @if let Some(most) = app.max_cores { (bar(app.cores_granted.0, most.0)) } }))
                        (fact("Executors", &html! { (grouped(app.executors_live)) " live" @if app.executors_ended > 0 { " " small { (grouped(app.executors_ended)) " ended" } } }))
                    }
                    (fact("Memory of an executor", &html! { (app.memory_per_executor) }))
                    @if let Some(queue) = &app.queue { (fact("Queue", &html! { (queue) @if app.priority != 0 { ", priority " (app.priority) } })) }
                    @if app.gang > 1 { (fact("Begins with", &html! { (app.gang) " executors at once" })) }
                }
            }
        }
    }

    /// Why the application has no more executors, or how it ended.
    fn why(&self, detail: &ApplicationDetail) -> Markup {
        let title =
            if detail.application.ended.is_none() { "What it has, and why no more" } else { "How it ended" };
        html! {
            section #why {
                h2 { (title) }
                ul.why {
                    // The head of the page already contains the first sentence.
                    @for words in explanation::sentences(detail).iter().skip(usize::from(detail.application.ended.is_none())) {
                        li class=[words.starts_with(' ').then_some("inner")] { (words.trim()) }
                    }
                    @if let Some(words) = explanation::expected_start(detail) { li { (words) } }
                    @if let Some(words) = explanation::late_workers(detail) { li { (words) } }
                }
            }
        }
    }

    fn executors(
        &self,
        detail: &ApplicationDetail,
        id: &'static str,
        title: &str,
        rows: &[ExecutorView],
        empty: &str,
    ) -> Markup {
        let app = &detail.application;
        let text = |executor: &ExecutorView| {
            let how = end(app, executor);
            format!(
                "{} {} {} {} {how}",
                executor.id,
                shown_state(app, executor),
                executor.worker,
                executor.host
            )
        };
        let table = Table { id, title, empty, columns: EXECUTORS, text: &text };
        table.show(&table.cut(rows, self.query), self.query, |executor| self.row(app, detail, executor))
    }

    fn row(&self, app: &ApplicationView, detail: &ApplicationDetail, executor: &ExecutorView) -> Vec<Markup> {
        vec![
            html! { (executor.id) },
            state(mood_of_executor(&executor.state), shown_state(app, executor)),
            log::links("../logPage/", &app.id, executor.id),
            html! { (executor.cores.0) },
            html! { (executor.memory) },
            html! { (addresses(&executor.resources)) },
            html! { time datetime=(executor.launched) title=(executor.launched) { (duration(lifetime(executor, detail.now))) } },
            html! { a.id href=(worker_link("../", &executor.worker)) { (executor.worker) } },
            html! { (end(app, executor)) },
        ]
    }
}
