//! How applications register and end, and how their drivers' requests are handled.

use std::collections::BTreeMap;

use firesteel_placement::{Cores, ResourceAmounts};
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, ApplicationEnd, ExecutorState, ExecutorTarget, HostPreferences, MOST_PROFILES,
    MasterToDriver, MasterToWorker, Outcome, ResourceProfile, UnsoundGang,
};
use firesteel_protocol::time::Timestamp;

use crate::clients::reasons::Reasons;
use crate::config::ResourceShares;
use crate::limits::Limits;
use crate::tables::applications::application::{Entry, Profile};
use crate::tables::applications::host_preferences::LimitedPreferences;
use crate::tables::link::Link;
use crate::{Audit, Ignored, Master, Note, Pass};

/// The log shows at most this number of characters of a refused application's name.
const LONGEST_NOTED: usize = 100;

enum Refusal {
    Unsound(String),
    Gang(UnsoundGang),
}

impl Master {
    /// Registers an application for a driver.
    ///
    /// Source: Spark Master, 4.0.1. In Spark, a driver that registers again gets a second id, which nothing else uses.
    /// In Firesteel, it gets its first id again.
    pub(crate) fn on_register_application(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        description: ApplicationDescription,
    ) {
        if let Some(app) = self.applications.of_peer(peer).cloned() {
            return self.confirm_registration(peer, app);
        }
        let admitted = self.admits_application(&description).and_then(|entry| {
            self.count_submission(now, &description.user).map(|()| entry).map_err(Refusal::Unsound)
        });
        let entry = match admitted {
            Ok(entry) => entry,
            Err(refusal) => return self.refuse_application(peer, &description, refusal),
        };
        let number = self.applications.registered();
        let in_id = self.config.first_application.saturating_add(number);
        let app = AppId::new(format!("app-{}-{in_id:04}", now.compact()));
        self.effects.note(Note::ApplicationRegistered { app: app.clone(), name: description.name.clone() });
        self.audit(Audit::register(peer, &description, Ok(&app)));
        // From now on, reports about executors refer to the new application.
        self.ended_app_executors.forget_driver(peer);
        // What it has seen is no part of the state.
        let mut description = description;
        description.seen.clear();
        self.add_application(now, (number, app.clone()), description, peer.into(), &entry);
        self.see_wanted(&app);
        self.confirm_registration(peer, app);
        self.pass = Pass::Due;
    }

    /// Counts the executors that an application wants, for policies that learn.
    pub(crate) fn see_wanted(&mut self, app: &AppId) {
        for (demand, executors) in self.applications.live_mut(app).newly_wanted() {
            self.memory.see(&demand, executors);
        }
    }

    /// Checks a description. Returns the queue and the default cores for the application, or the reason for a refusal.
    fn admits_application(&self, description: &ApplicationDescription) -> Result<Entry, Refusal> {
        self.check_registration(description).map_err(Refusal::Unsound)?;
        check_description(description).map_err(Refusal::Unsound)?;
        let described = self.config.limits.check_kept(self.kept(), description).map_err(Refusal::Unsound)?;
        self.check_shares(&description.profile.resources).map_err(Refusal::Unsound)?;
        let queue = self.config.queues.find(description.queue.as_deref());
        let queue = queue.map_err(|error| Refusal::Unsound(error.to_string()))?;
        let max_cores = description.max_cores.unwrap_or(self.config.default_cores);
        check_gang(description, max_cores).map_err(Refusal::Gang)?;
        if description.gang > 1 && self.config.limits.per_user.limits_what_is_held() {
            let why = "this Master limits what each user has (firesteel.user.maxCores, .maxMemory, .maxExecutors), and keeps no \
                       room for gangs: ask for no gang";
            return Err(Refusal::Unsound(why.to_owned()));
        }
        Ok(Entry { queue, max_cores, order: self.config.order, described })
    }

    /// Checks the values in the description that the Master's settings limit.
    fn check_registration(&self, description: &ApplicationDescription) -> Result<(), String> {
        let Limits { applications, text, .. } = self.config.limits;
        let ApplicationDescription { name, user, queue, .. } = description;
        let longest = name.len().max(user.len()).max(queue.as_ref().map_or(0, String::len));
        if longest as u64 > text {
            return Err(format!(
                "the names of an application, its user and its queue have at most {text} bytes \
                 (firesteel.master.maxTextLength), not {longest}"
            ));
        }
        if self.applications.live_count() as u64 >= applications {
            return Err(format!(
                "the Master has {applications} applications (firesteel.master.maxApplications)"
            ));
        }
        Ok(())
    }

