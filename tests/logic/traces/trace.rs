//! Traces: the committed one, and how tables are read.

use std::io::BufReader;

use firesteel_placement::{Cores, MiB};
use firesteel_sim::trace::quantiles::{GPUS, MEAN_LIFETIME, distances};
use firesteel_sim::trace::{Models, Trace, TraceError, openb, synthetic};

use crate::fixtures;
use crate::suites::golden;

#[expect(clippy::disallowed_types, reason = "tests read fixtures; the crate itself opens no file")]
pub fn committed() -> Trace {
    let open = |name: &str| {
        let path = fixtures::path("traces/synthetic").join(name);
        BufReader::new(
            std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        )
    };
    Trace::read(open("workers.csv"), open("applications.csv")).expect("the committed trace is sound")
}

#[test]
fn the_committed_trace_is_what_its_seed_gives() {
    let made = synthetic::trace(synthetic::SEED, synthetic::APPLICATIONS);
    let (mut workers, mut applications) = (Vec::new(), Vec::new());
    made.write_workers(&mut workers).expect("memory takes it");
    made.write_applications(&mut applications).expect("memory takes it");
    golden::check("traces/synthetic/workers.csv", &String::from_utf8(workers).expect("it is text"));
    assert!((50_000..200_000).contains(&applications.len()), "it has {} bytes", applications.len());
    golden::check("traces/synthetic/applications.csv", &String::from_utf8(applications).expect("it is text"));
    assert!(committed() == made, "what is written is not what is read");
}

#[test]
fn the_committed_trace_is_spread_like_a_real_one() {
    let trace = committed();
    for (name, distance) in distances(&trace) {
        assert!(distance < 0.05, "{name}: {distance} from the table");
    }
    let all = trace.applications.len() as f64;
    let mean = trace.applications.iter().map(|one| one.lifetime.as_secs_f64()).sum::<f64>() / all;
    assert!((mean / MEAN_LIFETIME - 1.0).abs() < 0.1, "they run for {mean} s on average");

    let mut shapes: std::collections::BTreeMap<_, u32> = std::collections::BTreeMap::new();
    let mut gpus = [0.0; 3];
    for application in &trace.applications {
        *shapes.entry(application.request).or_default() += 1;
        gpus[application.request.gpus.addresses().min(2) as usize] += 1.0 / all;
    }
    let top = f64::from(*shapes.values().max().expect("there are some")) / all;
    assert!((0.18..0.22).contains(&top), "the most frequent shape is {top} of all");
    assert!((100..=112).contains(&shapes.len()), "{} shapes", shapes.len());
    for (found, wanted) in gpus.into_iter().zip(GPUS) {
        assert!((found - wanted).abs() < 0.015, "GPUs: {gpus:?}");
    }
    assert_eq!(trace.workers_in_all(), 1_523);
    assert_eq!(trace.workers.iter().map(|kind| kind.count * kind.gpus).sum::<u64>(), 6_212);
    assert_eq!(trace.workers.len(), 27);
}

const WORKERS: &str = "count,cores,memory_mib,gpus,model\n2,16,65536,0,\n1,96,393216,8,big\n";
const APPLICATIONS: &str =
    "arrival_s,executors,cores,memory_mib,gpus,lifetime_s,gang\n60,4,2.5,4096,1,600,4\n0,1,1,0,0,5,\n";

#[test]
fn a_trace_is_read_in_the_order_in_which_applications_come() {
    let trace = Trace::read(WORKERS.as_bytes(), APPLICATIONS.as_bytes()).expect("it is sound");
    assert_eq!(trace.workers_in_all(), 3);
    assert_eq!(trace.workers[1].model, "big");
    let [first, second] = trace.applications[..] else { panic!("two applications") };
    assert_eq!((first.arrival.as_secs(), first.gang, first.request.memory), (0, 1, MiB(0)));
    assert_eq!((second.arrival.as_secs(), second.gang, second.request.cores()), (60, 4, Cores(3)));
}

#[test]
fn columns_may_come_in_any_order_and_others_are_passed_over() {
    let workers = "gpus,memory_mib,cores,count,colour\n0,1024,4,1,red\n";
    let applications = "lifetime_s,gpus,memory_mib,cores,executors,arrival_s\n5,0,1,1,1,0\n";
    let trace = Trace::read(workers.as_bytes(), applications.as_bytes()).expect("it is sound");
    assert_eq!((trace.workers_in_all(), trace.applications.len()), (1, 1));
}

