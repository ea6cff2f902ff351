use super::*;
use firesteel_placement::{Policy, WorkerOrder};

fn parsed(pairs: &[&str]) -> Result<Config, SettingError> {
    config(&Properties::parse(pairs.iter().copied())?, "spark://h:7077".to_owned())
}

#[test]
fn every_key_reaches_its_field() {
    let url = "spark://h:7077".to_owned();
    let limits = Limits {
        workers: 100_000,
        applications: 100_000,
        cores: Cores(4096),
        memory: MiB(64 << 20),
        addresses: 4096,
        executors: 100_000,
        text: 4096,
        per_user: PerUser::default(),
        kept: u64::MAX,
    };
    let durability = Durability::Durable;
    assert_eq!(
        parsed(&[]),
        Ok(Config {
            url: url.clone(),
            durability,
            limits,
            away_timeout: Duration::from_secs(30),
            ..Config::default()
        })
    );
    let all = [
        "spark.worker.timeout=7",
        "spark.deploy.spreadOutApps=FALSE",
        "spark.deploy.workerSelectionPolicy=memory_free_asc",
        "firesteel.placement.policy=best-fit",
        "spark.deploy.defaultCores=3",
        "spark.deploy.maxExecutorRetries=-1",
        "firesteel.executor.provenAfter=1500ms",
        "firesteel.master.exclusion.delay=200ms",
        "firesteel.master.exclusion.maxDelay=2m",
        "spark.deploy.retainedApplications=5",
        "firesteel.master.history.maxAge=2h",
        "firesteel.master.history.maxSize=3m",
        "spark.deploy.spreadOutDrivers=false",
        "spark.deploy.maxDrivers=6",
        "spark.deploy.retainedDrivers=7",
        "spark.deploy.recoveryMode=none",
        "spark.deploy.recoveryTimeout=8s",
        "firesteel.master.awayTimeout=0",
        "spark.dead.worker.persistence=0",
        "firesteel.master.queues=prod=3,dev=1",
        "firesteel.master.backfill=false",
        "firesteel.master.reservations=4",
        "firesteel.master.order=Shortest",
        "firesteel.master.preemption=3",
        "firesteel.master.preemption.interval=10s",
        "firesteel.master.preemption.gangPatience=20s",
        "firesteel.master.preemption.gangReach=1min",
        "firesteel.master.maxWorkers=1",
        "firesteel.master.maxApplications=2",
        "firesteel.master.maxWorkerCores=3",
        "firesteel.master.maxWorkerMemory=4g",
        "firesteel.master.maxWorkerAddresses=5",
        "firesteel.master.maxWorkerExecutors=6",
        "firesteel.master.maxTextLength=7",
        "firesteel.user.maxApplications=8",
        "firesteel.user.maxSubmissions=9",
        "firesteel.master.memory=8m",
        "firesteel.master.resourceShares=true",
    ];
    let expected = Config {
        url,
        worker_timeout: Duration::from_secs(7),
        strategy: Strategy::Consolidate,
        worker_order: WorkerOrder::MemoryFreeAsc,
        rule: Policy::BestFit.into(),
        default_cores: Cores(3),
        retries: Retries::Unlimited,
        proven_after: Duration::from_millis(1500),
        exclusion: Exclusion::For { first: Duration::from_millis(200), longest: Duration::from_secs(120) },
        first_application: 0,
        web_address: None,
        exposed_until: Config::default().exposed_until,
        state_place: Config::default().state_place,
        run: Config::default().run,
        is_cut: false,
        foreign: Config::default().foreign,
        retained_applications: 5,
        history: HistoryLimits { age: Duration::from_secs(7200), bytes: 3 << 20 },
        driver_strategy: Strategy::Consolidate,
        max_drivers: 6,
        retained_drivers: 7,
        queues: "prod=3,dev=1".parse().expect("they are queues"),
        backfill: Backfill::Off,
        reservations: 4,
        order: ServingOrder::Shortest,
        preemption: Preemption::AtMost { executors: 3, every: Duration::from_secs(10) },
        gang_preemption: Some(GangPreemption {
            patience: Duration::from_secs(20),
            reach: Duration::from_secs(60),
        }),
        dead_worker_persistence: 0,
        durability: Durability::Volatile,
        recovery_timeout: Duration::from_secs(8),
        away_timeout: Duration::ZERO,
        page: Config::default().page,
        limits: Limits {
            workers: 1,
            applications: 2,
            cores: Cores(3),
            memory: MiB(4096),
            addresses: 5,
            executors: 6,
            text: 7,
            per_user: PerUser { applications: 8, submissions: 9, ..PerUser::default() },
            kept: 4 << 20,
        },
        resource_shares: ResourceShares::Allowed,
    };
    assert_eq!(parsed(&all), Ok(expected));
}

