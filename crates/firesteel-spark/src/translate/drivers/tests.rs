//! Tests of drivers' requests and messages to drivers, as tables of cases.

use firesteel_placement::Policy;
use firesteel_protocol::ids::AppId;
use firesteel_protocol::process::executor_command::JavaCommand;
use firesteel_protocol::process::{ExitStatus, StartFailure, StartStep};
use messages::ExecutorState as Spark;

use super::*;

fn spark(id: i32, amounts: &[(&str, i64)]) -> Profile {
    let amounts = amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount));
    Profile { id, amounts: amounts.collect() }
}

fn needed(cores: Option<i64>, memory: i64, resources: &[(&str, u64)]) -> ResourceProfile {
    let resources = resources.iter().map(|(name, amount)| ((*name).to_owned(), (*amount).into()));
    ResourceProfile { cores: cores.map(Cores), memory: Some(MiB(memory)), resources: resources.collect() }
}

#[test]
fn cores_memory_and_custom_resources_are_counted_and_nothing_else() {
    let rows = [
        (spark(0, &[("memory", 512), ("offHeap", 0)]), needed(None, 512, &[])),
        (spark(0, &[("memory", 1024), ("cores", 2), ("gpu", 1)]), needed(Some(2), 1024, &[("gpu", 1)])),
        (
            spark(7, &[("memory", 1), ("memoryOverhead", 384), ("pyspark.memory", 5), ("fpga", 0)]),
            needed(None, 1, &[("fpga", 0)]),
        ),
    ];
    for (asked, expected) in rows {
        assert_eq!(profile(&asked), Ok(expected));
    }
}

#[test]
fn what_does_not_fit_is_refused_with_a_sentence() {
    let rows = [
        (spark(0, &[("memory", -1)]), "memory of an executor cannot be -1"),
        (spark(0, &[("gpu", i64::MIN)]), "gpu of an executor cannot be -9223372036854775808"),
        (spark(0, &[("cores", 0)]), "an executor cannot have 0 cores"),
        (spark(0, &[("cores", 1 << 40)]), "an executor cannot have 1099511627776 cores"),
    ];
    for (asked, expected) in rows {
        assert_eq!(profile(&asked).expect_err("it is refused").to_string(), expected);
    }
    let wanted = |id, total| WantedExecutors::ByProfile(vec![(spark(id, &[("memory", 1)]), total)]);
    let default = ResourceProfile::default();
    let refused =
        |wanted: &WantedExecutors| targets(wanted, &default).expect_err("it is refused").to_string();
    assert_eq!(refused(&wanted(-1, 1)), "there is no resource profile -1");
    assert_eq!(refused(&wanted(0, -2)), "an application cannot have -2 executors");
    assert_eq!(refused(&WantedExecutors::OfDefault(-3)), "an application cannot have -3 executors");
}

/// An application whose executors have this variable.
fn with(name: &str, value: &str) -> Result<ApplicationDescription, Unfit> {
    let environment = [(name.to_owned(), value.to_owned())].into();
    let command = JavaCommand { main_class: "Executor".to_owned(), environment, ..JavaCommand::default() };
    application(Application {
        name: "app".to_owned(),
        user: "ann".to_owned(),
        ui_url: String::new(),
        max_cores: None,
        initial_limit: None,
        profile: spark(0, &[("memory", 512)]),
        command,
    })
}

