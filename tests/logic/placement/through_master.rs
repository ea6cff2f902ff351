//! The same placements, decided by a whole Master through `Master::apply`.

use firesteel_master::{
    ApplicationCondition, ApplicationSnapshot, Config, Effect, Event, ExecutorSnapshot, HeldResources,
    Inbound, Master, Outbound, Snapshot, WorkerSnapshot,
};
use firesteel_placement::advanced::offers::place;
use firesteel_placement::{
    Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, ResourceAmounts, Resources, WorkerOrder,
};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToMaster, ExecutorLaunch, MasterToWorker, Offered, Placing,
    ResourceProfile, Submitter, WantedExecutors, Work, WorkerDescription, WorkerToMaster,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::{Machine, Timestamp};
use firesteel_sim::plan::{self, PlacementCall};

use super::reference::case::{Case, Translated};
use crate::fixtures;
use crate::suites::laws::{self, ensure};

const DRIVERS: u64 = 1_000_000;
const ELSEWHERE: &str = "elsewhere";

fn description(demand: &Demand, max_cores: Cores) -> ApplicationDescription {
    ApplicationDescription::new(
        Submitter::new("test", "test"),
        WantedExecutors {
            profile: ResourceProfile {
                cores: match demand.size {
                    ExecutorSize::Fixed(cores) => Some(cores),
                    ExecutorSize::OnePerWorker => None,
                },
                memory: Some(demand.memory),
                resources: demand.resources.clone(),
            },
            max_cores: Some(max_cores),
            limit: demand.limit,
            ..WantedExecutors::default()
        },
        Placing::default(),
        Work::of(Command::of("true")),
    )
}

fn worker(n: usize, offer: &Offer<'_>) -> WorkerSnapshot {
    let description = WorkerDescription::new(
        WorkerId::new(offer.worker),
        Address::new(offer.worker.to_owned(), 7078),
        Offered { cores: offer.cores, memory: offer.memory, resources: offer.resources.clone() },
        "/work",
    );
    WorkerSnapshot::serving(description, PeerId(n as u64))
}

