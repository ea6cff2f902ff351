//! Replays of traces through a Master: the reported times are right, and better policies are better.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_master::Config;
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::Machine;
use firesteel_protocol::scheduling::Preemption;
use firesteel_sim::replay::{
    ApplicationTimes, CSV_HEADER, Failures, Fill, Gangs, Outcome, Replay, Shares, Size, SizeClass, Workload,
    compact, csv_rows, directly, fill, replay,
};
use firesteel_sim::setup::Setup;
use firesteel_sim::trace::{Request, Trace, TraceApplication};

use super::trace::committed;

fn application(arrival: u64, executors: u64, cores: u64, lifetime: u64, gang: u64) -> TraceApplication {
    TraceApplication {
        arrival: Duration::from_secs(arrival),
        executors,
        request: Request { milli_cores: cores * 1000, memory: MiB(1024), ..Request::default() },
        lifetime: Duration::from_secs(lifetime),
        gang,
        ..TraceApplication::default()
    }
}

fn workers(count: usize, cores: i64) -> Vec<Size> {
    vec![Size { cores: Cores(cores), memory: MiB(64 * 1024), ..Size::default() }; count]
}

fn replayed(setup: &Setup, gangs: Gangs, workload: &Workload) -> Outcome {
    let how = Replay { config: setup.config(Config::default()), gangs, ..Replay::default() };
    replay(&how, workload, &mut directly)
}

fn seconds(waits: &[Duration]) -> Vec<u64> {
    waits.iter().map(Duration::as_secs).collect()
}

#[test]
fn an_application_waits_until_another_one_has_ended() {
    let applications =
        vec![application(0, 2, 4, 100, 1), application(10, 1, 4, 50, 1), application(20, 1, 4, 5, 1)];
    let outcome = replayed(&Setup::Spark, Gangs::Keep, &Workload { workers: workers(1, 8), applications });
    assert_eq!(seconds(outcome.began.all()), [0, 80, 90], "the second at 100, the third beside it");
    assert_eq!(seconds(outcome.all.all()), [0, 80, 90]);
    assert_eq!((outcome.end.as_secs(), outcome.stuck, outcome.executors), (150, 0, 4));
    let used = Shares::mean(&outcome.used);
    assert!((used.cores - 1.0).abs() < 1e-9 && (used.memory - 2.0 / 64.0).abs() < 1e-9, "{used:?}");
}

#[test]
fn gangs_that_keep_what_they_get_can_wait_for_each_other_for_ever_and_those_that_try_again_do_not() {
    // Each Worker has room for one executor. The first application holds two of four Workers until 100. Then two gangs
    // of three arrive, and the first of them takes the other two.
    let applications =
        vec![application(0, 2, 4, 100, 1), application(10, 3, 4, 10, 3), application(20, 3, 4, 10, 3)];
    let workload = Workload { workers: workers(4, 4), applications };
    let retry = replayed(&Setup::Spark, Gangs::Retry, &workload);
    assert_eq!((seconds(retry.gangs.all()), retry.stuck), (vec![90, 90], 0));
    let keep = replayed(&Setup::Spark, Gangs::Keep, &workload);
    assert_eq!((seconds(keep.gangs.all()), keep.stuck), (vec![90, 90], 0));
    let reserve = replayed(&Setup::Spark, Gangs::Reserve, &workload);
    assert_eq!((seconds(reserve.gangs.all()), reserve.stuck), (vec![90, 90], 0));

    // Two gangs of three on four Workers, and an earlier third one with two of each.
    let three = vec![application(0, 2, 4, 100, 1), application(1, 2, 2, 100, 1), application(2, 3, 4, 10, 3)];
    let workload = Workload { workers: workers(4, 4), applications: three };
    assert_eq!(replayed(&Setup::Spark, Gangs::Retry, &workload).stuck, 0);
}

#[test]
fn a_replay_is_the_same_every_time_and_another_from_another_seed() {
    let work = |seed| {
        let (work, _) = Workload::new(&committed(), seed).drawn(seed, 300).without_oversized();
        work.at_load(seed, 0.9)
    };
    let told = |seed| {
        let outcome = replayed(&Setup::Spark, Gangs::Retry, &work(seed));
        (outcome.began.all().to_vec(), outcome.used, outcome.end)
    };
    assert_eq!(told(1), told(1));
    assert!(told(1) != told(2));
    assert!((work(1).load() - 0.9).abs() < 0.02, "{}", work(1).load());
}