#[test]
fn an_application_names_its_queue_priority_and_policy_by_variables() {
    let placed = |name, value| {
        let ApplicationDescription { queue, priority, policy, .. } = with(name, value).expect("it fits");
        (queue, priority, policy)
    };
    assert_eq!(placed("COLOUR", "red"), (None, 0, None));
    assert_eq!(placed(QUEUE, "nightly"), (Some("nightly".to_owned()), 0, None));
    assert_eq!(placed(PRIORITY, " -3 "), (None, -3, None));
    assert_eq!(placed(POLICY, " Spread-Held"), (None, 0, Some(Policy::SpreadHeld)));
    let refused = |name, value| with(name, value).expect_err("it is refused").to_string();
    assert_eq!(
        refused(PRIORITY, "high"),
        "the priority of an application cannot be \"high\": FIRESTEEL_PRIORITY is a whole number"
    );
    assert_eq!(
        refused(POLICY, "best"),
        concat!("FIRESTEEL_POLICY: no policy is called \"best\": use ", firesteel_placement::policy_names!())
    );
    assert_eq!(
        refused(POLICY, "expr:left.cores"),
        concat!(
            "FIRESTEEL_POLICY: no policy is called \"expr:left.cores\": use ",
            firesteel_placement::policy_names_only!()
        )
    );
}

#[test]
fn an_application_asks_for_parts_and_kinds_by_a_variable() {
    let needed = |value| with(RESOURCES, value).expect("it fits").profile.resources;
    let quarter = "0.25".parse().expect("it is an amount");
    assert_eq!(needed("gpu=0.25"), [("gpu".to_owned(), quarter)].into());
    assert_eq!(needed("gpu:A100=1"), [("gpu:A100".to_owned(), 1.into())].into());
    let refused = |value| with(RESOURCES, value).expect_err("it is refused").to_string();
    assert_eq!(
        refused("gpu=1.5"),
        "FIRESTEEL_RESOURCES cannot have \"gpu=1.5\": write NAME=AMOUNT,.. such as gpu=0.25 or gpu:A100=1"
    );
}

#[test]
fn totals_are_those_of_the_profiles_that_are_named() {
    let default = needed(Some(1), 512, &[]);
    let of_default = targets(&WantedExecutors::OfDefault(4), &default);
    let target = |id, profile, total| ExecutorTarget { id: ProfileId(id), profile, total };
    assert_eq!(of_default, Ok(vec![target(0, default.clone(), 4)]));
    let wanted = vec![(spark(0, &[("memory", 512)]), 0), (spark(3, &[("memory", 1), ("cores", 2)]), 5)];
    let expected = vec![target(0, needed(None, 512, &[]), 0), target(3, needed(Some(2), 1, &[]), 5)];
    assert_eq!(targets(&WantedExecutors::ByProfile(wanted), &default), Ok(expected));
}

#[test]
fn only_numbers_name_executors() {
    let named = ["3", "x", "", "-1", "12", "99999999999"].map(str::to_owned);
    assert_eq!(executors(&named), [ExecutorId(3), ExecutorId(12)]);
}

#[test]
fn a_driver_is_told_states_as_spark_s_master_tells_them() {
    let failure = StartFailure { step: StartStep::Program, error: "no such file".to_owned() };
    let failed = format!("Error running executor: {failure}");
    let rows = [
        (ExecutorState::Running, None, (Spark::Running, None, None)),
        (
            ExecutorState::Exited(ExitStatus::Signal(9)),
            None,
            (Spark::Exited, Some("Command exited with code 137"), Some(137)),
        ),
        (
            ExecutorState::Exited(ExitStatus::Code(1)),
            None,
            (Spark::Exited, Some("Command exited with code 1"), Some(1)),
        ),
        (ExecutorState::Killed(Some(ExitStatus::Signal(15))), None, (Spark::Killed, None, None)),
        (ExecutorState::Killed(None), None, (Spark::Killed, None, None)),
        (ExecutorState::Failed(failure), None, (Spark::Failed, Some(failed.as_str()), None)),
        (
            ExecutorState::Lost(LossReason::Disconnected),
            Some("host"),
            (Spark::Lost, Some("worker lost: the Worker's connection ended"), None),
        ),
        (
            ExecutorState::Lost(LossReason::Unanswered),
            None,
            (Spark::Lost, Some("the Worker did not answer the request to launch it"), None),
        ),
    ];
    for (state, host, (told, why, status)) in rows {
        let expected = ToDriver::ExecutorUpdated {
            executor: 4,
            state: told,
            message: why.map(str::to_owned),
            exit_status: status,
            lost_host: host.map(str::to_owned),
        };
        let updated = executor_updated(ExecutorId(4), &state, host.map(str::to_owned));
        assert_eq!(updated, Some(expected), "{state}");
    }
    assert_eq!(executor_updated(ExecutorId(u32::MAX), &ExecutorState::Running, None), None);
}

