//! All Workers in one picture: free cores, stranded cores, and the applications that hold cores.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_host::net::VirtualPeers;
use firesteel_master::Event;
use firesteel_placement::advanced::words::{counted, none_or};
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{AppId, ExecutorId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationAnswer, ApplicationView, ClusterTotals, MasterView, ProfileView, ShareState, WorkerShare,
    WorkerView,
};
use firesteel_protocol::state_reader::Extent;
use firesteel_sim::draft::{Cells, WorkerOutcome};
use firesteel_sim::picture::mosaic::{self, Holder, Tile};
use firesteel_sim::picture::{Paint, SERIES};
use maud::{Markup, PreEscaped, html};

use super::super::read;
use super::{framed, named};
use crate::http::pages::frame::FILTER;
use crate::http::pages::parts::{bar, fact, grouped};
use crate::http::query::Query;
use crate::http::snapshot::Unanswered;

pub(in super::super) const FRESH: Duration = Duration::from_secs(4);

/// The page's refresh interval, in milliseconds.
const PACE: u64 = 5000;

/// The number of applications that can be told apart by their look: each colour is used once plain, and once with
/// stripes.
const LOOKS: usize = 2 * SERIES - 2;

/// The maximum number of waiting applications whose demands are read to find stranded cores.
const MOST_DEMANDS: usize = 20;

#[derive(Debug)]
pub(in super::super) struct Picture {
    now: Timestamp,
    workers: Vec<WorkerTile>,
    applications: Vec<Held>,
    /// The number of waiting applications whose demands were read, and the number of all waiting applications.
    demanding: (usize, usize),
}

/// A Worker: its tile, and the text that the filter searches.
#[derive(Debug)]
struct WorkerTile {
    tile: Tile,
    share: WorkerShare,
    text: String,
    /// The applications that hold cores on the Worker, as indices.
    held: Vec<usize>,
}

#[derive(Debug)]
struct Held {
    id: AppId,
    name: String,
    cores: Cores,
    executors: u64,
    workers: u64,
    holder: Holder,
}

impl Picture {
    /// Reads the Master's state and the demands of waiting applications.
    pub(in super::super) async fn read(virtual_peers: VirtualPeers<Event>) -> Result<Self, Unanswered> {
        let mut client = read::client(&virtual_peers)?;
        let view = client.state(Extent::Whole).await?;
        let waiting = waiting(&view);
        let mut demands: Vec<ProfileView> = Vec::new();
        for app in waiting.iter().take(MOST_DEMANDS) {
            demands.extend(demanded(client.application_from(app.as_str(), ExecutorId(0)).await?));
        }
        Ok(Self::of(&view, &demands, (waiting.len().min(MOST_DEMANDS), waiting.len())))
    }

    fn of(view: &MasterView, demands: &[ProfileView], demanding: (usize, usize)) -> Self {
        let mut applications: Vec<Held> = view.applications.iter().filter_map(held).collect();
        applications.sort_by_key(|app| std::cmp::Reverse(app.cores));
        for (index, app) in applications.iter_mut().enumerate().take(LOOKS) {
            app.holder = Holder::Series(index);
        }
        let indices: BTreeMap<&AppId, usize> =
            applications.iter().enumerate().map(|(index, app)| (&app.id, index)).collect();
        let mut on: BTreeMap<&WorkerId, Vec<(usize, Cores)>> = BTreeMap::new();
        for app in &view.applications {
            let Some(&index) = indices.get(&app.id) else { continue };
            for executor in app.executors.iter().filter(|executor| !executor.state.is_finished()) {
                on.entry(&executor.worker).or_default().push((index, executor.cores));
            }
        }
        let mut drivers: BTreeMap<&WorkerId, Vec<(Holder, Cores)>> = BTreeMap::new();
        for driver in view.drivers.iter().filter(|driver| driver.state.holds_cores()) {
            let place = driver.worker.iter().map(|place| &place.worker);
            place.for_each(|worker| drivers.entry(worker).or_default().push((Holder::Driver, driver.cores)));
        }
        let demands: Vec<&ProfileView> = demands.iter().collect();
        let is_there = |worker: &&WorkerView| !worker.state.is_gone();
        let workers = view.workers.iter().filter(is_there).map(|worker| {
            let mut on = on.remove(&worker.id).unwrap_or_default();
            on.sort_unstable();
            let looks = on.iter().map(|(app, cores)| (applications[*app].holder, *cores));
            let looks = looks.chain(drivers.remove(&worker.id).unwrap_or_default()).collect();
            let share = worker.share();
            let tile = Tile {
                cores: worker.cores,
                held: looks,
                is_stranded: is_stranded(worker, &demands),
                is_withheld: share.state != ShareState::Serving,
            };
            let held: BTreeSet<usize> = on.into_iter().map(|(app, _)| app).collect();
            WorkerTile {
                tile,
                share,
                text: format!("{} {}", worker.id, worker.host).to_lowercase(),
                held: held.into_iter().collect(),
            }
        });
        let workers = workers.collect();
        Self { now: view.now, workers, applications, demanding }
    }

