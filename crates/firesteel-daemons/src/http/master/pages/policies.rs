//! The decisions that other policies would make for the applications that run and wait now.

use std::thread;
use std::time::Duration;

use firesteel_host::net::VirtualPeers;
use firesteel_master::{Config, Event};
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::Timestamp;
use firesteel_protocol::scheduling::SchedulingSettings;
use firesteel_protocol::state_reader::Extent;
use firesteel_settings::scheduling::changed_beside_the_policy;
use firesteel_sim::draft::{Draft, Metrics, figures, has};
use firesteel_sim::setup::Setup;
use maud::{Markup, html};
use tokio::sync::oneshot;

use super::super::read;
use super::framed;
use crate::http::pages::parts::sentence;
use crate::http::snapshot::Unanswered;

pub(in super::super) const FRESH: Duration = Duration::from_secs(20);

const PACE: u64 = 20_000;

const MOST_APPLICATIONS: usize = 200;

const MOST_LINES: usize = 50;

#[derive(Debug)]
pub(in super::super) struct Comparison {
    now: Timestamp,
    scheduling: SchedulingSettings,
    /// The other settings of the scheduler that differ from their defaults.
    settings: Vec<(&'static str, String)>,
    /// The compared rules: all policies, and the Master's own rule if it is an expression.
    setups: Vec<Setup>,
    compared: Result<Compared, String>,
}

#[derive(Debug)]
struct Compared {
    names: Vec<String>,
    /// The next decisions of each policy, if all executors stay where they are.
    next: ComparisonTable,
    /// The decisions of each policy if the cluster were empty.
    anew: ComparisonTable,
}

/// Lines of texts: a name, then one text for each policy.
#[derive(Debug)]
struct ComparisonTable {
    figures: Vec<Vec<String>>,
    applications: Vec<Vec<String>>,
}

impl Comparison {
    /// Reads the state, and computes the decisions of each policy.
    pub(in super::super) async fn read(virtual_peers: VirtualPeers<Event>) -> Result<Self, Unanswered> {
        let mut client = read::client(&virtual_peers)?;
        let view = client.state(Extent::Executors(0)).await?;
        let (now, scheduling) = (view.now, view.scheduling.clone());
        let settings = changed_beside_the_policy(&scheduling);
        let own = scheduling.rule.parse().ok().filter(|setup| matches!(setup, Setup::Expression(_)));
        let setups: Vec<Setup> = Setup::ALL.into_iter().chain(own).collect();
        if view.applications.len() > MOST_APPLICATIONS {
            let all = counted(view.applications.len() as u64, "application");
            let words = format!(
                "{all} are live. This page compares at most {MOST_APPLICATIONS}: use firesteel plan --master {} --compare \
                 spark,best-fit instead.",
                view.url
            );
            return Ok(Self { now, scheduling, settings, setups, compared: Err(words) });
        }
        let mut details = Vec::new();
        for app in &view.applications {
            details.push(client.application(app.id.as_str()).await?);
        }
        let draft = Draft::of_running(&view, &details);
        // This takes a while. Other requests are served meanwhile.
        let columns = setups.clone();
        let (sender, decided) = oneshot::channel();
        let comparing = thread::Builder::new().name("comparison".to_owned());
        let compared = match comparing.spawn(move || sender.send(compare(&draft, &columns))) {
            Ok(_) => decided.await.unwrap_or_else(|_| Err("The comparison failed.".to_owned())),
            Err(error) => Err(format!("The machine gives the Master no thread for the comparison: {error}.")),
        };
        Ok(Self { now, scheduling, settings, setups, compared })
    }

    pub(in super::super) fn document(&self) -> String {
        let SchedulingSettings { rule, strategy, worker_order, .. } = &self.scheduling;
        let parts = html! {
            section #head {
                h1 { "Policies compared" }
                p.under { "This Master decides by " (rule) ", " (format!("{strategy:?}")) ", " (worker_order) " · as of " (self.now) }
                @if !self.settings.is_empty() {
                    dl.facts { @for (key, value) in &self.settings { div { dt { (key) } dd { (value) } } } }
                }
                p.note { "Each column is a Master on paper with another policy, which has the Workers, the live applications and the other settings of this one. \
                    firesteel plan compares the same on a terminal, with an application more if you like." }
                dl.facts { @for setup in &self.setups { div { dt { (setup.name()) } dd { small { (setup.meaning()) } } } } }
            }
            @match &self.compared {
                Ok(compared) => {
                    (compared.section("next", "From now on: executors stay, and what is free is given away", &compared.next))
                    (compared.section("anew", "Anew: the same applications in the same order on the empty cluster", &compared.anew))
                }
                Err(words) => (sentence(words)),
            }
        };
        framed("../", "Policies", "policies/", None, PACE, &parts)
    }
}

impl Compared {
    fn section(&self, id: &str, title: &str, sheet: &ComparisonTable) -> Markup {
        html! {
            section id=(id) {
                h2 { (title) }
                (self.table(title, "Figure", &sheet.figures))
                @if !sheet.applications.is_empty() {
                    (self.table("What each application has", "Application", &sheet.applications))
                }
            }
        }
    }

    fn table(&self, title: &str, first: &str, lines: &[Vec<String>]) -> Markup {
        html! {
            div.scroll { table {
                caption.unseen { (title) }
                thead { tr { th scope="col" { (first) } @for name in &self.names { th scope="col" { (name) } } } }
                tbody { @for line in lines { tr {
                    @for (index, cell) in line.iter().enumerate() {
                        @if index == 0 { th scope="row" data-name=(first) { (cell) } }
                        @else { td data-name=(self.names[index - 1]) { (cell) } }
                    }
                } } }
            } }
        }
    }
}

fn compare(draft: &Draft, setups: &[Setup]) -> Result<Compared, String> {
    let names = setups.iter().map(|setup| setup.name().into_owned()).collect();
    Ok(Compared { names, next: sheet(draft, setups)?, anew: sheet(&draft.emptied(), setups)? })
}

/// Decides by one policy after the other, and keeps only the values that are shown, because a whole outcome is as large
/// as the cluster.
fn sheet(draft: &Draft, setups: &[Setup]) -> Result<ComparisonTable, String> {
    let shown = draft.applications.len().min(MOST_LINES);
    let mut metrics: Vec<Metrics> = Vec::new();
    let mut applications: Vec<Vec<String>> =
        draft.applications.iter().take(shown).map(|app| vec![app.name().to_owned()]).collect();
    for setup in setups {
        let decided = draft.decide(setup.config(Config::default()));
        let outcome = decided.map_err(|error| format!("The state cannot be compared: {error}."))?;
        for (line, app) in applications.iter_mut().zip(&outcome.applications) {
            line.push(has(app));
        }
        metrics.push(Metrics::of(&outcome));
    }
    Ok(ComparisonTable { figures: figures(&metrics.iter().collect::<Vec<_>>()), applications })
}
