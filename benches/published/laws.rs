//! What holds of the experiment: its yardsticks come out as published, and a policy that learns is better.

use std::process::ExitCode;

use firesteel_sim::setup::Setup;
use libtest_mimic::{Arguments as Options, Failed, Trial};

use crate::arguments::{Arguments, Asked, committed};
use crate::arrivals::Arrivals;
use crate::best_fit::BestFit;
use crate::chooser::{self, Chooser};
use crate::cluster::Cluster;
use crate::curve::Curve;
use crate::fgd::Fgd;
use crate::files;
use crate::master::Master;
use crate::random::Random;
use crate::request::{Request, Workload};
use crate::scored::Scored;

/// Checks them all.
pub(crate) fn run() -> ExitCode {
    let law = |name: &str, law: fn()| {
        let checked = move || {
            law();
            Ok::<(), Failed>(())
        };
        Trial::test(name, checked)
    };
    let laws = vec![
        law("yardsticks_come_out_as_published", yardsticks_come_out_as_published),
        law(
            "requests_ask_for_130_percent_of_the_gpus_in_the_end",
            requests_ask_for_130_percent_of_the_gpus_in_the_end,
        ),
        law(
            "a_share_has_room_on_one_gpu_and_a_model_only_where_it_is",
            a_share_has_room_on_one_gpu_and_a_model_only_where_it_is,
        ),
        law("a_master_places_every_request_that_fits", a_master_places_every_request_that_fits),
        law(
            "learned_fragmentation_allocates_more_than_fgd_which_knows_the_workload",
            learned_fragmentation_allocates_more_than_fgd_which_knows_the_workload,
        ),
        law("tables_say_what_was_asked_for", tables_say_what_was_asked_for),
    ];
    libtest_mimic::run(&Options::from_args(), laws).exit_code()
}

/// One workload of the directory that is committed.
fn published(name: &str) -> (Cluster, Workload) {
    let mut read = files::read(&committed(), &[name.to_owned()]).expect("the directory can be read");
    let (_, workload) = read.workloads.pop().expect("it has this workload");
    (read.cluster, workload)
}

fn made(nodes: &str, pods: &str) -> (Cluster, Workload) {
    let nodes = format!("sn,cpu_milli,memory_mib,gpu,model\n{nodes}");
    let pods = format!("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n{pods}");
    let cluster = Cluster::read(nodes.as_bytes()).expect("the nodes can be read");
    let workload = Workload::read(pods.as_bytes(), &cluster).expect("the requests can be read");
    (cluster, workload)
}

fn mean(curves: &[Curve], asked: usize) -> f64 {
    let all: Vec<f64> = curves.iter().filter_map(|curve| curve.at(asked)).collect();
    all.iter().sum::<f64>() / all.len() as f64
}

/// The curves of the first seeds.
fn curves<'a>(
    (cluster, workload): &'a (Cluster, Workload),
    seeds: u64,
    policy: impl Fn(&'a Cluster, &'a Workload, &Arrivals, u64) -> Box<dyn Chooser>,
) -> Vec<Curve> {
    let one = |seed| {
        let arrivals = Arrivals::new(workload, cluster, seed);
        chooser::run(cluster.clone(), &arrivals, &mut *policy(cluster, workload, &arrivals, seed))
    };
    (1..=seeds).map(one).collect()
}

fn yardsticks_come_out_as_published() {
    let figures = files::read(&committed(), &[]).expect("the directory can be read").figures;
    for workload in ["default", "gpuspec33"] {
        let experiment = published(workload);
        let random = curves(&experiment, 3, |_, _, _, seed| Box::new(Random::new(seed)));
        let best_fit = curves(&experiment, 3, |_, _, _, _| Box::new(Scored::new(BestFit)));
        let fgd = curves(&experiment, 3, |_, workload, _, _| Box::new(Scored::new(Fgd::new(workload))));
        for (policy, curves, within) in
            [("Random", random, 0.3), ("BestFit", best_fit, 0.2), ("FGD", fgd, 0.2)]
        {
            let published = &figures[&(workload.to_owned(), policy.to_owned())].allocated[&130];
            let published = published.iter().sum::<f64>() / published.len() as f64;
            let found = mean(&curves, 130);
            assert!((found - published).abs() <= within, "{workload}, {policy}: {found}, not {published}");
        }
    }
}

fn requests_ask_for_130_percent_of_the_gpus_in_the_end() {
    for workload in ["default", "gpuspec33"] {
        let (cluster, workload) = published(workload);
        let arrivals = Arrivals::new(&workload, &cluster, 1);
        let asked: u64 = arrivals.requests.iter().map(Request::thousandths).sum();
        let goal = cluster.gpus() * 1300;
        assert!((goal - 1000..=goal + 7000).contains(&asked), "{asked} of {goal}");
        assert_ne!(arrivals, Arrivals::new(&workload, &cluster, 2));
    }
    // A list that asks for more than 130 % loses requests.
    let (cluster, workload) = made("a,64000,1,2,T4", "x,1000,1,1,1000,\n".repeat(10).as_str());
    let arrivals = Arrivals::new(&workload, &cluster, 1);
    assert_eq!(arrivals.requests.len(), 2, "three would be 150 %");
}