    /// The page as an HTML document, with the Workers that match the filter.
    pub(in super::super) fn document(&self, query: &Query) -> String {
        let filter = query.get(FILTER).unwrap_or_default().to_lowercase();
        let words: Vec<&str> = filter.split_whitespace().collect();
        let names: Vec<String> =
            self.applications.iter().map(|app| format!("{} {}", app.name, app.id).to_lowercase()).collect();
        let is_found = |place: &&WorkerTile| {
            words.iter().all(|word| {
                place.text.contains(word) || place.held.iter().any(|app| names[*app].contains(word))
            })
        };
        let found: Vec<&WorkerTile> = self.workers.iter().filter(is_found).collect();
        let parts = html! { (self.head(&found)) (self.map(&found)) (self.holders(&found)) };
        framed("../", "Picture", "picture/", Some(query), PACE, &parts)
    }

    fn head(&self, found: &[&WorkerTile]) -> Markup {
        let ClusterTotals { workers, cores: all, cores_used: used, cores_free: free, .. } = totals(found);
        let in_all = totals(&self.workers.iter().collect::<Vec<_>>()).workers;
        let stranded = found.iter().filter(|place| place.tile.is_stranded);
        let stranded: Cores = stranded.map(|place| place.share.cores_free()).sum();
        let (asked, waiting) = self.demanding;
        html! {
            section #head {
                h1 { "The whole cluster" }
                p.under { "Each bar is a Worker, as long as it has cores, in the order of ids · as of " (self.now) }
                dl.facts {
                    (fact("Workers", &html! { (grouped(workers)) @if workers < in_all { " of " (grouped(in_all)) } " alive" }))
                    (fact("Cores held", &html! { (grouped(used.0)) " of " (grouped(all.0)) (bar(used.0, all.0)) }))
                    (fact("Cores free", &html! { (grouped(free.0)) }))
                    (fact("Of these stranded", &html! { (grouped(stranded.0)) }))
                }
                p.note {
                    @if waiting == 0 { "Nothing waits for room, so no free core is stranded." }
                    @else {
                        "Free cores are stranded if their Worker has no room for an executor of any application that waits. "
                        (counted(waiting as u64, "application")) @if waiting == 1 { " waits." } @else { " wait." }
                        @if asked < waiting { " Only the first " (asked) " are considered." }
                    }
                }
            }
        }
    }

    fn map(&self, found: &[&WorkerTile]) -> Markup {
        let tiles: Vec<Tile> = found.iter().map(|place| place.tile.clone()).collect();
        let title = format!("{}, each a bar", none_or(tiles.len() as u64, "Worker"));
        html! {
            section #map {
                div.map { (PreEscaped(mosaic::draw(&tiles, &title))) }
                ul.key.map {
                    li.swatch { (PreEscaped(mosaic::swatch(Paint::Free))) "free" }
                    li.swatch { (PreEscaped(mosaic::swatch(Holder::Other.paint()))) "held by one of the smaller applications" }
                    li.swatch { (PreEscaped(mosaic::swatch(Holder::Driver.paint()))) "held by a cluster driver" }
                    li.swatch { (PreEscaped(mosaic::swatch(mosaic::WITHHELD))) "neither held nor free: its Worker leaves, or gets nothing new for now" }
                    li.swatch { (PreEscaped(mosaic::swatch(Paint::Warning))) "at the edge: free and stranded" }
                }
            }
        }
    }

    fn holders(&self, found: &[&WorkerTile]) -> Markup {
        let there: BTreeSet<usize> = found.iter().flat_map(|place| place.held.iter().copied()).collect();
        let shown = there.iter().take(LOOKS).map(|index| &self.applications[*index]);
        let rest = there.len().saturating_sub(LOOKS);
        html! {
            section #holders {
                h2 { "Who holds what " span.count { (grouped(there.len())) } }
                @if there.is_empty() { p.empty { "No application holds cores there." } }
                @else {
                    div.scroll { table {
                        caption.unseen { "Applications by the cores that they hold" }
                        thead { tr { th scope="col" { "Application" } th.number scope="col" { "Cores" } th.number scope="col" { "Executors" } th.number scope="col" { "Workers" } } }
                        tbody.map { @for app in shown { tr {
                            th.swatch scope="row" data-name="Application" { (PreEscaped(mosaic::swatch(app.holder.paint()))) (named("../", &app.name, &app.id)) }
                            td.number data-name="Cores" { (grouped(app.cores.0)) }
                            td.number data-name="Executors" { (grouped(app.executors)) }
                            td.number data-name="Workers" { (grouped(app.workers)) }
                        } } }
                    } }
                    @if rest > 0 { p.empty { "And " (counted(rest as u64, "smaller application")) "." } }
                }
            }
        }
    }
}

