//! The requests of status clients.

use std::cmp::Reverse;

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::explain::advice::advice_for;
use firesteel_placement::explain::outlook::outlook;
use firesteel_placement::{Cores, Offer};
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId, ProfileId};
use firesteel_protocol::messages::{
    ApplicationAnswer, ApplicationDetail, ApplicationEnd, ApplicationView, ClientToMaster, ClusterTotals,
    ClusterView, EarlyEnd, ExcludedWorker, Holder, ImpairedWorker, KillAnswer, LateWorker, MOST_EXCLUDED,
    MOST_HOLDERS, MasterToClient, ProfileView, Requester, ReservedRoom, Rights, SchedulingStatus, page,
};
use firesteel_protocol::time::Timestamp;

use crate::clients::plain_name::plain_name;
use crate::clients::reasons::Reasons;
use crate::tables::applications::application::{Application, Profile};
use crate::tables::applications::exclusions::FailureHistory;
use crate::{Audit, Effect, Master, Note, Outbound};

/// Advice is computed for at most this number of profiles, because each piece of advice costs several placements.
const MOST_ADVISED: usize = 8;
/// The maximum number of applications with the same name that an answer lists.
const MOST_NAMESAKES: usize = 20;
enum Meant {
    Live(AppId),
    Over(AppId),
    Unknown,
    Several(Vec<AppId>),
}

impl Master {
    pub(crate) fn on_client_message(&mut self, now: Timestamp, peer: PeerId, message: ClientToMaster) {
        let answer = match self.forbids(&message) {
            Some(why) => {
                self.audit(Audit::forbidden(peer, &message, &why));
                MasterToClient::RequestForbidden { why }
            }
            None => match self.answer(now, peer, message) {
                Some(answer) => answer,
                None => return,
            },
        };
        self.effects.push(Effect::Send { peer, message: Outbound::Client(answer) });
    }

    /// Why the requester may not have what he asks for. `None`: he may.
    fn forbids(&self, message: &ClientToMaster) -> Option<String> {
        match message {
            ClientToMaster::KillApplication { app, by } => match self.meant(app) {
                Meant::Live(id) => {
                    let owner = &self.applications.get(&id).expect("it was found live").description.user;
                    not_his(by, &format!("application {id}"), owner)
                }
                Meant::Over(_) | Meant::Unknown | Meant::Several(_) => None,
            },
            ClientToMaster::RequestKillDriver { driver, by } => {
                let latest = self.drivers.latest(driver);
                let owner = &self.drivers.live(self.drivers.number(&latest)?).description.user;
                not_his(by, &format!("cluster driver {latest}"), owner)
            }
            ClientToMaster::RequestKillAllDrivers { by } => (by.rights() < Rights::Modify)
                .then(|| format!("{} may not end the cluster drivers of other users", plain_name(by.user()))),
            ClientToMaster::DecommissionWorkers { by, .. } => not_admin(by, "decommission Workers"),
            ClientToMaster::RequestClearCompletedDriversAndApps { by } => {
                not_admin(by, "clear what has ended")
            }
            ClientToMaster::RequestLog { range, by } => self.hides(&range.author, by),
            ClientToMaster::RequestMasterState { .. }
            | ClientToMaster::RequestApplication { .. }
            | ClientToMaster::RequestReadyz
            | ClientToMaster::RequestSubmitDriver(_)
            | ClientToMaster::RequestDriverStatus { .. }
            | ClientToMaster::RequestHistory { .. } => None,
        }
    }

