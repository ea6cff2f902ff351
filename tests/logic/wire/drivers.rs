//! Messages between drivers and Masters.

use super::*;

pub(super) fn drivers(record: &mut Record) {
    let app = key().app;
    let description = ApplicationDescription::new(
        Submitter::new("name", "user"),
        WantedExecutors {
            profile: profile(),
            max_cores: Some(Cores(300)),
            limit: ExecutorLimit::AtMost(2),
            relaunch: Relaunch::WhenLost,
            first: ExecutorId(17),
        },
        Placing { policy: Some(Policy::BestFit), queue: Some("prod".to_owned()), priority: -1, gang: 3 },
        Work::of(command()),
    );
    let target = ExecutorTarget { id: ProfileId(1), profile: profile(), total: 4 };
    for message in [
        DriverToMaster::RegisterApplication(Box::new(description.clone())),
        DriverToMaster::UnregisterApplication { app: app.clone(), outcome: None },
        DriverToMaster::UnregisterApplication { app: app.clone(), outcome: Some(Outcome::Succeeded) },
        DriverToMaster::UnregisterApplication { app: app.clone(), outcome: Some(failed()) },
        DriverToMaster::UnregisterApplication { app: app.clone(), outcome: Some(Outcome::cancelled("why")) },
        DriverToMaster::RequestExecutors { app: app.clone(), targets: vec![target] },
        DriverToMaster::KillExecutors { app: app.clone(), executors: vec![ExecutorId(1), ExecutorId(2)] },
        DriverToMaster::PreferHosts {
            app: app.clone(),
            preferences: Box::new(HostPreferences {
                tasks: 5,
                preferred: BTreeMap::from([("node-1".to_owned(), 7)]),
                racks: BTreeMap::from([("node-1".to_owned(), "/r1".to_owned())]),
                avoided: BTreeSet::from(["node-9".to_owned()]),
            }),
        },
        DriverToMaster::RequestShortfall { app: app.clone() },
        DriverToMaster::ResumeApplication(Resumption {
            app: app.clone(),
            executors: vec![ExecutorId(1), ExecutorId(300)],
            description: Box::new(description),
        }),
    ] {
        record.add("driver-to-master", &message);
    }
    for message in [
        MasterToDriver::RegisteredApplication {
            app,
            master_url: "spark://m:7077".to_owned(),
            max_cores: Cores(24),
            first_executor: ExecutorId(17),
            mark: None,
        },
        MasterToDriver::ExecutorAdded {
            executor: ExecutorId(3),
            profile: ProfileId(1),
            worker: WorkerId::new("worker-1"),
            host: "host".to_owned(),
            cores: Cores(2),
            memory: MiB(512),
            port: 7078,
        },
        MasterToDriver::ExecutorUpdated {
            executor: ExecutorId(3),
            state: ExecutorState::Running,
            lost_host: Some("host".to_owned()),
        },
        MasterToDriver::WorkerRemoved {
            worker: WorkerId::new("worker-1"),
            host: "host".to_owned(),
            reason: LossReason::Disconnected,
        },
        MasterToDriver::ExecutorsGone { app: AppId::new("app-1") },
        MasterToDriver::ApplicationRemoved(ApplicationEnd::Finished { outcome: Some(failed()) }),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::DriverLost),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::ExecutorsFailed {
            failures: 10,
            last: ExecutorState::Running,
        }),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::Killed { by: "ann@host".to_owned() }),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::GivenUp { reason: "why".to_owned() }),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::Refused { reason: "why".to_owned() }),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::GangRefused(UnsoundGang::NoCores {
            executors: 3,
        })),
        MasterToDriver::ApplicationRemoved(ApplicationEnd::GangRefused(UnsoundGang::TooManyCores {
            executors: 3,
            cores: Cores(2),
            needed: Cores(6),
            max: Cores(5),
        })),
        MasterToDriver::ExecutorLeaving { executor: ExecutorId(7), host: Some("host".to_owned()) },
        MasterToDriver::ExecutorsRequested { accepted: true },
        MasterToDriver::ExecutorsKilled { accepted: false },
        MasterToDriver::Shortfalls(shortfalls()),
        MasterToDriver::Shortfalls(newer_shortfalls()),
    ] {
        record.add("master-to-driver", &message);
    }
}

/// The reasons that version 7 added.
fn newer_shortfalls() -> Vec<(ProfileId, firesteel_placement::Shortfall)> {
    let (_, busy) = shortfalls().pop().expect("there are some");
    let shortfall::Reason::Busy { workers } = busy.reason.clone() else { panic!("{busy:?}") };
    let holder = shortfall::CoreHolder {
        app: "app-2".to_owned(),
        name: "nightly".to_owned(),
        cores: Cores(6),
        of: Cores(8),
    };
    let reasons = [
        shortfall::Reason::Impaired { workers: 1, why: "does not answer".to_owned() },
        shortfall::Reason::Held { workers, holder, others: 2 },
        shortfall::Reason::Paused { failures: 2, millis: 100 },
        shortfall::Reason::Avoided { workers: 1 },
        shortfall::Reason::UserLimit { limit: "2 cores".to_owned() },
    ];
    let with = |reason| (ProfileId::DEFAULT, firesteel_placement::Shortfall { reason, ..busy.clone() });
    reasons.map(with).to_vec()
}

/// One of each kind of reason in version 6.
pub(super) fn shortfalls() -> Vec<(ProfileId, firesteel_placement::Shortfall)> {
    let demand = |each: i64, left: i64, limit| Demand {
        size: ExecutorSize::Fixed(Cores(each)),
        memory: MiB(1024),
        cores_left: Cores(left),
        limit,
        ..Demand::default()
    };
    let offer =
        |cores| Offer { worker: "w", cores: Cores(cores), memory: MiB(512), resources: Resources::NONE };
    let large = Offer { memory: MiB(4096), ..offer(8) };
    let rows = [
        shortfall(&demand(4, 8, ExecutorLimit::AtMost(0)), &[], &[]),
        shortfall(&demand(4, 2, ExecutorLimit::Unlimited), &[], &[]),
        shortfall(&demand(4, 8, ExecutorLimit::Unlimited), &[], &[]),
        shortfall(&demand(4, 8, ExecutorLimit::Unlimited), &[offer(2)], &[offer(8)]),
        shortfall(&demand(4, 8, ExecutorLimit::Unlimited), &[offer(2)], &[large]),
    ];
    rows.into_iter().flatten().map(|row| (ProfileId::DEFAULT, row)).collect()
}