#[test]
fn what_cannot_be_used_is_named_with_its_table_and_line() {
    let read =
        |workers: &str, applications: &str| said(Trace::read(workers.as_bytes(), applications.as_bytes()));
    let application = |row: &str| {
        read(
            WORKERS,
            &format!("arrival_s,executors,cores,memory_mib,gpus,lifetime_s,gang\n0,1,1,1,0,1,\n{row}\n"),
        )
    };
    for (said, wanted) in [
        (read("", APPLICATIONS), "workers.csv: line 1: the table has no rows below its header"),
        (read("count,cores\n1,2\n", APPLICATIONS), "workers.csv: line 2: there is no column memory_mib"),
        (
            read(&WORKERS.replace("96", "many"), APPLICATIONS),
            "workers.csv: line 3: cores: \"many\" is not a whole number from 0",
        ),
        (
            read(&WORKERS.replace("2,16,", "1000000,16,"), APPLICATIONS),
            "workers.csv: line 3: count, all lines together: 1000001 is not from 1 to 1000000",
        ),
        (application("0,0,1,1,0,1,"), "applications.csv: line 3: executors: 0 is not from 1 to 100000"),
        (application("0,2,1,1,0,1,3"), "applications.csv: line 3: gang: 3 is not from 0 to 2"),
        (
            application("0,2,NaN,1,0,1,2"),
            "applications.csv: line 3: cores: \"NaN\" is not a number of cores, more than 0 and 65536 at most",
        ),
        (
            application("0,2,-1,1,0,1,2"),
            "applications.csv: line 3: cores: \"-1\" is not a number of cores, more than 0 and 65536 at most",
        ),
        (application("0,2,1"), "applications.csv: line 3: the line has 3 fields, but the header has 7"),
        (
            application("-5,2,1,1,0,1,"),
            "applications.csv: line 3: arrival_s: \"-5\" is not a whole number from 0",
        ),
    ] {
        assert_eq!(said, wanted);
    }
    let no_text = Trace::read(&b"count,cores,memory_mib,gpus\n1,\xff,1,1\n"[..], APPLICATIONS.as_bytes());
    assert_eq!(self::said(no_text), "workers.csv: line 2: not UTF-8 text");
}

const NODES: &str = "sn,cpu_milli,memory_mib,gpu,model\nn-0,32000,262144,0,\nn-1,96000,393216,8,G2\nn-2,32000,262144,0,\nn-3,96000,393216,8,T4\n";
const PODS: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n\
p-0,6000,12288,1,460,,LS,Running,427061,12902960,427062\n\
p-1,3152,5600,1,1000,T4|G2,BE,Failed,100,700,150\n\
p-2,1000,1024,0,0,,LS,Pending,200,900,\n";

#[test]
fn alibabas_tables_become_a_trace() {
    let trace = openb::read(NODES.as_bytes(), PODS.as_bytes()).expect("it is sound");
    let kinds: Vec<_> = trace.workers.iter().map(|kind| (kind.count, kind.cores, kind.gpus)).collect();
    assert_eq!(kinds, [(2, Cores(32), 0), (1, Cores(96), 8), (1, Cores(96), 8)]);
    let [first, second] = trace.applications[..] else { panic!("the pod that never ran is left out") };
    assert_eq!(
        (first.arrival.as_secs(), first.lifetime.as_secs(), first.request.cores()),
        (100, 550, Cores(4))
    );
    assert_eq!((second.request.gpus.to_string(), second.executors, second.gang), ("0.46".to_owned(), 1, 1));
    assert_eq!((first.request.gpus.to_string(), second.request.models), ("1".to_owned(), Models::ANY));
    assert_eq!(trace.models.of(first.request.models).collect::<Vec<_>>(), ["T4", "G2"]);
}

#[test]
fn what_cannot_be_used_of_alibabas_tables_is_named_too() {
    let read = |nodes: &str, pods: &str| said(openb::read(nodes.as_bytes(), pods.as_bytes()));
    assert_eq!(
        read(&NODES.replace("96000", "900"), PODS),
        "nodes.csv: line 3: cpu_milli: 900 is not from 1000 to 65536000"
    );
    assert_eq!(
        read(NODES, &PODS.replace("700,150", "120,150")),
        "pods.csv: line 3: deletion_time: 120 is not from 150 to 3153600000"
    );
    assert_eq!(
        read(NODES, &PODS.replace(",460,", ",1001,")),
        "pods.csv: line 2: gpu_milli: 1001 is not from 1 to 1000"
    );
    assert_eq!(
        read(NODES, &PODS.replace("T4|", "T5|")),
        "pods.csv: line 3: gpu_spec: \"T5\" is not a model of the cluster"
    );
    assert_eq!(read(NODES, "name\np\n"), "pods.csv: line 2: there is no column cpu_milli");
}

fn said(read: Result<Trace, TraceError>) -> String {
    read.expect_err("it is not sound").to_string()
}