    /// The answer. `None`: it follows when a log is read.
    fn answer(&mut self, now: Timestamp, peer: PeerId, message: ClientToMaster) -> Option<MasterToClient> {
        Some(match message {
            ClientToMaster::RequestLog { range, by: _ } => return self.on_request_log(peer, range),
            ClientToMaster::RequestMasterState { from } => {
                self.workers.forget_dead(now);
                MasterToClient::MasterStateResponse(self.state_page(&from))
            }
            ClientToMaster::RequestApplication { app, executors_from } => {
                MasterToClient::ApplicationResponse(self.detail(now, &app, executors_from))
            }
            ClientToMaster::RequestReadyz => MasterToClient::ReadyzResponse,
            ClientToMaster::KillApplication { app, by } => {
                let answer = self.kill_application(now, &app, by.name());
                self.audit(Audit::kill(peer, &app, &by, &answer));
                MasterToClient::KillApplicationResponse(answer)
            }
            ClientToMaster::DecommissionWorkers { which, within_millis, by } => {
                let answer = self.decommission_workers(now, &which, within_millis);
                self.audit(Audit::decommission(peer, &which, &by, &answer));
                MasterToClient::DecommissionWorkersResponse(answer)
            }
            ClientToMaster::RequestSubmitDriver(description) => {
                let (user, program) = (description.user.clone(), description.command.program.clone());
                let answer = self.on_submit_driver(now, *description);
                self.audit(Audit::submit_driver(peer, &program, &user, &answer));
                MasterToClient::SubmitDriverResponse(answer)
            }
            ClientToMaster::RequestKillDriver { driver, by } => {
                let answer = self.on_kill_driver(now, &driver, &plain_name(by.name()));
                self.audit(Audit::kill_driver(peer, &driver, &by, &answer));
                MasterToClient::KillDriverResponse(answer)
            }
            ClientToMaster::RequestDriverStatus { driver } => {
                MasterToClient::DriverStatusResponse(self.on_driver_status(&driver))
            }
            ClientToMaster::RequestKillAllDrivers { by } => {
                let drivers = self.on_kill_all_drivers(now, &plain_name(by.name()));
                self.audit(Audit::kill_all_drivers(peer, &by, drivers));
                MasterToClient::KillAllDriversResponse { drivers }
            }
            ClientToMaster::RequestClearCompletedDriversAndApps { by } => {
                self.clear_completed(now);
                self.audit(Audit::clear_completed(peer, &by));
                MasterToClient::ClearCompletedResponse
            }
            ClientToMaster::RequestHistory { from } => {
                MasterToClient::HistoryResponse(self.history_page(from))
            }
        })
    }

    /// Logs a user's request and its result.
    pub(crate) fn audit(&mut self, audit: Audit) {
        self.effects.note(Note::Audited(Box::new(audit)));
    }

    /// Finds an application by its id or name. A name means the only live application with this name. If none is live,
    /// it means the latest ended one.
    fn meant(&self, which: &str) -> Meant {
        let id = AppId::new(which);
        if self.applications.get(&id).is_some() {
            return Meant::Live(id);
        }
        if self.applications.ended().get(&id).is_some() {
            return Meant::Over(id);
        }
        let namesakes = self.applications.queue().filter(|app| app.description.name == which);
        let mut apps: Vec<AppId> = namesakes.take(MOST_NAMESAKES).map(|app| app.id.clone()).collect();
        match apps.len() {
            0 => self.applications.ended().named(which).map_or(Meant::Unknown, Meant::Over),
            1 => Meant::Live(apps.remove(0)),
            _ => Meant::Several(apps),
        }
    }

    fn detail(&self, now: Timestamp, which: &str, from: ExecutorId) -> ApplicationAnswer {
        let (row, (executors, next), scheduling) = match self.meant(which) {
            Meant::Unknown => return ApplicationAnswer::Unknown,
            Meant::Several(apps) => return ApplicationAnswer::Ambiguous { apps },
            Meant::Live(id) => {
                let app = self.applications.get(&id).expect("it was found live");
                let scheduling = (from == ExecutorId(0)).then(|| self.scheduling(app));
                (self.row_of(app), page(self.config.page, self.executors_from(app, from)), scheduling)
            }
            Meant::Over(id) => {
                let ended = self.applications.ended().get(&id).expect("it was found among the ended");
                (ended.row.clone(), page(self.config.page, ended.executors_from(from)), None)
            }
        };
        ApplicationAnswer::Known(Box::new(ApplicationDetail {
            now,
            master: self.config.url.clone(),
            application: ApplicationView { executors, ..row },
            next_executor: next.map(|executor| executor.id),
            scheduling,
        }))
    }