    /// Checks that fractions of addresses are allowed, if any are requested.
    pub(super) fn check_shares(&self, resources: &ResourceAmounts) -> Result<(), String> {
        let part = resources.iter().find(|(_, amount)| amount.is_part());
        match (self.config.resource_shares, part) {
            (ResourceShares::Allowed, _) | (ResourceShares::Refused, None) => Ok(()),
            (ResourceShares::Refused, Some((name, amount))) => Err(format!(
                "{amount} of {name} is asked for, and this Master gives only whole addresses: \
                 firesteel.master.resourceShares=true on the Master allows parts of them"
            )),
        }
    }

    fn refuse_application(&mut self, peer: PeerId, description: &ApplicationDescription, refusal: Refusal) {
        let name = description.name.chars().take(LONGEST_NOTED).collect();
        let (reason, end) = match refusal {
            Refusal::Unsound(reason) => (reason.clone(), ApplicationEnd::Refused { reason }),
            Refusal::Gang(gang) => (gang.to_string(), ApplicationEnd::GangRefused(gang)),
        };
        self.audit(Audit::register(peer, description, Err(&reason)));
        self.effects.note(Note::ApplicationRefused { name, reason });
        self.tell_driver(peer, MasterToDriver::ApplicationRemoved(end));
    }

    pub(crate) fn confirm_registration(&mut self, peer: PeerId, app: AppId) {
        let (master_url, max_cores) = (self.config.url.clone(), self.applications.live(&app).max_cores);
        let first_executor = ExecutorId::default();
        self.tell_driver(
            peer,
            MasterToDriver::RegisteredApplication {
                app,
                master_url,
                max_cores,
                first_executor,
                mark: self.mark(),
            },
        );
    }

    /// Ends an application because its driver reports that it is done.
    pub(crate) fn on_unregister_application(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        app: &AppId,
        outcome: Option<Outcome>,
    ) {
        if self.is_own(peer, app) {
            self.remove_application(now, app, ApplicationEnd::Finished { outcome });
        }
    }

    /// Sets the number of executors that a driver wants.
    ///
    /// Source: Spark Master, 4.0.1.
    pub(crate) fn on_request_executors(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        app: &AppId,
        targets: Vec<ExecutorTarget>,
    ) {
        let is_sound = |profile: &ResourceProfile| {
            profile.check().is_ok() && self.check_shares(&profile.resources).is_ok()
        };
        let sound = targets.iter().all(|target| is_sound(&target.profile));
        let application = self.applications.get(app);
        let fits =
            application.is_some_and(|application| application.profiles_with(&targets) <= MOST_PROFILES);
        let accepted = self.is_own(peer, app) && sound && fits;
        if accepted {
            let number = self.applications.live(app).sequence;
            self.set_targets(now, number, targets);
            self.see_wanted(app);
            self.pass = Pass::Due;
        }
        self.tell_driver(peer, MasterToDriver::ExecutorsRequested { accepted });
    }

    /// Ends executors at their driver's request.
    ///
    /// Source: Spark Master, 4.0.1. The executors' amounts become free at once, before their processes have ended.
    pub(crate) fn on_kill_executors(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        app: &AppId,
        executors: Vec<ExecutorId>,
    ) {
        let accepted = self.is_own(peer, app);
        if accepted {
            for executor in executors {
                if self.kill_executor(now, ExecutorKey { app: app.clone(), executor }) {
                    let state = ExecutorState::Killed(None);
                    self.tell_driver(
                        peer,
                        MasterToDriver::ExecutorUpdated { executor, state, lost_host: None },
                    );
                }
            }
            self.pass = Pass::Due;
        }
        self.tell_driver(peer, MasterToDriver::ExecutorsKilled { accepted });
    }

    /// Sets the hosts that a driver prefers and excludes. Running executors stay where they are.
    pub(crate) fn on_prefer_hosts(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        app: &AppId,
        preferences: HostPreferences,
    ) {
        if self.is_own(peer, app) {
            let application = self.applications.live(app);
            let number = application.sequence;
            let preferences = LimitedPreferences::new(preferences);
            let weights = (application.preferences.weight(), preferences.weight());
            let (kept, user) = (self.kept(), &application.description.user);
            if let Err(reason) = self.config.limits.check_preferences(kept, user, weights) {
                return self.effects.note(Note::PreferencesRefused { app: app.clone(), reason });
            }
            self.set_preferences(now, number, preferences);
            self.pass = Pass::Due;
        }
    }

