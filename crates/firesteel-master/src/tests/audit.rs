//! The audit log lines for users' requests.

use super::*;

const CLIENT: PeerId = PeerId(200);

impl Bench {
    /// The audit log lines of a message, each with the user who asked.
    fn audited(&mut self, peer: PeerId, message: Inbound) -> Vec<String> {
        let effects = self.master.apply(self.now, Event::Received { peer, arrived: self.now, message });
        let audits = effects.into_iter().filter_map(|effect| match effect {
            Effect::Note(Note::Audited(audit)) => Some(audit),
            _ => None,
        });
        audits
            .map(|audit| {
                assert_eq!(audit.peer, peer);
                format!("{}: {audit}", audit.by.as_deref().unwrap_or("-"))
            })
            .collect()
    }

    fn client_audited(&mut self, message: ClientToMaster) -> Vec<String> {
        self.audited(CLIENT, Inbound::Client(message))
    }

    fn driver_audited(&mut self, message: DriverToMaster) -> Vec<String> {
        self.audited(DRIVER, Inbound::Driver(message))
    }
}

pub(super) fn submission(user: &str, cores: i64) -> ClientToMaster {
    ClientToMaster::RequestSubmitDriver(Box::new(DriverDescription {
        user: user.to_owned(),
        command: command(),
        cores: Cores(cores),
        memory: MiB(512),
        supervise: false,
        resources: ResourceAmounts::new(),
    }))
}

fn kill_app(app: &str, by: &str) -> ClientToMaster {
    ClientToMaster::KillApplication { app: app.to_owned(), by: admin(by) }
}

fn kill_driver(driver: &str) -> ClientToMaster {
    ClientToMaster::RequestKillDriver { driver: DriverId::new(driver), by: admin("ann@host") }
}

fn decommission(which: &str) -> ClientToMaster {
    ClientToMaster::DecommissionWorkers {
        which: which.to_owned(),
        within_millis: None,
        by: admin("ann@host"),
    }
}

#[test]
fn each_request_that_changes_something_leaves_one_audit_line_with_its_outcome() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    let register = || DriverToMaster::RegisterApplication(Box::new(description(Some(4), Some(4))));
    assert_eq!(
        bench.driver_audited(register()),
        [format!("me: register-application \"test\": done: {}", app())]
    );
    assert_eq!(bench.driver_audited(register()), [""; 0], "the same driver again changes nothing");
    let driver = "driver-20261120212235-0000";
    for (message, line) in [
        (submission("ann@host", 1), format!("ann@host: submit-driver \"true\": done: {driver}")),
        (
            submission("ann@host", 0),
            "ann@host: submit-driver \"true\": refused: a driver has 1 to 65,536 cores and at least 1 MiB, not 0 \
             cores and 512 MiB".to_owned(),
        ),
        (kill_driver(driver), format!("ann@host: kill-driver {driver:?}: done: {driver}")),
        (
            kill_driver("driver-1"),
            "ann@host: kill-driver \"driver-1\": refused: no driver has this id".to_owned(),
        ),
        (
            ClientToMaster::RequestKillAllDrivers { by: admin("ann@host") },
            "ann@host: kill-all-drivers \"all\": done: 1 driver".to_owned(),
        ),
        (kill_app("test", "ann@host"), format!("ann@host: kill-application \"test\": done: {}", app())),
        (
            kill_app("test", "bob@host"),
            format!("bob@host: kill-application \"test\": unchanged: {} had ended before", app()),
        ),
        (
            kill_app("nobody", ""),
            "-: kill-application \"nobody\": refused: no application has this id or name".to_owned(),
        ),
        (decommission("host1"), "ann@host: decommission-workers \"host1\": done: w1".to_owned()),
        (
            decommission("w9"),
            "ann@host: decommission-workers \"w9\": refused: no living Worker has this id or host".to_owned(),
        ),
        (
            ClientToMaster::RequestClearCompletedDriversAndApps { by: admin("ann@host") },
            "ann@host: clear-completed \"all\": done: what had ended is forgotten".to_owned(),
        ),
    ] {
        assert_eq!(bench.client_audited(message), [line]);
    }
}