    fn scheduling(&self, app: &Application) -> SchedulingStatus {
        let free: Vec<Offer<'_>> = self.offers(app).collect();
        let whole: Vec<Offer<'_>> = self.whole_offers(app).collect();
        let reasons = Reasons::of(self, app);
        let mut profiles = Vec::new();
        for (id, profile) in &app.profiles {
            let stand = ProfileStand { app, profile, free: &free, whole: &whole, reasons: &reasons };
            let mut view = Self::profile(*id, &stand);
            if profiles.len() < MOST_ADVISED {
                let demand = app.demand(profile);
                // Advice that lets one more executor fit would not start a gang.
                let gang = app.gang(&demand);
                view.outlook = if gang.is_some() { None } else { outlook(&demand, &free, &whole) };
                let (order, strategy) = (self.config.worker_order, self.config.strategy);
                view.advice = advice_for(gang.unwrap_or(1), &demand, &free, order, strategy);
            }
            profiles.push(view);
        }
        let mut excluded = self.excluded_for(app);
        let more_excluded = excluded.len().saturating_sub(MOST_EXCLUDED) as u64;
        excluded.truncate(MOST_EXCLUDED);
        let earlier = self
            .applications
            .queue()
            .filter(|other| other.queue == app.queue && other.queue_rank() < app.queue_rank());
        let ahead = earlier.filter(|other| other.may_have_more()).count() as u64;
        let mut holders: Vec<Holder> = self.other_holders(app).map(holder).collect();
        holders.sort_by_key(|holder| Reverse(holder.cores));
        let more_holders = holders.len().saturating_sub(MOST_HOLDERS) as u64;
        holders.truncate(MOST_HOLDERS);
        SchedulingStatus {
            policy: app.description.policy,
            profiles,
            cores_spent: app.cores_spent,
            failures: app.failures.in_a_row,
            relaunch_at: app.failures.hold_until,
            excluded,
            more_excluded,
            impaired: self.impaired().take(MOST_EXCLUDED).collect(),
            ahead,
            blocker: self.blocker(app),
            cluster: cluster(&self.workers.totals()),
            holders,
            more_holders,
            late: self.late_workers(app),
            expected_start: ReservedRoom::start_of(&self.reserved_rooms(), &app.id),
        }
    }

    /// The Workers that have missed heartbeats. Workers with more executors of the application come first.
    fn late_workers(&self, app: &Application) -> Vec<LateWorker> {
        let late = |slot: Slot| LateWorker {
            worker: self.workers.row(slot).description.id.clone(),
            executors: app.executors.values().filter(|executor| executor.slot == slot).count() as u64,
        };
        let mut all: Vec<LateWorker> = self.workers.late().iter().copied().map(late).collect();
        all.sort_by(|one, other| other.executors.cmp(&one.executors).then(one.worker.cmp(&other.worker)));
        all.truncate(MOST_EXCLUDED);
        all
    }

    pub(super) fn other_holders<'a>(&'a self, app: &'a Application) -> impl Iterator<Item = &'a Application> {
        self.applications.queue().filter(|other| other.id != app.id && other.cores_granted > Cores::ZERO)
    }

    /// The Workers that are excluded for an application. The longest exclusion comes first.
    fn excluded_for(&self, app: &Application) -> Vec<ExcludedWorker> {
        let view = |(slot, failure_history): (Slot, &FailureHistory)| ExcludedWorker {
            worker: self.workers.row(slot).description.id.clone(),
            end: if failure_history.failed { EarlyEnd::Failed } else { EarlyEnd::Finished },
            times: failure_history.early_ends,
            until: failure_history.until.unwrap_or_default(),
            for_all: false,
        };
        let for_all = |slot| {
            let row = self.workers.row(slot);
            ExcludedWorker {
                worker: row.description.id.clone(),
                end: EarlyEnd::Failed,
                times: row.health().global_exclusion.times,
                until: row.health().global_exclusion.until.unwrap_or_default(),
                for_all: true,
            }
        };
        let own = app.exclusions.iter().map(view);
        let mut excluded: Vec<ExcludedWorker> =
            own.chain(self.workers.excluded_slots().map(for_all)).collect();
        excluded.sort_by(|a, b| b.until.cmp(&a.until).then_with(|| a.worker.cmp(&b.worker)));
        excluded
    }

