//! Advice on what an application could request instead.

use firesteel_placement::advanced::offers::place;
use firesteel_placement::explain::advice::{Advice, Change, advice};
use firesteel_placement::{
    Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Resources, Strategy, WorkerOrder,
};

use super::reference::case::Case;
use crate::suites::laws::{ensure, hold};

#[test]
fn advice_keeps_what_it_promises_and_is_given_only_where_nothing_is_placed() {
    hold("advice_keeps_what_it_promises", 100_000, |case: &Case| {
        let translated = case.translate();
        let (demand, offers) = (&translated.demand, translated.offers());
        let (order, strategy) = (translated.order, translated.strategy);
        let advised = advice(demand, &offers, order, strategy);
        if !advised.is_empty() {
            let placed = place(demand, offers.iter().copied(), order, strategy).executors().count();
            ensure!(placed == 0, "{placed} executors are placed as it is, and it is advised {advised:?}");
        }
        for Advice { change, executors, cores } in advised {
            let changed = change.applied(demand);
            let placement = place(&changed, offers.iter().copied(), order, strategy);
            let placed: Vec<Cores> = placement.executors().map(|executor| executor.cores).collect();
            let found = (placed.len() as u64, placed.iter().copied().sum::<Cores>());
            ensure!(executors > 0, "{change:?} promises nothing");
            ensure!(
                found == (executors, cores),
                "{change:?} promises {executors}, {cores} and brings {found:?}"
            );
        }
        Ok(())
    });
}

fn demand(each: i64, memory: i64) -> Demand {
    Demand { size: ExecutorSize::Fixed(Cores(each)), memory: MiB(memory), ..Demand::default() }
}

/// Workers with these free cores and this free memory.
fn check(demand: &Demand, free: &[(i64, i64)], expected: &[(Change, u64, i64)]) {
    let ids: Vec<String> = (0..free.len()).map(|number| format!("w{number}")).collect();
    let offers: Vec<Offer<'_>> = ids
        .iter()
        .zip(free)
        .map(|(worker, (cores, memory))| Offer {
            worker,
            cores: Cores(*cores),
            memory: MiB(*memory),
            resources: Resources::NONE,
        })
        .collect();
    let expected: Vec<Advice> = expected
        .iter()
        .map(|(change, executors, cores)| Advice {
            change: *change,
            executors: *executors,
            cores: Cores(*cores),
        })
        .collect();
    assert_eq!(advice(demand, &offers, WorkerOrder::WorkerId, Strategy::SpreadOut), expected);
}

#[test]
fn smaller_executors_are_advised_where_there_is_room_for_them() {
    // The size with the most cores; in ties the largest.
    check(&demand(8, 1024), &[(4, 8192), (4, 8192)], &[(Change::ExecutorCores(Cores(4)), 2, 8)]);
    check(&demand(4, 4096), &[(8, 2048)], &[(Change::ExecutorMemory(MiB(2048)), 1, 4)]);
    let both = Change::ExecutorCoresAndMemory(Cores(2), MiB(2048));
    check(&demand(4, 4096), &[(2, 2048)], &[(both, 1, 2)]);
}

#[test]
fn nothing_is_advised_where_nothing_would_help() {
    check(&demand(4, 1024), &[], &[]);
    check(&demand(4, 1024), &[(0, 0)], &[]);
    // Too little memory for any program.
    check(&demand(4, 4096), &[(8, 100)], &[]);
    // There is room already: a placement is due, not advice.
    check(&demand(4, 1024), &[(8, 8192)], &[]);
}

#[test]
fn bounds_are_raised_to_what_there_is_room_for() {
    let left = Demand { cores_left: Cores(2), held: 1, ..demand(4, 1024) };
    let more = Change::MoreCores(Cores(6));
    check(&left, &[(8, 8192)], &[(more, 2, 8), (Change::ExecutorCores(Cores(2)), 1, 2)]);
    let limited = Demand { limit: ExecutorLimit::AtMost(1), held: 1, ..demand(4, 1024) };
    check(&limited, &[(8, 8192)], &[(Change::ExecutorLimit(3), 2, 8)]);
    check(&limited, &[(3, 8192)], &[]);
}