#[test]
fn what_workers_hold_in_a_replay_is_what_the_master_says() {
    let (mut work, _) = Workload::new(&committed(), 3).without_oversized();
    work.applications.retain(|one| one.request.milli_cores <= 8_000);
    let mut cores = BTreeMap::new();
    let mut watched = |master: &mut firesteel_master::Master, now, event| {
        let effects = master.apply(now, event);
        let held: i64 = master.view().applications.iter().map(|app| app.cores_granted.0).sum();
        cores.insert(held, ());
        effects
    };
    let work = work.with_demand(0.3);
    let filled = fill(&Setup::Spark.config(Config::default()), &work, &mut watched);
    let asked: i64 = work.applications.iter().map(|one| one.request.cores().0 * one.executors as i64).sum();
    assert_eq!(cores.keys().last(), Some(&asked), "so little fits all at once");
    assert!(filled.unallocated() < 1e-9, "{filled:?}");
}

#[test]
fn sizes_are_counted_by_the_cores_that_an_application_wants_in_all() {
    assert_eq!(SizeClass::of(&application(0, 1, 15, 1, 1)), SizeClass::Small);
    assert_eq!(SizeClass::of(&application(0, 4, 4, 1, 1)), SizeClass::Medium);
    assert_eq!(SizeClass::of(&application(0, 64, 2, 1, 1)), SizeClass::Large);
}

#[test]
fn applications_that_could_never_run_are_left_out() {
    let applications =
        vec![application(0, 3, 4, 1, 1), application(0, 4, 4, 1, 1), application(0, 1, 9, 1, 1)];
    let (work, left_out) = Workload { workers: workers(1, 8), applications }.without_oversized();
    assert_eq!((work.applications.len(), left_out.0), (0, 3));
    let (work, left_out) =
        Workload { workers: workers(2, 8), applications: vec![application(0, 4, 4, 1, 1)] }
            .without_oversized();
    assert_eq!((work.applications.len(), left_out.0), (1, 0));
}

#[test]
fn what_is_taken_by_preemption_is_done_again() {
    let urgent = TraceApplication { priority: 1, ..application(50, 1, 4, 10, 1) };
    let workload =
        Workload { workers: workers(1, 4), applications: vec![application(0, 1, 4, 100, 1), urgent] };
    let replayed = |preemption| {
        let config = Config { preemption, ..Config::default() };
        replay(&Replay { config, ..Replay::default() }, &workload, &mut directly).times
    };
    let ends = |times: &[ApplicationTimes]| {
        times.iter().map(|one| one.ended.map(|end| end.as_secs())).collect::<Vec<_>>()
    };
    let without = replayed(Preemption::Off);
    assert_eq!((ends(&without), without[0].lost), (vec![Some(100), Some(110)], 0));
    // It had run for 50 seconds, and waits for ten.
    let with = replayed(Preemption::AtMost { executors: 1, every: Duration::from_secs(60) });
    assert_eq!((ends(&with), with[0].lost), (vec![Some(160), Some(60)], 1));
    assert_eq!(with[0].redone.as_secs(), 60);
}

#[test]
fn workers_fail_and_return_and_all_applications_end() {
    let applications = (0..200).map(|n| application(n * 10, 2, 2, 60, 1 + n % 2)).collect();
    let workload = Workload { workers: workers(4, 8), applications };
    let replayed = |every, seed| {
        let failures = Failures { every: Duration::from_secs(every), seed };
        replay(&Replay { failures, ..Replay::default() }, &workload, &mut directly)
    };
    let lost = |outcome: &Outcome| outcome.times.iter().map(|one| one.lost).sum::<u64>();
    let (none, some, again) = (replayed(0, 1), replayed(1000, 1), replayed(1000, 1));
    assert_eq!((lost(&none), none.stuck), (0, 0));
    assert!(lost(&some) > 0 && some.stuck == 0 && some.end > none.end, "{} lost", lost(&some));
    assert_eq!(some.times, again.times);
    assert!(replayed(1000, 2).times != some.times);
}

#[test]
fn an_application_is_put_on_the_host_that_it_prefers_and_idle_workers_are_counted() {
    let near = TraceApplication { near: Some(6), ..application(0, 1, 2, 100, 1) };
    let applications = vec![near, application(100, 1, 2, 1, 1)];
    let outcome = replayed(&Setup::BestFit, Gangs::Retry, &Workload { workers: workers(4, 8), applications });
    assert_eq!((outcome.times[0].near, outcome.times[1].near), (1, 0));
    let idle = outcome.idle.iter().sum::<f64>() / outcome.idle.len() as f64;
    assert!((idle - 0.75).abs() < 1e-9, "three of four Workers have no executor: {idle}");
}