    /// The impaired Workers, by id.
    fn impaired(&self) -> impl Iterator<Item = ImpairedWorker> {
        self.workers
            .impaired()
            .map(|(_, row, impairment)| ImpairedWorker { worker: row.description.id.clone(), impairment })
    }

    /// The view of a profile, without outlook and advice.
    fn profile(id: ProfileId, stand: &ProfileStand<'_>) -> ProfileView {
        let ProfileStand { app, profile, free, whole, reasons } = stand;
        let demand = app.demand(profile);
        let fitting = |offers: &[Offer<'_>]| offers.iter().filter(|offer| offer.fits(&demand)).count() as u64;
        ProfileView {
            id,
            size: profile.size,
            memory: profile.memory,
            resources: profile.resources.clone(),
            limit: profile.limit,
            held: profile.held,
            may_have_more: demand.allows_one_more(),
            large_enough: fitting(whole),
            with_room: fitting(free),
            shortfall: reasons.shortfall(id, profile),
            outlook: None,
            advice: Vec::new(),
        }
    }

    /// Ends an application at the request of a client.
    ///
    /// Source: Spark Master, 4.0.1 (the `kill` link of its page). There, the application's state is KILLED, too.
    fn kill_application(&mut self, now: Timestamp, which: &str, by: &str) -> KillAnswer {
        match self.meant(which) {
            Meant::Unknown => KillAnswer::Unknown,
            Meant::Several(apps) => KillAnswer::Ambiguous { apps },
            Meant::Over(app) => {
                let row = &self.applications.ended().get(&app).expect("it was found among the ended").row;
                let (state, outcome) = (row.state, row.outcome.clone());
                KillAnswer::Over { app, state, outcome, ended: row.ended.unwrap_or_default() }
            }
            Meant::Live(app) => {
                let row = self.applications.get(&app).expect("it was found live");
                let (executors, cores) = (row.executors.len() as u64, row.cores_granted);
                let by = plain_name(by);
                self.remove_application(now, &app, ApplicationEnd::Killed { by });
                KillAnswer::Killed { app, executors, cores }
            }
        }
    }
}

/// Why a requester may not end what belongs to this user. `None`: he may.
fn not_his(by: &Requester, what: &str, owner: &str) -> Option<String> {
    let (user, owner_name) = (plain_name(by.user()), plain_name(owner));
    (!by.may_end(owner)).then(|| format!("{what} belongs to {owner_name}, and {user} may not end it"))
}

/// Why a requester may not do what only administrators may. `None`: he may.
fn not_admin(by: &Requester, what: &str) -> Option<String> {
    (by.rights() < Rights::Admin).then(|| format!("only an administrator may {what}"))
}

/// A profile, and how many of its executors fit in the cluster.
struct ProfileStand<'a> {
    app: &'a Application,
    profile: &'a Profile,
    free: &'a [Offer<'a>],
    whole: &'a [Offer<'a>],
    reasons: &'a Reasons<'a>,
}

fn holder(app: &Application) -> Holder {
    Holder {
        app: app.id.clone(),
        name: app.description.name.clone(),
        cores: app.cores_granted,
        executors: app.executors.len() as u64,
    }
}

fn cluster(totals: &ClusterTotals) -> ClusterView {
    let ClusterTotals { workers, cores, cores_free, memory, memory_free, .. } = *totals;
    ClusterView { workers, cores, cores_free, memory, memory_free }
}
