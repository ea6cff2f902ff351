//! Usage is measured and reported. A disk that is too full is reported in the same way as one that cannot be written.

use firesteel_protocol::messages::{DiskSpace, ExceededLimit, Usage, Used, WorkerReport};
use firesteel_protocol::process::ExitStatus;

use super::*;
use crate::{LastMeasurement, Measurement, ProcessMeasurement};

fn report(executors: Vec<(ExecutorKey, Usage)>, disk: Option<DiskSpace>) -> WorkerReport {
    WorkerReport {
        worker: WorkerId::new("worker-1"),
        web_address: Some("http://h:8081/".to_owned()),
        master_web_address: None,
        machine: None,
        disk,
        executors,
        drivers: Vec::new(),
    }
}

fn reported(peer: u64, report: WorkerReport) -> Effect {
    send(peer, WorkerToMaster::WorkerReported(Box::new(report)))
}

#[test]
fn what_is_used_is_measured_from_time_to_time_and_reported_to_the_master_and_to_the_next_one() {
    let usage_pause = Some(Duration::from_secs(5));
    let web_address = Some("http://h:8081/".to_owned());
    let mut bench = Bench::of(Config { usage_pause, web_address, ..Bench::new(&["m"]).worker.config });
    bench.apply(Event::Start);
    bench.connect(1, "m");
    // The Worker reports its HTTP address at once.
    let effects = bench.master(1, registered("m"));
    assert!(effects.contains(&reported(1, report(Vec::new(), None))), "{effects:?}");
    bench.master(1, launch(0));
    bench.apply(Event::RunnerStarted { executor: key(0), pid: 70 });
    bench.master(1, launch(1));
    let measure = loop {
        match bench.deadline() {
            (Reason::Measurement, effects) => break effects,
            (Reason::Heartbeat, _) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        measure,
        [Effect::Measure { executors: vec![(key(0), 70)], drivers: Vec::new(), disk: false }]
    );
    let process = ProcessMeasurement { cpu_millis: 400, memory: 9, threads: 3, disk: None };
    let measurement = Measurement { executors: vec![(key(0), process)], ..Measurement::default() };
    let used = Usage { cpu_millis: 400, millicores: 0, memory: 9, peak_memory: 9 };
    let expected = report(vec![(key(0), used)], None);
    assert_eq!(bench.apply(Event::Measured(measurement)), [reported(1, expected.clone())]);
    // The Master reports where it serves HTTP. The Worker ignores a text that is not a URL.
    for (said, kept) in [("http://m:8080/", Some("http://m:8080/".to_owned())), ("javascript:x", None)] {
        let MasterToWorker::RegisteredWorker { master_url, heartbeat_millis, duplicate, .. } =
            registered("m")
        else {
            unreachable!("it is one")
        };
        let web_address = Some(said.to_owned());
        let confirmation = MasterToWorker::RegisteredWorker {
            master_url,
            heartbeat_millis,
            duplicate,
            web_address,
            mark: None,
        };
        bench.master(1, confirmation);
        assert_eq!(bench.worker.report_of_itself().master_web_address, kept);
    }
    // Another Master gets a report of the last measurement.
    bench.disconnect(1);
    while bench.deadline().0 != Reason::Registration(Due::Round) {}
    bench.connect(2, "m");
    let effects = bench.master(2, registered("m"));
    assert!(effects.contains(&reported(2, expected)), "{effects:?}");
}

/// A Worker with an executor that was granted 1 GiB and runs.
fn limited(limits: Limits) -> Bench {
    let config = Bench::new(&["m"]).worker.config;
    let mut bench = Bench::of(Config { usage_pause: Some(Duration::from_secs(1)), limits, ..config });
    bench.apply(Event::Start);
    bench.connect(1, "m");
    bench.master(1, registered("m"));
    bench.master(1, launch(0));
    bench.apply(Event::RunnerStarted { executor: key(0), pid: 70 });
    bench
}

fn measured(process: ProcessMeasurement) -> Event {
    Event::Measured(Measurement { executors: vec![(key(0), process)], ..Measurement::default() })
}

/// The limit in the report of the executor's end.
fn exceeded(effects: &[Effect]) -> Option<ExceededLimit> {
    let report = effects.iter().find_map(|effect| match effect {
        Effect::Send { message: Outbound::Master(WorkerToMaster::ExecutorStateChanged(report)), .. } => {
            Some(report)
        }
        _ => None,
    });
    let report = report.expect("the end is reported");
    assert_eq!(report.state, ExecutorState::Exited(ExitStatus::Signal(9)));
    report.used.and_then(|Used { exceeded, .. }| exceeded)
}

#[test]
fn what_uses_more_than_the_limits_is_killed_once_and_its_end_says_why() {
    let limits = Limits {
        memory_overhead: Some(0.5),
        threads: Some(40),
        disk: Some(MiB(1024)),
        is_held_to_cores: true,
    };
    let granted = launch_of(key(0)).memory;
    let allowed = limits.memory(granted).expect("there is a limit");
    let within = ProcessMeasurement { cpu_millis: 1, memory: 896 << 20, threads: 40, disk: Some(1 << 30) };
    assert_eq!(allowed, MiB(896));
    for (process, expected) in [
        (within, None),
        (ProcessMeasurement { memory: (896 << 20) + 1, ..within }, Some(ExceededLimit::Memory { mib: 896 })),
        (ProcessMeasurement { threads: 41, ..within }, Some(ExceededLimit::Threads { count: 40 })),
        (ProcessMeasurement { disk: Some((1 << 30) + 1), ..within }, Some(ExceededLimit::Disk { mib: 1024 })),
    ] {
        let mut bench = limited(limits);
        let kill = Effect::SignalExecutor { executor: key(0), signal: Signal::Kill };
        let effects = bench.apply(measured(process));
        assert_eq!(effects.contains(&kill), expected.is_some(), "{process:?}");
        let note =
            expected.map(|exceeded| Effect::Note(Note::ExecutorExceeds { executor: key(0), exceeded }));
        assert!(note.is_none_or(|note| effects.contains(&note)), "{effects:?}");
        assert!(!bench.apply(measured(process)).contains(&kill), "it is killed once");
        let effects = bench.apply(Event::RunnerExited { executor: key(0), status: ExitStatus::Signal(9) });
        assert_eq!(exceeded(&effects), expected);
    }
}

#[test]
fn what_the_kernel_killed_for_its_memory_says_so_where_there_is_a_limit() {
    let limits = Limits { memory_overhead: Some(0.1), ..Limits::default() };
    for (limits, is_out_of_memory, is_said) in
        [(limits, true, true), (limits, false, false), (Limits::default(), true, false)]
    {
        let mut bench = limited(limits);
        let last = LastMeasurement { cpu_millis: 5, is_out_of_memory };
        bench.apply(Event::ExecutorMeasured { executor: key(0), last });
        let effects = bench.apply(Event::RunnerExited { executor: key(0), status: ExitStatus::Signal(9) });
        // 512 MiB and 384 MiB.
        assert_eq!(exceeded(&effects), is_said.then_some(ExceededLimit::MemoryOfGroup { mib: 896 }));
    }
}

#[test]
fn the_memory_that_is_allowed_is_the_granted_one_and_a_part_of_it_at_least_384_mib() {
    for (factor, granted, allowed) in [
        (None, 1_024, None),
        (Some(0.1), 1_024, Some(1_408)),
        (Some(0.1), 10_240, Some(11_264)),
        (Some(0.001), 0, Some(384)),
        (Some(2.0), 1_000, Some(3_000)),
        (Some(f64::MAX), 1_000, Some(i64::MAX)),
    ] {
        let limits = Limits { memory_overhead: factor, ..Limits::default() };
        assert_eq!(limits.memory(MiB(granted)), allowed.map(MiB), "{factor:?} {granted}");
    }
}

#[test]
fn a_disk_that_is_too_full_takes_the_worker_out_until_there_is_room_again() {
    let mut bench = Bench::with_disk();
    let mut tried = |used: u64, error: Option<&str>| -> Vec<Option<String>> {
        let space = Some(DiskSpace { total: 100, available: 100 - used });
        let effects = bench.apply(Event::StartTried(StartTried {
            directory: error.map(str::to_owned),
            process: None,
            space,
        }));
        let told = |effect| match effect {
            Effect::Send {
                message: Outbound::Master(WorkerToMaster::StartsChecked { error, .. }), ..
            } => Some(error),
            _ => None,
        };
        effects.into_iter().filter_map(told).collect()
    };
    assert!(tried(95, None).is_empty(), "that is the limit");
    let why = "97 % of its disk is used (firesteel.worker.maxDiskUsage: 95)".to_owned();
    assert_eq!(tried(97, None), [Some(why.clone())]);
    assert!(tried(99, None).is_empty(), "it was said before");
    // The operating system's error is more exact, so it is reported instead.
    assert_eq!(tried(100, Some("no space")), [Some("no space".to_owned())]);
    assert_eq!(tried(98, None), [Some(why)]);
    assert!(tried(93, None).is_empty(), "a little room is not enough");
    assert_eq!(tried(92, None), [None]);
    assert!(tried(95, None).is_empty());
}