/// A Master with these Workers and one application with this demand. The executors that the application holds are on a
/// separate Worker.
pub(super) fn restored(demand: &Demand, offers: &[Offer<'_>], config: Config) -> Master {
    let held = i64::try_from(demand.held).expect("few executors are held");
    let mut workers: Vec<WorkerSnapshot> =
        offers.iter().enumerate().map(|(n, offer)| worker(n, offer)).collect();
    let elsewhere =
        Offer { worker: ELSEWHERE, cores: Cores(held), memory: MiB(0), resources: Resources::NONE };
    workers.push(worker(offers.len(), &elsewhere));
    let executor = |n: u64| ExecutorSnapshot {
        id: ExecutorId(u32::try_from(n).expect("few executors are held")),
        profile: ProfileId::DEFAULT,
        worker: WorkerId::new(ELSEWHERE),
        cores: Cores(1),
        memory: MiB(0),
        resources: HeldResources::Amounts(ResourceAmounts::new()),
        launched: Timestamp::default(),
    };
    let application = ApplicationSnapshot {
        id: AppId::new("app"),
        description: description(demand, demand.cores_left + Cores(held)),
        submitted: Timestamp::default(),
        peer: PeerId(DRIVERS),
        profiles: Vec::new(),
        executors: (0..demand.held).map(executor).collect(),
        next_executor: ExecutorId(0),
        preempted: Vec::new(),
        condition: ApplicationCondition::default(),
    };
    let snapshot = Snapshot { workers, applications: vec![application], ..Snapshot::default() };
    Master::restore(config, Timestamp::default(), snapshot).expect("the snapshot is sound")
}

fn launches(effects: &[Effect]) -> Vec<(PeerId, ExecutorLaunch)> {
    let launch = |effect: &Effect| match effect {
        Effect::Send { peer, message: Outbound::Worker(MasterToWorker::LaunchExecutor(launch)) } => {
            Some((*peer, launch.clone()))
        }
        _ => None,
    };
    effects.iter().filter_map(launch).collect()
}

/// The cores that each Worker gives when the Master's pass runs.
fn decided(mut master: Master, workers: usize) -> Vec<Cores> {
    let effects = master.apply(Timestamp::default(), Event::Deadline { heard_until: Timestamp::default() });
    master.check().expect("the invariants hold");
    given(&effects, workers)
}

fn given(effects: &[Effect], workers: usize) -> Vec<Cores> {
    let mut cores = vec![Cores::ZERO; workers];
    for (peer, launch) in launches(effects) {
        cores[usize::try_from(peer.0).expect("it is an index")] += launch.cores;
    }
    cores
}

/// Like `decided`, after a message of the driver.
pub(super) fn launched(mut master: Master, message: DriverToMaster, workers: usize) -> Vec<Cores> {
    let event = Event::Received {
        peer: PeerId(DRIVERS),
        arrived: Timestamp::default(),
        message: Inbound::Driver(message),
    };
    let mut effects = master.apply(Timestamp::default(), event);
    effects.extend(master.apply(Timestamp::default(), Event::Deadline { heard_until: Timestamp::default() }));
    master.check().expect("the invariants hold");
    given(&effects, workers)
}

/// A recorded call includes Workers without room, which a Master leaves out. This matters only for Workers with a
/// negative number of cores, which the rule adds up. For these, the rule gets only Workers with room.
#[test]
fn every_recorded_call_comes_out_the_same_through_a_master() {
    let (mut recorded_alike, mut asked_again) = (0, 0);
    for call in plan::calls(fixtures::open_gz("conformance/placements.jsonl.gz")) {
        let call: PlacementCall = call.expect("a recorded call is well formed");
        let ids: Vec<String> = (0..call.workers.len()).map(|n| format!("w{n:05}")).collect();
        let offers: Vec<Offer<'_>> =
            call.offers().into_iter().zip(&ids).map(|(offer, id)| Offer { worker: id, ..offer }).collect();
        let config =
            Config { strategy: call.strategy, worker_order: WorkerOrder::WorkerId, ..Config::default() };
        let found = decided(restored(&call.demand, &offers, config), offers.len());

        let sum: Cores = offers.iter().map(|offer| offer.cores).sum();
        let odd = sum > Cores(i64::from(i32::MAX)) || offers.iter().any(|offer| offer.cores < Cores::ZERO);
        if odd {
            let placed = place(&call.demand, offers.clone(), WorkerOrder::WorkerId, call.strategy);
            let mut expected = vec![Cores::ZERO; offers.len()];
            for executor in placed.executors() {
                expected[ids.iter().position(|id| id == executor.worker).expect("it is one")] +=
                    executor.cores;
            }
            assert_eq!(found, expected, "call {}", call.i);
            asked_again += 1;
        } else {
            assert_eq!(Some(found), call.recorded, "call {}", call.i);
            recorded_alike += 1;
        }
    }
    assert_eq!(recorded_alike + asked_again, 6000);
    assert!(asked_again < 120, "{asked_again} calls are odd");
}

/// These Workers register at a Master in this order, and then an application. Returns the launches, in order.
fn registered(case: &Translated, offers: &[Offer<'_>]) -> Vec<(String, ExecutorKey, Cores, Resources)> {
    let config = Config { strategy: case.strategy, worker_order: case.order, ..Config::default() };
    let mut master = Master::new(config);
    let mut apply = |peer, message| {
        let effects = master.apply(
            Timestamp::default(),
            Event::Received { peer: PeerId(peer), arrived: Timestamp::default(), message },
        );
        master.check().expect("the invariants hold");
        effects
    };
    let sound = |offer: &&Offer<'_>| offer.cores > Cores::ZERO && offer.memory > MiB::ZERO;
    for (n, offer) in offers.iter().filter(sound).enumerate() {
        let worker = worker(n, offer).description;
        apply(n as u64, Inbound::Worker(WorkerToMaster::register(worker, Vec::new())));
    }
    // Two applications, so that the second gets the rest.
    let mut all = Vec::new();
    for driver in [DRIVERS, DRIVERS + 1] {
        let application = description(&case.demand, case.demand.cores_left);
        let effects =
            apply(driver, Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(application))));
        for (peer, launch) in launches(&effects) {
            let on = offers.iter().filter(sound).nth(usize::try_from(peer.0).expect("it is an index"));
            let on = on.expect("it is one of them").worker.to_owned();
            all.push((on, launch.executor, launch.cores, launch.resources));
        }
    }
    all
}

#[test]
fn a_pass_does_not_depend_on_the_order_in_which_workers_registered() {
    let name = "placement::through_master::a_pass_does_not_depend_on_the_order_in_which_workers_registered";
    laws::hold(name, 20_000, |(case, turn): &(Case, usize)| {
        let case = case.translate();
        let mut offers = case.offers();
        let one = registered(&case, &offers);
        let turn = turn % offers.len().max(1);
        offers.rotate_left(turn);
        let other = registered(&case, &offers);
        offers.reverse();
        let third = registered(&case, &offers);
        ensure!(one == other && one == third, "one order gives {one:?}, another {other:?} or {third:?}");
        ensure!(
            case.demand.limit != ExecutorLimit::AtMost(0) || one.is_empty(),
            "executors were launched for nobody"
        );
        Ok(())
    });
}