#[test]
fn an_application_runs_on_gpus_of_the_models_that_it_names() {
    let workers = "count,cores,memory_mib,gpus,model\n2,16,65536,2,T4\n1,16,65536,2,V100\n";
    let applications = "arrival_s,executors,cores,memory_mib,gpus,lifetime_s,models\n0,1,1,1,2,100,V100\n\
                        1,1,1,1,1,5,V100\n2,1,1,1,0.5,5,V100|T4\n3,1,1,1,1,5,\n4,3,1,1,1,5,V100\n";
    let trace = Trace::read(workers.as_bytes(), applications.as_bytes()).expect("it is sound");
    let mut written = Vec::new();
    trace.write_applications(&mut written).expect("memory has room");
    assert_eq!(Trace::read(workers.as_bytes(), &written[..]).expect("it is sound"), trace);
    let (workload, left_out) = Workload::new(&trace, 0).without_oversized();
    assert_eq!(left_out.0, 1, "the last one wants three of the model");
    for setup in Setup::ALL {
        let outcome = replayed(&setup, Gangs::Keep, &workload);
        assert_eq!(seconds(outcome.all.all()), [0, 0, 0, 99], "{setup}");
    }
}

#[test]
fn a_row_has_a_field_for_each_column() {
    let workload = Workload { workers: workers(1, 8), applications: vec![application(5, 2, 4, 100, 2)] };
    let outcome = replayed(&Setup::Spark, Gangs::Reserve, &workload);
    let rows: Vec<_> = csv_rows("spark", 3, &workload.applications, &outcome).collect();
    assert_eq!(rows, ["spark,3,0,5.000,5.000,105.000,0.000,100.000,2,2,4,1024,0,0,0,,,0,0.000,0"]);
    assert_eq!(rows[0].split(',').count(), CSV_HEADER.split(',').count());
}

/// The quality goals, on the committed trace against Spark's default. `docs/POLICIES.md` says what the policies do, and
/// `benches/README.md` has the figures.
mod goals {
    use super::*;

    fn filled(setup: &Setup, seed: u64) -> Fill {
        let (work, _) = Workload::new(&committed(), seed).without_oversized();
        let work = work.drawn(seed, synthetic_applications()).with_demand(1.0);
        fill(&setup.config(Config::default()), &work, &mut directly)
    }

    fn synthetic_applications() -> usize {
        committed().applications.len()
    }

    #[test]
    fn no_more_than_a_fifth_of_the_gpus_that_spark_leaves_is_left_when_all_are_asked_for() {
        let mean = |setup| (1..=5).map(|seed| filled(&setup, seed).unallocated()).sum::<f64>() / 5.0;
        let (spark, ours) = (mean(Setup::Spark), mean(Setup::LeastFragmentation));
        assert!(ours * 5.0 <= spark, "Spark's default leaves {spark} of the GPUs, this {ours}");
    }

    #[test]
    fn gangs_wait_no_more_than_a_fifth_as_long_as_with_sparks_default() {
        let mean = |setup| {
            let wait = |seed| {
                let mut work = Workload::new(&committed(), seed);
                work.workers =
                    vec![Size { cores: Cores(64), memory: MiB(256 * 1024), ..Size::default() }; 200];
                let (work, _) = work.with_longest(Duration::from_secs(3600)).without_oversized();
                let count = work.applications.len();
                let work = work.drawn(seed, count).at_load(seed, 0.95);
                let gangs = replayed(&setup, Gangs::Retry, &work).gangs;
                (gangs.mean() * gangs.all().len() as f64, gangs.all().len() as f64)
            };
            let (sum, count) = (1..=5).map(wait).fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
            sum / count
        };
        let (spark, ours) = (mean(Setup::Spark), mean(Setup::BestFit));
        assert!(ours * 5.0 <= spark, "with Spark's default gangs wait {spark} s, with this {ours} s");
    }

    #[test]
    fn at_least_a_twentieth_fewer_workers_hold_the_same_load() {
        let fewest = |setup: Setup| {
            let (work, _) = Workload::new(&committed(), 1).without_oversized();
            let work = work.drawn(1, synthetic_applications()).with_demand(0.5);
            compact(&setup.config(Config::default()), &work, &mut directly).workers.expect("so many hold it")
        };
        let (spark, ours) = (fewest(Setup::Spark), fewest(Setup::BestFit));
        assert!(ours * 100 <= spark * 95, "Spark's default needs {spark} Workers, this {ours}");
    }
}