fn a_share_has_room_on_one_gpu_and_a_model_only_where_it_is() {
    let experiment = made(
        "a,64000,4096,1,T4\nb,64000,4096,1,P100",
        "x,1000,1024,1,600,T4\ny,1000,1024,1,600,T4\nz,1000,1024,1,1000,P100|T4\n",
    );
    let policies: [fn() -> Box<dyn Chooser>; 2] =
        [|| Box::new(Random::new(1)), || Box::new(Scored::new(BestFit))];
    for policy in policies {
        let curves = curves(&experiment, 20, |_, _, _, _| policy());
        let ends: Vec<f64> =
            curves.iter().filter_map(|curve| curve.points().last()).map(|end| end.1).collect();
        assert!(ends.iter().all(|end| (30.0..=80.0).contains(end)), "{ends:?}");
        assert!(
            curves.iter().any(|curve| curve.first_failure().is_some()),
            "two shares of 0.6 do not fit one GPU"
        );
    }
}

/// A tenth of the cluster and of its requests: a Master checks all its tables after each event in a test.
fn tenth((mut cluster, mut workload): (Cluster, Workload)) -> (Cluster, Workload) {
    let mut number = 0;
    cluster.nodes.retain(|_| {
        number += 1;
        number % 10 == 0
    });
    workload.requests = workload.requests.into_iter().step_by(10).collect();
    (cluster, workload)
}

fn learned_fragmentation_allocates_more_than_fgd_which_knows_the_workload() {
    for workload in ["default", "gpuspec33"] {
        let experiment = tenth(published(workload));
        let fgd = curves(&experiment, 3, |_, workload, _, _| Box::new(Scored::new(Fgd::new(workload))));
        let learned = curves(&experiment, 3, |cluster, _, arrivals, _| {
            Box::new(Master::new(&Setup::LearnedFragmentation, cluster, &arrivals.ranks))
        });
        for asked in [90, 100, 130] {
            let (learned, fgd) = (mean(&learned, asked), mean(&fgd, asked));
            assert!(learned >= fgd - 0.05, "{workload} at {asked} %: {learned}, and FGD {fgd}");
        }
        assert!(mean(&learned, 130) > mean(&fgd, 130), "{workload}");
    }
}

fn a_master_places_every_request_that_fits() {
    let (cluster, workload) = made(
        "a,64000,4096,1,T4\nb,96000,8192,8,G2\nc,8000,512,2,P100\n",
        "a,4000,1024,1,600,\nb,0,0,0,0,\nc,1000,512,1,1000,T4\nd,8000,512,2,1000,P100|G2|G2\ne,500,64,1,50,\n",
    );
    for setup in Setup::ALL {
        for seed in 1..20 {
            let arrivals = Arrivals::new(&workload, &cluster, seed);
            let mut policy = Master::new(&setup, &cluster, &arrivals.ranks);
            let curve = chooser::run(cluster.clone(), &arrivals, &mut policy);
            assert!(curve.at(130).is_none_or(|allocated| allocated > 30.0), "{setup}: {curve:?}");
        }
    }
}

/// Two nodes and three requests in a directory of their own, by two policies.
fn tables_say_what_was_asked_for() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let save = |name: &str, lines: &str| {
        std::fs::write(directory.path().join(name), lines).expect("a file can be written");
    };
    save("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,32000,65536,2,T4\nb,64000,65536,4,G2\n");
    save(
        "pods_few.csv",
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\nx,4000,1024,1,500,\ny,8000,1024,1,1000,T4\nz,16000,1024,2,1000,G2\n",
    );
    let tables = |words: &[&str]| {
        let path = directory.path().to_str().expect("its name is a text");
        let words = [&[path, "--bench"], words].concat().into_iter().map(str::to_owned);
        let Asked::Experiment(arguments) = Arguments::read(words)? else {
            panic!("an experiment was asked for")
        };
        crate::experiment(&arguments).map(|report| crate::text::tables(&report))
    };
    let text =
        tables(&["--workload", "few", "--policy", "best-fit", "--policy", "expr:left.gpu - left.gpu.whole"]);
    let text = text.expect("the directory can be read");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip(2)
        .take(6)
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(
        rows,
        [
            ["few", "AT 90%", "AT 100%", "AT 130%", "PUBLISHED", "FIRST FAILURE"],
            ["Random", "-", "-", "-", "-", "75.0"],
            ["BestFit", "-", "-", "-", "-", "75.0"],
            ["FGD", "-", "-", "-", "-", "75.0"],
            ["best-fit", "-", "-", "-", "-", "125.0"],
            ["expr:left.gpu - left.gpu.whole", "-", "-", "-", "-", "125.0"],
        ]
    );
    let error = tables(&["--workload", "many"]).expect_err("there is no such workload");
    assert!(error.ends_with("has no workload \"many\": it has few"), "{error}");
    for (words, expected) in [
        (&["--policy", "bets-fit"][..], "--policy bets-fit: "),
        (&["--seeds", "0"], "--seeds is not followed by a number from 1 to 1000"),
        (&["--speed"], "unknown argument --speed"),
        (&["--workload"], "--workload needs a value"),
    ] {
        let error = tables(words).expect_err("it is refused");
        assert!(error.starts_with(expected), "{error}");
    }
}
