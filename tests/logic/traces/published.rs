//! The published experiment: the yardsticks give the published results, and a learning policy is better.

use std::io::Read;

use firesteel_sim::published::{
    Arrivals, BestFit, Chooser, Cluster, Curve, Fgd, Master, Random, Request, Scored, Workload, figures, run,
};
use firesteel_sim::setup::Setup;
use flate2::read::GzDecoder;

use crate::fixtures::path;

#[expect(clippy::disallowed_types, reason = "tests read fixtures; the crate itself opens no file")]
fn open(name: &str) -> std::fs::File {
    let path = path("traces/fgd-2023").join(name);
    std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn published(workload: &str) -> (Cluster, Workload) {
    let cluster = Cluster::read(open("nodes.csv")).expect("the nodes can be read");
    let pods = GzDecoder::new(open(&format!("pods_{workload}.csv.gz")));
    let workload = Workload::read(pods, &cluster).expect("the requests can be read");
    (cluster, workload)
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
        run(cluster.clone(), &arrivals, &mut *policy(cluster, workload, &arrivals, seed))
    };
    (1..=seeds).map(one).collect()
}

#[test]
fn yardsticks_come_out_as_published() {
    let mut text = String::new();
    open("published.csv").read_to_string(&mut text).expect("it can be read");
    let figures = figures::read(text.as_bytes()).expect("the results can be read");
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

#[test]
fn requests_ask_for_130_percent_of_the_gpus_in_the_end() {
    for workload in ["default", "gpuspec33"] {
        let (cluster, workload) = published(workload);
        let arrivals = Arrivals::new(&workload, &cluster, 1);
        let asked: u64 = arrivals.requests.iter().map(Request::thousandths).sum();
        let goal = cluster.gpus() * 1300;
        assert!((goal - 1000..=goal + 7000).contains(&asked), "{asked} of {goal}");
        assert_ne!(arrivals, Arrivals::new(&workload, &cluster, 2));
    }
    // Requests beyond 130 % are dropped.
    let (cluster, workload) = made("a,64000,1,2,T4", "x,1000,1,1,1000,\n".repeat(10).as_str());
    let arrivals = Arrivals::new(&workload, &cluster, 1);
    assert_eq!(arrivals.requests.len(), 2, "three would be 150 %");
}

#[test]
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

/// A tenth of the cluster and of its requests, since in tests a Master checks all its tables after each event.
fn tenth((mut cluster, mut workload): (Cluster, Workload)) -> (Cluster, Workload) {
    let mut number = 0;
    cluster.nodes.retain(|_| {
        number += 1;
        number % 10 == 0
    });
    workload.requests = workload.requests.into_iter().step_by(10).collect();
    (cluster, workload)
}

#[test]
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