    /// Answers a driver why its application has fewer executors than it wants.
    pub(crate) fn on_request_shortfall(&mut self, peer: PeerId, app: &AppId) {
        if !self.is_own(peer, app) {
            return;
        }
        let application = self.applications.live(app);
        let reasons = Reasons::of(self, application);
        let missing = |(id, profile): (&ProfileId, &Profile)| Some((*id, reasons.shortfall(*id, profile)?));
        let shortfalls = application.profiles.iter().filter_map(missing).collect();
        self.tell_driver(peer, MasterToDriver::Shortfalls(shortfalls));
    }

    pub(crate) fn on_driver_disconnected(&mut self, now: Timestamp, peer: PeerId) {
        if let Some(app) = self.applications.of_peer(peer).cloned() {
            let row = self.applications.live(&app);
            let number = row.sequence;
            match self.absence(now, &row.description.callback) {
                None => self.remove_application(now, &app, ApplicationEnd::DriverLost),
                Some(absence) => {
                    self.applications.set_away(number, absence);
                    let within = absence.until.since(absence.since);
                    self.effects.note(Note::ApplicationAway { app, within });
                }
            }
        }
        self.ended_app_executors.forget_driver(peer);
    }

    fn is_own(&mut self, peer: PeerId, app: &AppId) -> bool {
        let own = self.applications.is_drivers(app, peer);
        if !own {
            self.ignore(peer, Ignored::NotItsOwn { named: app.to_string() });
        }
        own
    }

    /// Ends an application: kills and forgets its executors, and adds the application to the ended ones.
    ///
    /// Source: Spark Master, 4.0.1. Spark informs every Worker that the application ended. Firesteel informs only the
    /// Workers that ran its executors.
    pub(crate) fn remove_application(&mut self, now: Timestamp, app: &AppId, end: ApplicationEnd) {
        let application = self.applications.live(app);
        let worker = |slot| self.workers.row(slot).description.id.clone();
        let executors: BTreeMap<ExecutorId, WorkerId> =
            application.executors.iter().map(|(id, executor)| (id, worker(executor.slot))).collect();
        for &executor in executors.keys() {
            self.kill_executor(now, ExecutorKey { app: app.clone(), executor });
        }
        let (link, workers) = self.retire_application(now, app, &end);
        // Some of these Workers may be lost by now.
        let workers: Vec<Link> = workers.iter().filter_map(|id| Some(self.workers.get(id)?.link)).collect();
        for worker in workers {
            self.tell_worker(worker, MasterToWorker::ApplicationFinished { app: app.clone() });
        }
        self.effects.note(Note::ApplicationRemoved { app: app.clone(), end: end.clone() });
        match end {
            ApplicationEnd::DriverLost | ApplicationEnd::NotBack => {}
            ApplicationEnd::Finished { .. } => self.await_ends(app.clone(), link, executors),
            ApplicationEnd::ExecutorsFailed { .. }
            | ApplicationEnd::Killed { .. }
            | ApplicationEnd::GivenUp { .. }
            | ApplicationEnd::Refused { .. }
            | ApplicationEnd::GangRefused(_) => {
                self.tell_driver(link, MasterToDriver::ApplicationRemoved(end));
                self.await_ends(app.clone(), link, executors);
            }
        }
        self.pass = Pass::Due;
    }

    /// Forgets an executor and orders its Worker to end it. Returns whether the executor was live. The Worker will
    /// report the end, although the Master no longer knows the executor.
    fn kill_executor(&mut self, now: Timestamp, executor: ExecutorKey) -> bool {
        if self.probation_of(&executor).is_none() {
            return false;
        }
        let (row, _) = self.release_executor(now, &executor, ExecutorState::Killed(None));
        let worker = row.link;
        self.tell_worker(worker, MasterToWorker::KillExecutor { executor });
        true
    }
}

/// Checks that the application's own limits allow its gang.
fn check_gang(description: &ApplicationDescription, max: Cores) -> Result<(), UnsoundGang> {
    let executors @ 2.. = description.gang else { return Ok(()) };
    let Some(cores) = description.profile.cores else { return Err(UnsoundGang::NoCores { executors }) };
    let needed = Cores(cores.0.saturating_mul(i64::try_from(executors).unwrap_or(i64::MAX)));
    if needed > max {
        return Err(UnsoundGang::TooManyCores { executors, cores, needed, max });
    }
    Ok(())
}

fn check_description(description: &ApplicationDescription) -> Result<(), String> {
    let unsound = |max: &Cores| !(1..=ResourceProfile::MOST).contains(&max.0);
    if let Some(max) = description.max_cores.filter(unsound) {
        return Err(format!("an application cannot have at most {max} cores"));
    }
    if let Some(files) = &description.files {
        files.check().map_err(|error| error.to_string())?;
    }
    description.profile.check().map_err(|error| error.to_string())
}