#[test]
fn the_old_name_of_spread_out_counts_where_the_new_one_is_not_set() {
    let strategy = |pairs: &[&str]| parsed(pairs).map(|config| config.strategy);
    assert_eq!(strategy(&["spark.deploy.spreadOut=false"]), Ok(Strategy::Consolidate));
    let both = ["spark.deploy.spreadOut=false", "spark.deploy.spreadOutApps=true"];
    assert_eq!(strategy(&both), Ok(Strategy::SpreadOut));
}

#[test]
fn a_master_waits_for_those_who_return_as_long_as_for_a_silent_worker() {
    let waits = |pairs: &[&str]| parsed(pairs).map(|config| config.recovery_timeout.as_secs());
    assert_eq!(waits(&["spark.worker.timeout=7"]), Ok(7));
    let away = parsed(&["spark.worker.timeout=7"]).map(|config| config.away_timeout);
    assert_eq!(away, Ok(Duration::from_millis(3500)));
    assert_eq!(waits(&["spark.worker.timeout=7", "spark.deploy.recoveryTimeout=70"]), Ok(70));
}

#[test]
fn zookeeper_is_used_if_its_servers_are_named() {
    let read = |pairs: &[&str]| recovery(&Properties::parse(pairs.iter().copied()).expect("they are pairs"));
    let zookeeper = |servers: &str, directory: &str, session, password: Option<&str>| ZooKeeper {
        servers: servers.into(),
        directory: directory.into(),
        session: Duration::from_secs(session),
        password: password.map(str::to_owned),
    };
    let (mode, url) = ("spark.deploy.recoveryMode=zookeeper", "spark.deploy.zookeeper.url=a:1,b:2/masters");
    let least = zookeeper("a:1,b:2/masters", "/spark", 4, None);
    assert_eq!(read(&[mode, url]), Ok(Recovery::ZooKeeper(least)));
    let rest = [
        "spark.deploy.zookeeper.dir=/here",
        "firesteel.master.zookeeper.sessionTimeout=9s",
        "firesteel.master.zookeeper.password=ann:secret",
    ];
    let all = zookeeper("a:1", "/here", 9, Some("ann:secret"));
    assert!(!format!("{all:?}").contains("secret"));
    let pairs = [&[mode, "spark.deploy.zookeeper.url=a:1"][..], &rest].concat();
    assert_eq!(read(&pairs), Ok(Recovery::ZooKeeper(all)));
    assert_eq!(read(&[url]), Ok(Recovery::Directory(None)), "its servers alone say nothing");
}