#[test]
fn whoever_asks_for_more_than_he_may_is_refused_and_changes_nothing() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(4), 4);
    bench.client_audited(submission("ann", 1));
    let (before, driver) = (bench.master.image(), DriverId::new("driver-20261120212235-0000"));
    let requests = |by: &Requester| {
        let by = by.clone();
        [
            ClientToMaster::KillApplication { app: "test".to_owned(), by: by.clone() },
            ClientToMaster::RequestKillDriver { driver: driver.clone(), by: by.clone() },
            ClientToMaster::RequestKillAllDrivers { by: by.clone() },
            ClientToMaster::DecommissionWorkers {
                which: "host1".to_owned(),
                within_millis: None,
                by: by.clone(),
            },
            ClientToMaster::RequestClearCompletedDriversAndApps { by },
        ]
    };
    let (app, id) = (app(), &driver);
    let refusals = [
        format!(
            "kill-application \"test\": refused: application {app} belongs to me, and bob may not end it"
        ),
        format!("kill-driver \"{id}\": refused: cluster driver {id} belongs to ann, and bob may not end it"),
        "kill-all-drivers \"all\": refused: bob may not end the cluster drivers of other users".to_owned(),
        "decommission-workers \"host1\": refused: only an administrator may decommission Workers".to_owned(),
        "clear-completed \"all\": refused: only an administrator may clear what has ended".to_owned(),
    ];
    for (rights, refused) in [(Rights::None, 0..5), (Rights::Own, 0..5), (Rights::Modify, 3..5)] {
        let all = requests(&Requester::new("bob@host", rights));
        for (message, line) in all.into_iter().zip(&refusals).skip(refused.start) {
            assert_eq!(bench.client_audited(message), [format!("bob@host: {line}")], "{rights}");
        }
    }
    assert_eq!(bench.master.image(), before);
    let (me, ann) = (Requester::new("me@host", Rights::Own), Requester::new("ann", Rights::Own));
    let [kill_app, ..] = requests(&me);
    let [_, kill_driver, ..] = requests(&ann);
    for message in [kill_app, kill_driver] {
        let lines = bench.client_audited(message);
        assert!(lines.len() == 1 && lines[0].contains("\": done: "), "{lines:?}");
    }
}

#[test]
fn questions_leave_no_audit_line() {
    let mut bench = Bench::new(Config::default());
    bench.worker(1, 8);
    bench.application(Some(4), 4);
    for question in [
        ClientToMaster::RequestReadyz,
        ClientToMaster::RequestMasterState { from: StateCursor::Application(0) },
        ClientToMaster::RequestApplication { app: "test".to_owned(), executors_from: ExecutorId(0) },
        ClientToMaster::RequestDriverStatus { driver: DriverId::new("driver-1") },
    ] {
        assert_eq!(bench.client_audited(question), [""; 0]);
    }
}

#[test]
fn a_refused_application_and_names_that_are_too_long_are_audited_within_bounds() {
    let mut bench = Bench::new(Config::default());
    let long = "x".repeat(5000);
    let submitter = Submitter::new(&long, "me");
    let mut description = description(Some(4), Some(4));
    description.name = submitter.name;
    let lines = bench.driver_audited(DriverToMaster::RegisterApplication(Box::new(description)));
    assert!(lines.len() == 1 && lines[0].contains("refused: the names of an application"), "{lines:?}");
    assert!(lines[0].len() < 600, "{}", lines[0].len());
    let lines = bench.client_audited(kill_app(&long, &long));
    assert!(lines.len() == 1 && lines[0].len() < 600, "{lines:?}");
}

#[test]
fn notes_name_the_ids_that_their_words_name() {
    let (app, worker, driver) = (app(), WorkerId::new("w1"), DriverId::new("driver-1"));
    let executor = key(3);
    let none = Mentions::NONE;
    for (note, expected) in [
        (Note::Recovered, none),
        (Note::WorkerReconnected { worker: worker.clone() }, Mentions { worker: Some(&worker), ..none }),
        (Note::ApplicationReconnected { app: app.clone() }, Mentions { app: Some(&app), ..none }),
        (
            Note::OrderRepeated { executor: executor.clone(), worker: worker.clone() },
            Mentions { app: Some(&app), executor: Some(ExecutorId(3)), worker: Some(&worker), ..none },
        ),
        (
            Note::DriverReturned { driver: driver.clone(), worker: worker.clone() },
            Mentions { driver: Some(&driver), worker: Some(&worker), ..none },
        ),
        (
            Note::Ignored { peer: CLIENT, reason: Ignored::UnknownDriver { driver: driver.clone() } },
            Mentions { driver: Some(&driver), peer: Some(CLIENT), ..none },
        ),
    ] {
        assert_eq!(note.mentions(), expected, "{note}");
    }
}
