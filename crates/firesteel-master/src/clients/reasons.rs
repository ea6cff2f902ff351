//! Why an application does not have more executors. If several reasons hold, the answer names the one with the lowest
//! rank.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use firesteel_placement::advanced::words::duration;
use firesteel_placement::explain::shortfall::{self, CoreHolder, Reason, held_back};
use firesteel_placement::{Cores, Demand, Offer, Shortfall};
use firesteel_protocol::ids::ProfileId;
use firesteel_protocol::messages::Blocker;
use firesteel_protocol::scheduling::label::Label;
use firesteel_protocol::time::Timestamp;

use crate::Master;
use crate::clients::plain_name::plain_name;
use crate::tables::applications::application::{Application, Profile};
use crate::tables::workers::health::Availability;
use crate::tables::workers::row::WorkerRow;

/// The maximum number of Workers' labels that a reason names.
const MOST_LABELS: usize = 4;

/// The facts from which an application's shortfalls are computed. Its driver and clients get the same answer.
pub(crate) struct Reasons<'a> {
    master: &'a Master,
    app: &'a Application,
    /// The Workers that are not leaving. Each has the obstacle that keeps it from running more executors of the
    /// application, if any.
    workers: Vec<(&'a WorkerRow, Option<Obstacle<'a>>)>,
    /// Why no executor is launched for any profile, if this is the case.
    paused: Option<Reason>,
    /// The profile that is served first, and the reason why it waits although it may fit.
    held_back: Option<(ProfileId, Reason)>,
}

/// Why a Worker gets no executors of an application, even if it has enough free resources.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Obstacle<'a> {
    /// The Worker's label admits only other applications.
    Label(&'a Label),
    /// The application excludes the Worker's host.
    Avoided,
    Impaired(String),
    /// The Worker is excluded for a while.
    Excluded,
}

impl<'a> Reasons<'a> {
    pub(crate) fn of(master: &'a Master, app: &'a Application) -> Self {
        let staying = master.workers.slots().filter(|(_, row)| row.stays());
        let workers: Vec<_> = staying
            .map(|(slot, row)| {
                let excluded = app.exclusions.excludes(slot) || row.availability() == Availability::Excluded;
                (row, Obstacle::of(app, row, excluded, master.now))
            })
            .collect();
        let until = app.failures.hold_until.filter(|until| *until > master.now);
        let paused = until.map(|until| Reason::Paused {
            failures: u64::from(app.failures.in_a_row),
            millis: u64::try_from(until.since(master.now).as_millis()).unwrap_or(u64::MAX),
        });
        let first = app.asks().next().map(|(id, _)| id);
        let held_back = first.zip(master.blocker(app).map(|blocker| reason_of(&blocker)));
        Self { master, app, workers, paused, held_back }
    }

    /// What a profile lacks, and the reason. `None` if it lacks nothing, or if it will get the free resources of a
    /// Worker.
    pub(crate) fn shortfall(&self, id: ProfileId, profile: &Profile) -> Option<Shortfall> {
        let demand = self.app.demand(profile);
        if !demand.allows_one_more() {
            let own = self.app.own_demand(profile);
            if own.allows_one_more() {
                let limit = self.master.config.limits.per_user.in_the_way(&own, self.app.room);
                return held_back(&own, Reason::UserLimit { limit });
            }
            return shortfall::shortfall(&demand, &[], &[]);
        }
        held_back(&demand, Reason::told(self.all(id, &demand))?)
    }

    /// All reasons why a demand within its own limits is not met.
    fn all(&self, id: ProfileId, demand: &Demand) -> Vec<Reason> {
        let held_back = self.held_back.as_ref().filter(|(first, _)| *first == id).map(|(_, reason)| reason);
        let mut all: Vec<Reason> = [self.paused.as_ref(), held_back].into_iter().flatten().cloned().collect();
        let has_room = self.master.offers(self.app).any(|offer| offer.fits(demand));
        if !has_room {
            all.extend(self.by_room(demand));
        }
        // If another Worker has room, these obstacles do not keep the application waiting, unless it needs several
        // Workers.
        if !has_room || held_back.is_some() {
            all.extend(self.by_obstacles(demand));
        }
        all
    }

