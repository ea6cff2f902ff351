//! The custom resource addresses of cluster drivers.

use firesteel_placement::Amount;

use super::*;

/// A Master with a Worker that has two gpus, and with cluster drivers that need one gpu each.
fn with_gpus(drivers: u64) -> Bench {
    let mut bench = Bench::with_gpus(&Resources::from_iter([("gpu", ["a", "b"])]));
    (0..drivers).for_each(|_| drop(bench.submit(&with(&wanted(1, 512, true), gpus(1)))));
    bench
}

fn gpus(count: u64) -> ResourceAmounts {
    [("gpu".to_owned(), Amount::Whole(count))].into()
}

/// The addresses of the cluster drivers, in the order of submission.
fn addresses(bench: &mut Bench) -> Vec<String> {
    bench.master.view().drivers.iter().map(|driver| driver.has.to_string()).collect()
}

#[test]
fn drivers_have_addresses_of_their_own_also_after_a_restart() {
    let mut bench = with_gpus(2);
    let description = with(&wanted(1, 512, true), gpus(1));
    let effects = bench.submit(&description);
    assert_eq!(effects, [], "no address is left");
    assert_eq!(addresses(&mut bench), ["gpu=a", "gpu=b", ""]);
    // An ended cluster driver is listed with the addresses that it had.
    let effects = bench.driver_reports(1, 0, DriverState::Finished);
    let order = launch_driver_with(1, 2, &description, Resources::from_iter([("gpu", ["a"])]));
    assert_eq!(effects, [noted_driver(1, 0), order]);
    let expected = ["gpu=a", "gpu=b", "gpu=a"];
    assert_eq!(addresses(&mut bench), expected);
    bench.master = bench.recovered();
    assert_eq!(addresses(&mut bench), expected);
}

#[test]
fn addresses_of_a_kind_are_told_under_the_name_that_was_asked_for() {
    let mut bench = Bench::with_gpus(&Resources::from_iter([("gpu:A100", ["c"])]));
    let effects = bench.submit(&with(&wanted(1, 512, false), gpus(1)));
    let [Effect::Send { message: Outbound::Worker(order), .. }] = &effects[..] else { panic!("{effects:?}") };
    let MasterToWorker::LaunchDriver(launch) = order else { panic!("{order:?}") };
    assert_eq!(launch.resources.to_string(), "gpu=c");
    assert_eq!(addresses(&mut bench), ["gpu:A100=c"]);
}

#[test]
fn the_successor_of_a_driver_needs_the_same() {
    let mut bench = with_gpus(1);
    bench.apply(Event::Disconnected { peer: PeerId(1) });
    assert_eq!(bench.states(), ["RELAUNCHING", "SUBMITTED"]);
    assert_eq!(bench.master.view().drivers[1].needs, gpus(1));
    bench.worker(2, 8);
    assert_eq!(bench.states(), ["RELAUNCHING", "SUBMITTED"], "this Worker has no gpus");
}

#[test]
fn resources_that_nobody_can_have_are_refused() {
    let mut bench = Bench::new(Config::default());
    let many: ResourceAmounts = (0..17).map(|n| (format!("r{n}"), Amount::Whole(1))).collect();
    let part: ResourceAmounts = [("gpu".to_owned(), "0.5".parse().expect("it is an amount"))].into();
    for (needs, words) in [
        (many, "a resource profile has 17 custom resources; at most 16 are allowed"),
        (part, "0.5 of gpu is asked for, and this Master gives only whole addresses"),
    ] {
        let message = ClientToMaster::RequestSubmitDriver(Box::new(with(&wanted(1, 512, false), needs)));
        match bench.client(message).1 {
            MasterToClient::SubmitDriverResponse(SubmitDriverAnswer::Refused(refusal)) => {
                assert!(refusal.to_string().starts_with(words), "{refusal}");
            }
            other => panic!("{other:?}"),
        }
    }
}