#[test]
fn executors_are_ended_for_gangs_only_with_preemption_and_patience() {
    let gangs = |pairs: &[&str]| parsed(pairs).map(|config| config.gang_preemption);
    let (off, on) = ("firesteel.master.preemption=0", "firesteel.master.preemption=1");
    let patience = "firesteel.master.preemption.gangPatience=20s";
    let (reach, none) =
        ("firesteel.master.preemption.gangReach=1min", "firesteel.master.preemption.gangReach=0");
    let with =
        |reach| Some(GangPreemption { patience: Duration::from_secs(20), reach: Duration::from_secs(reach) });
    assert_eq!(gangs(&[on, patience]), Ok(with(0)));
    assert_eq!(gangs(&[on, patience, reach]), Ok(with(60)));
    assert_eq!(gangs(&[on, none]), Ok(None));
    let without_preemption = "firesteel.master.preemption.gangPatience is 20s and firesteel.master.preemption is not \
                              set: no executor would be ended; set it, too";
    let without_patience = "firesteel.master.preemption.gangReach is 60s and \
                            firesteel.master.preemption.gangPatience is not set: no executor would be ended; set it, too";
    for (pairs, expected) in [
        (&[patience][..], without_preemption),
        (&[off, patience, reach], without_preemption),
        (&[on, reach], without_patience),
    ] {
        let error = gangs(pairs).expect_err("none is ended").to_string();
        assert_eq!(error, expected);
    }
}

#[test]
fn a_delay_of_zero_excludes_no_worker_and_the_longest_is_at_least_the_first() {
    let exclusion = |pairs: &[&str]| parsed(pairs).map(|config| config.exclusion);
    assert_eq!(exclusion(&["firesteel.master.exclusion.delay=0"]), Ok(Exclusion::Off));
    let ten = Duration::from_secs(10);
    let pairs = ["firesteel.master.exclusion.delay=10s", "firesteel.master.exclusion.maxDelay=5s"];
    assert_eq!(exclusion(&pairs), Ok(Exclusion::For { first: ten, longest: ten }));
}

#[test]
fn unusable_values_are_refused() {
    for pair in [
        "spark.worker.timeout=0",
        "spark.worker.timeout=soon",
        "spark.deploy.spreadOutApps=yes",
        "spark.deploy.workerSelectionPolicy=RANDOM",
        "firesteel.placement.policy=best",
        "firesteel.placement.policy=expr:left.core",
        "spark.deploy.defaultCores=0",
        "spark.deploy.maxExecutorRetries=-2",
        "spark.deploy.retainedApplications=-1",
        "spark.deploy.maxDrivers=0",
        "spark.deploy.recoveryMode=ZOOKEEPER",
        "spark.deploy.recoveryMode=CUSTOM",
        "spark.deploy.zookeeper.url=one:x",
        "spark.deploy.zookeeper.url=one/two/",
        "spark.deploy.zookeeper.dir=spark",
        "firesteel.master.zookeeper.password=secret",
        "firesteel.master.zookeeper.sessionTimeout=0",
        "spark.deploy.recoveryTimeout=0",
        "firesteel.master.exclusion.delay=soon",
        "firesteel.master.exclusion.maxDelay=-1",
        "firesteel.master.queues=prod=0",
        "firesteel.master.backfill=perhaps",
        "firesteel.master.reservations=0",
        "firesteel.master.order=longest",
        "firesteel.master.preemption=-1",
        "firesteel.master.preemption.interval=0",
        "firesteel.master.preemption.gangPatience=soon",
        "firesteel.master.preemption.gangReach=far",
        "firesteel.master.maxWorkers=0",
        "firesteel.master.maxTextLength=-1",
        "firesteel.master.maxWorkerCores=0",
    ] {
        let key = pair.split_once('=').expect("it is a pair").0;
        let error = parsed(&[pair]).expect_err(pair).to_string();
        assert!(error.starts_with(key), "{error}");
    }
}

#[test]
fn what_users_hold_is_limited_where_nothing_is_preempted() {
    let limits =
        ["firesteel.user.maxCores=10", "firesteel.user.maxMemory=11g", "firesteel.user.maxExecutors=12"];
    let expected = PerUser { cores: Cores(10), memory: MiB(11 << 10), executors: 12, ..PerUser::default() };
    assert_eq!(parsed(&limits).map(|config| config.limits.per_user), Ok(expected));
    for limit in limits {
        let error = parsed(&[limit, "firesteel.master.preemption=3"]).expect_err("they exclude each other");
        assert!(error.to_string().contains("write 0 where firesteel.user.maxCores"), "{error}");
        parsed(&[limit, "firesteel.master.preemption=0"]).expect("nothing is preempted");
    }
}