#[test]
fn a_driver_that_ended_its_application_is_not_told_that_it_is_gone() {
    let message = |end: &ApplicationEnd| match application_removed(end) {
        Some(ToDriver::ApplicationRemoved { message }) => Some(message),
        _ => None,
    };
    assert_eq!(message(&ApplicationEnd::Finished { outcome: None }), None);
    assert_eq!(message(&ApplicationEnd::DriverLost), None);
    let killed = ApplicationEnd::Killed { by: "ann@host".to_owned() };
    assert_eq!(message(&killed).as_deref(), Some("KILLED: it was killed by ann@host"));
    let refused = ApplicationEnd::Refused { reason: "no".to_owned() };
    assert_eq!(message(&refused).as_deref(), Some("FAILED: refused: no"));
}

#[test]
fn a_driver_of_spark_s_is_told_what_its_master_would_tell_and_answered_when_it_asked() {
    let master = Address { host: "m".to_owned(), port: 7077 };
    let (app, worker, host) = (AppId::new("app-1"), WorkerId::new("worker-1"), "h".to_owned());
    let added = |executor| MasterToDriver::ExecutorAdded {
        executor: ExecutorId(executor),
        profile: ProfileId::DEFAULT,
        worker: worker.clone(),
        host: host.clone(),
        cores: Cores(2),
        memory: MiB(512),
        port: 7078,
    };
    let registered = MasterToDriver::RegisteredApplication {
        app: app.clone(),
        master_url: "spark://elsewhere:1".to_owned(),
        max_cores: Cores(4),
        first_executor: ExecutorId(0),
        mark: None,
    };
    let lost = MasterToDriver::WorkerRemoved {
        worker: worker.clone(),
        host: host.clone(),
        reason: LossReason::Disconnected,
    };
    let rows = [
        (
            registered,
            OutgoingMessage::Message(ToDriver::RegisteredApplication {
                app: app.to_string(),
                master: master.clone(),
            }),
        ),
        (
            added(3),
            OutgoingMessage::Message(ToDriver::ExecutorAdded {
                executor: 3,
                worker: worker.to_string(),
                address: Address { host: host.clone(), port: 7078 },
                cores: 2,
                memory: 512,
            }),
        ),
        (added(u32::MAX), OutgoingMessage::Nothing),
        (
            lost,
            OutgoingMessage::Message(ToDriver::WorkerRemoved {
                worker: worker.to_string(),
                host: host.clone(),
                message: "the Worker's connection ended".to_owned(),
            }),
        ),
        (
            MasterToDriver::ExecutorLeaving { executor: ExecutorId(3), host: Some(host.clone()) },
            OutgoingMessage::Message(ToDriver::ExecutorUpdated {
                executor: 3,
                state: Spark::Decommissioned,
                message: Some("worker decommissioned".to_owned()),
                exit_status: None,
                lost_host: Some(host.clone()),
            }),
        ),
        (MasterToDriver::ExecutorsRequested { accepted: true }, OutgoingMessage::Answer(true)),
        (MasterToDriver::ExecutorsKilled { accepted: false }, OutgoingMessage::Answer(false)),
        (MasterToDriver::ExecutorsGone { app }, OutgoingMessage::Nothing),
        (MasterToDriver::Shortfalls(Vec::new()), OutgoingMessage::Nothing),
    ];
    for (message, told) in rows {
        assert_eq!(to_driver(&message, &master), told, "{message:?}");
    }
}