fn totals(places: &[&WorkerTile]) -> ClusterTotals {
    places.iter().map(|place| place.share).collect()
}

/// The applications that may wait for free resources. Those without executors come first.
fn waiting(view: &MasterView) -> Vec<AppId> {
    let has_all = |app: &ApplicationView| app.max_cores.is_some_and(|most| app.cores_granted >= most);
    let mut waiting: Vec<&ApplicationView> = view.applications.iter().filter(|app| !has_all(app)).collect();
    waiting.retain(|app| app.executors_live == 0 || app.max_cores.is_some());
    waiting.sort_by_key(|app| app.executors_live > 0);
    waiting.into_iter().map(|app| app.id.clone()).collect()
}

fn demanded(answer: ApplicationAnswer) -> Vec<ProfileView> {
    let ApplicationAnswer::Known(detail) = answer else { return Vec::new() };
    let executors = detail.application.executors_live;
    let profiles = detail.scheduling.into_iter().flat_map(|scheduling| scheduling.profiles);
    profiles
        .filter(|profile| {
            profile.may_have_more
                && profile.shortfall.as_ref().is_some_and(|shortfall| shortfall.is_lack(executors))
        })
        .collect()
}

/// An application that holds cores. No colour is assigned yet.
fn held(app: &ApplicationView) -> Option<Held> {
    let live = app.executors.iter().filter(|executor| !executor.state.is_finished());
    let workers: BTreeSet<&WorkerId> = live.map(|executor| &executor.worker).collect();
    (app.cores_granted > Cores::ZERO).then(|| Held {
        id: app.id.clone(),
        name: app.name.clone(),
        cores: app.cores_granted,
        executors: app.executors_live,
        workers: workers.len() as u64,
        holder: Holder::Other,
    })
}

/// Whether the Worker has free cores, but none of these demands fits on it.
fn is_stranded(worker: &WorkerView, demands: &[&ProfileView]) -> bool {
    let free = worker.resources.without(&worker.resources_used);
    let outcome = WorkerOutcome {
        id: worker.id.clone(),
        host: String::new(),
        cores: worker.cores,
        cores_free: worker.cores - worker.cores_used,
        memory: worker.memory,
        memory_free: MiB(worker.memory.0 - worker.memory_used.0),
        resources: worker.resources.quantities(),
        resources_free: free.quantities(),
        free,
        cells: Cells::default(),
        executors: Vec::new(),
        state: worker.share().state,
    };
    outcome.cores_stranded(demands) > Cores::ZERO
}

#[cfg(test)]
pub(in super::super) mod tests {
    use super::*;

    /// The figures above the picture: Workers, cores, held cores and free cores.
    pub(in super::super::super) fn sums(view: &MasterView) -> [i64; 4] {
        let picture = Picture::of(view, &[], (0, 0));
        let html = picture.document(&Query::default());
        let places: Vec<&WorkerTile> = picture.workers.iter().collect();
        let ClusterTotals { workers, cores, cores_used, cores_free, .. } = totals(&places);
        for number in [cores.0, cores_used.0, cores_free.0] {
            assert!(
                html.contains(&format!(">{}<", grouped(number))) || html.contains(&grouped(number)),
                "{number}"
            );
        }
        // Workers that get nothing new have no free cores in the picture.
        for (place, worker) in picture.workers.iter().zip(&view.workers) {
            assert_eq!(place.tile.is_withheld, worker.share().state != ShareState::Serving);
        }
        [workers.cast_signed(), cores.0, cores_used.0, cores_free.0]
    }
}
