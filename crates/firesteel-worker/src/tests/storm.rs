//! Random events in random order: no panic, no broken invariant, and every order obeyed at most once.

use std::collections::BTreeSet;

use firesteel_protocol::ids::FetchId;
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{ApplicationFiles, ClientToWorker, RefusedRegistration};
use firesteel_protocol::process::{ExitStatus, StartFailure, StartStep};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

fn any_message(chance: &mut ChaCha8Rng) -> MasterToWorker {
    let executor = key(chance.random_range(0..12));
    match chance.random_range(0..40) {
        0..=7 => registered("m"),
        8 => MasterToWorker::RegisterWorkerFailed(RefusedRegistration::UnsoundId),
        9 => MasterToWorker::ReconnectWorker,
        10..=22 => MasterToWorker::LaunchExecutor(launch_of(executor)),
        23..=27 => {
            let executor = ExecutorKey { app: AppId::new("app-2"), ..executor };
            MasterToWorker::LaunchExecutor(launch_with_files(executor, Some(any_files())))
        }
        28..=34 => MasterToWorker::KillExecutor { executor },
        35 => MasterToWorker::ApplicationFinished {
            app: AppId::new(["app-1", "app-2"][chance.random_range(0..2)]),
        },
        _ => MasterToWorker::ExecutorEndNoted { executor },
    }
}

fn any_files() -> ApplicationFiles {
    ApplicationFiles { source: Address::new("driver", 7100), files: Vec::new(), secret: None }
}

fn any_event(chance: &mut ChaCha8Rng) -> Event {
    let master = Address::new(["m", "n", "o"][chance.random_range(0..3)], 7077);
    let peer = PeerId(chance.random_range(1..4));
    let app = AppId::new(["app-1", "app-1", "app-2"][chance.random_range(0..3)]);
    let executor = ExecutorKey { app, ..key(chance.random_range(0..12)) };
    let failure = || StartFailure { step: StartStep::Output, error: "full".into() };
    if chance.random_range(0..150) == 0 {
        return Event::Shutdown;
    }
    match chance.random_range(0..60) {
        0..=6 => Event::Connected { peer, master, leadership: Leadership::ALONE },
        7 | 8 => Event::ConnectFailed { master, error: ConnectError::unreachable("no") },
        9..=34 => Event::Received { peer, message: Inbound::Master(any_message(chance)) },
        35 => Event::Received { peer, message: Inbound::Client(ClientToWorker::RequestWorkerState) },
        36 => Event::Disconnected { peer },
        37..=45 => Event::RunnerStarted { executor, pid: chance.random_range(2..99) },
        46 if chance.random_range(0..3) == 0 => Event::StaleFound { apps: vec![executor.app] },
        46 => Event::RunnerFailed { executor, why: failure().into() },
        47..=51 => Event::RunnerExited { executor, status: ExitStatus::Signal(9) },
        52 | 53 => {
            Event::FilesFetched { app: AppId::new("app-2"), fetch: FetchId(chance.random_range(1..4)) }
        }
        54 => Event::FilesFailed {
            app: AppId::new("app-2"),
            fetch: FetchId(chance.random_range(1..4)),
            error: "no".into(),
        },
        _ => Event::Deadline,
    }
}

#[test]
fn whatever_comes_the_invariants_hold_and_nothing_is_done_twice() {
    let (mut launches, mut signals, mut exits) = (0, 0, 0);
    for seed in 0..3000 {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let mut bench = Bench::new(&["m", "n"]);
        let mut seen = BTreeSet::new();
        bench.apply(Event::Start);
        for _ in 0..200 {
            bench.now = bench.now + Duration::from_millis(chance.random_range(0..2000));
            let effects = bench.apply(any_event(&mut chance));
            for effect in effects {
                // An executor is started once, asked to end once, and killed once.
                let once = match effect {
                    Effect::StartExecutor(plan) => {
                        launches += 1;
                        seen.insert((plan.executor, None))
                    }
                    Effect::SignalExecutor { executor, signal } => {
                        signals += 1;
                        seen.insert((executor, Some(signal)))
                    }
                    Effect::Exit(_) => {
                        exits += 1;
                        bench.worker.next_deadline().is_none()
                    }
                    Effect::StartDriver(_)
                    | Effect::SignalDriver { .. }
                    | Effect::Connect { .. }
                    | Effect::Send { .. }
                    | Effect::Close { .. }
                    | Effect::FetchFiles { .. }
                    | Effect::RemoveFiles { .. }
                    | Effect::CleanApplication { .. }
                    | Effect::TryToStart { .. }
                    | Effect::Measure { .. }
                    | Effect::FindStale { .. }
                    | Effect::RemoveDirectory { .. }
                    | Effect::RemoveExecutorDirectories { .. }
                    | Effect::ReadLog { .. }
                    | Effect::Note(_) => true,
                };
                assert!(once, "seed {seed}: {seen:?}");
            }
        }
    }
    assert!(launches > 5000 && signals > 1500 && exits > 1000, "{launches} {signals} {exits}: a thin storm");
}
