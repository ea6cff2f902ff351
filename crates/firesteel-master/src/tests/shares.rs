//! Executors that share addresses of custom resources, and executors that ask for kinds of resources.

use firesteel_placement::Amount;

use super::*;

/// A Master that lets executors share the addresses of a resource (`ResourceShares::Allowed`), and a Worker with these
/// resources.
fn bench(resources: &[(&str, &[&str])]) -> Bench {
    let (resource_shares, exclusion) = (ResourceShares::Allowed, Exclusion::Off);
    let mut bench = Bench::new(Config { resource_shares, exclusion, ..Config::default() });
    bench.worker_says(1, with_resources(1, resources));
    bench
}

fn with_resources(n: u64, resources: &[(&str, &[&str])]) -> WorkerToMaster {
    let WorkerToMaster::RegisterWorker { mut worker, executors, drivers } = register(n, 16, Vec::new())
    else {
        unreachable!("it is a registration");
    };
    worker.resources = resources.iter().map(|(name, addresses)| (*name, addresses.iter())).collect();
    WorkerToMaster::RegisterWorker { worker, executors, drivers }
}

/// An application whose executors have one core and these resources.
fn asking(resources: &[(&str, &str)], cores: i64) -> ApplicationDescription {
    let mut description = description(Some(cores), Some(1));
    let amount = |text: &str| text.parse::<Amount>().expect("it is an amount");
    let amounts = resources.iter().map(|(name, text)| ((*name).to_owned(), amount(text)));
    description.profile.resources = amounts.collect();
    description
}

/// The resources of each executor that is launched.
fn launched(effects: &[Effect]) -> Vec<String> {
    let order = |effect: &Effect| match effect {
        Effect::Send { message: Outbound::Worker(MasterToWorker::LaunchExecutor(launch)), .. } => {
            Some(launch.resources.to_string())
        }
        _ => None,
    };
    effects.iter().filter_map(order).collect()
}

fn refusal(effects: &[Effect]) -> Option<String> {
    effects.iter().find_map(|effect| match effect {
        Effect::Send { message: Outbound::Driver(MasterToDriver::ApplicationRemoved(end)), .. } => {
            Some(end.to_string())
        }
        _ => None,
    })
}

fn submit(bench: &mut Bench, description: ApplicationDescription) -> Vec<Effect> {
    bench.driver_says(DriverToMaster::RegisterApplication(Box::new(description)))
}

#[test]
fn executors_share_one_address_before_the_next_one_is_touched() {
    let mut bench = bench(&[("gpu", &["0", "1"])]);
    let effects = submit(&mut bench, asking(&[("gpu", "0.25")], 5));
    let [quarter, next] = ["gpu=0@0.25", "gpu=1@0.25"];
    assert_eq!(launched(&effects), [quarter, quarter, quarter, quarter, next]);
    let view = bench.master.view();
    assert_eq!(view.workers[0].resources_used.to_string(), "gpu=0,1@0.25");
}

#[test]
fn a_part_is_given_back_to_the_address_that_it_came_from() {
    let mut bench = bench(&[("gpu", &["0"])]);
    submit(&mut bench, asking(&[("gpu", "0.5")], 2));
    bench.report(1, 0, ExecutorState::Running);
    bench.report(1, 1, ExecutorState::Running);
    let effects = bench.report(1, 0, CRASH);
    assert_eq!(launched(&effects), ["gpu=0@0.5"], "the other half is held");
    assert_eq!(bench.master.view().workers[0].resources_used.to_string(), "gpu=0");
}

#[test]
fn a_part_is_refused_unless_the_operator_allows_it() {
    let mut bench = Bench::new(Config::default());
    let refused = submit(&mut bench, asking(&[("gpu", "0.25")], 1));
    assert_eq!(
        refusal(&refused).as_deref(),
        Some(
            "refused: 0.25 of gpu is asked for, and this Master gives only whole addresses: \
             firesteel.master.resourceShares=true on the Master allows parts of them"
        )
    );
    assert_eq!(refusal(&submit(&mut bench, asking(&[("gpu", "1")], 1))), None);
    let part = asking(&[("gpu", "0.25")], 1).profile;
    let targets = vec![ExecutorTarget { id: ProfileId(1), profile: part, total: 1 }];
    let answer = bench.driver_says(DriverToMaster::RequestExecutors { app: app(), targets });
    assert_eq!(answer, [to_driver(MasterToDriver::ExecutorsRequested { accepted: false })]);
}

#[test]
fn a_kind_is_given_where_it_is_named_and_told_under_the_name_that_was_asked_for() {
    let gpus: &[(&str, &[&str])] = &[("gpu:A100", &["0"]), ("gpu:T4", &["1"])];
    for (asked, given, grant) in [
        ("gpu:T4", "gpu:T4=1", "gpu:T4=1"),
        ("gpu:A100", "gpu:A100=0", "gpu:A100=0"),
        ("gpu", "gpu=0", "gpu:A100=0"),
    ] {
        let mut bench = bench(gpus);
        let effects = submit(&mut bench, asking(&[(asked, "1")], 1));
        assert_eq!(launched(&effects), [given], "{asked}");
        assert_eq!(bench.master.view().workers[0].resources_used.to_string(), grant, "{asked}");
    }
    let mut bench = bench(gpus);
    let refused = submit(&mut bench, asking(&[("gpu", "1"), ("gpu:T4", "1")], 1));
    let sentence = "refused: a resource profile cannot ask for the same resource with and without a kind, such as gpu and gpu:A100";
    assert_eq!(refusal(&refused).as_deref(), Some(sentence));
}

#[test]
fn a_worker_has_no_parts_of_addresses() {
    let mut bench = Bench::new(Config::default());
    let WorkerToMaster::RegisterWorker { mut worker, executors, drivers } = register(1, 4, Vec::new()) else {
        unreachable!("it is a registration");
    };
    worker.resources = Resources::of_words([("gpu", ["0@0.5"])]).expect("it is one");
    bench.worker_says(1, WorkerToMaster::RegisterWorker { worker, executors, drivers });
    assert_eq!(bench.master.view().workers[0].resources.to_string(), "gpu=0");
}

#[test]
fn why_there_is_no_more_is_told_in_parts() {
    let mut bench = bench(&[("gpu", &["0"])]);
    submit(&mut bench, asking(&[("gpu", "0.6")], 2));
    let effects = bench.driver_says(DriverToMaster::RequestShortfall { app: app() });
    let sentence = effects.iter().find_map(|effect| match effect {
        Effect::Send { message: Outbound::Driver(MasterToDriver::Shortfalls(all)), .. } => {
            all.first().map(|(_, shortfall)| shortfall.to_string())
        }
        _ => None,
    });
    assert_eq!(
        sentence.as_deref(),
        Some(
            "1 of 2 executors is missing: 1 Worker has 15 cores free but 0.4 gpu, and an executor needs 0.6 gpu"
        )
    );
}
