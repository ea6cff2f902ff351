//! Usage is measured and reported. A disk that is too full is reported in the same way as one that cannot be written.

use firesteel_protocol::messages::{DiskSpace, Usage, WorkerReport};

use super::*;
use crate::{Measurement, ProcessMeasurement};

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
    assert_eq!(measure, [Effect::Measure { executors: vec![(key(0), 70)], drivers: Vec::new() }]);
    let process = ProcessMeasurement { cpu_millis: 400, memory: 9 };
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