    /// The reason why Workers lack free resources. Also names the case that there are no Workers.
    fn by_room(&self, demand: &Demand) -> Option<Reason> {
        if self.workers.is_empty() {
            return Some(Reason::NoWorkers);
        }
        let admitted = |obstacle: &Option<Obstacle<'_>>| !matches!(obstacle, Some(Obstacle::Label(_)));
        // If all Workers run only executors of other applications, the reason considers these Workers anyway.
        let none = !self.workers.iter().any(|(_, obstacle)| admitted(obstacle));
        let rows = || self.workers.iter().filter(|(_, it)| none || admitted(it)).map(|(row, _)| *row);
        let free: Vec<Offer<'_>> =
            rows().map(WorkerRow::readmitted_offer).filter(|offer| !offer.fits(demand)).collect();
        let whole: Vec<Offer<'_>> = rows().map(WorkerRow::whole_offer).collect();
        let lacks = (!free.is_empty()).then(|| shortfall::shortfall(demand, &free, &whole)).flatten()?;
        // If a Worker is too small in total, its missing cores are not held by another application.
        let lacks_cores = rows()
            .any(|row| row.whole_offer().fits(demand) && row.readmitted_offer().cores < demand.size.step());
        Some(self.with_holder(lacks, lacks_cores))
    }

    /// The obstacles that keep Workers with enough free resources from being used.
    fn by_obstacles(&self, demand: &Demand) -> Vec<Reason> {
        let mut labels: BTreeMap<&Label, u64> = BTreeMap::new();
        let (mut avoided, mut excluded, mut impaired) = (0, 0, Vec::new());
        for (row, obstacle) in &self.workers {
            let Some(obstacle) = obstacle.as_ref().filter(|_| row.readmitted_offer().fits(demand)) else {
                continue;
            };
            match obstacle {
                Obstacle::Label(label) => *labels.entry(label).or_default() += 1,
                Obstacle::Avoided => avoided += 1,
                Obstacle::Impaired(why) => impaired.push(why),
                Obstacle::Excluded => excluded += 1,
            }
        }
        let workers = labels.values().sum();
        let named: Vec<String> = labels.keys().take(MOST_LABELS).map(ToString::to_string).collect();
        let all = [
            impaired
                .first()
                .map(|why| Reason::Impaired { workers: impaired.len() as u64, why: (*why).clone() }),
            (excluded > 0).then_some(Reason::Excluded { workers: excluded }),
            (avoided > 0).then_some(Reason::Avoided { workers: avoided }),
            (workers > 0).then(|| Reason::Labelled { workers, label: named.join(", ") }),
        ];
        all.into_iter().flatten().collect()
    }

    /// The reason of a shortfall. If Workers lack cores, the reason names the application that holds them.
    fn with_holder(&self, short: Shortfall, lacks_cores: bool) -> Reason {
        let Reason::Busy { workers } = short.reason else { return short.reason };
        let holders = || self.master.other_holders(self.app).filter(|_| lacks_cores);
        let largest = holders().max_by_key(|other| (other.cores_granted, Reverse(other.queue_rank())));
        let holder = largest.map(|other| CoreHolder {
            app: other.id.to_string(),
            name: plain_name(&other.description.name),
            cores: self.cores_on_living_workers(other),
            of: self.master.workers.totals().cores,
        });
        // An application that holds fewer cores than this one hardly blocks it.
        match holder.filter(|holder| holder.cores > self.app.cores_granted) {
            Some(holder) => Reason::Held { workers, holder, others: holders().count() as u64 - 1 },
            None => Reason::Busy { workers },
        }
    }

    /// The cores that an application holds on Workers that count in the totals of the cluster.
    fn cores_on_living_workers(&self, app: &Application) -> Cores {
        let counted =
            app.executors.values().filter(|held| self.master.workers.row(held.slot).share().counts());
        counted.map(|held| held.grant.cores()).sum()
    }
}

impl<'a> Obstacle<'a> {
    /// The obstacle that keeps a Worker from running more executors of an application. If there are several, the one
    /// that lasts longest.
    fn of(app: &Application, row: &'a WorkerRow, excluded: bool, now: Timestamp) -> Option<Self> {
        if let Some(label) = row.description.label.as_ref().filter(|_| !app.is_admitted_by(row)) {
            return Some(Self::Label(label));
        }
        if app.preferences.avoids(&row.description.host) {
            return Some(Self::Avoided);
        }
        if let Some(impairment) = row.impairment() {
            return Some(Self::Impaired(impairment.to_string()));
        }
        if let Some(since) = row.link.away_since() {
            let away = duration(now.since(since));
            return Some(Self::Impaired(format!("is away for {away}, since its connection ended")));
        }
        if !row.link.is_here() {
            return Some(Self::Impaired("has not returned since the Master was restarted".to_owned()));
        }
        if row.unknown_processes.is_some() {
            let why = "runs executors of another Master, which are left alone for now";
            return Some(Self::Impaired(why.to_owned()));
        }
        excluded.then_some(Self::Excluded)
    }
}

fn reason_of(blocker: &Blocker) -> Reason {
    match *blocker {
        Blocker::NeverFits { executors, room } => Reason::GangTooLarge { executors, room },
        Blocker::Gang { executors, room, kept: _ } => Reason::GangWaits { executors, room },
        Blocker::Reserved { .. } => Reason::KeptForAnother,
    }
}
