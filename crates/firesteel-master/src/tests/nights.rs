//! Simulated hours in which executors end early by chance on every Worker. The tests measure what the exclusion of
//! Workers costs the applications.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;

/// Four Workers of four cores, and applications that share them. An executor runs for a minute and is then replaced.
struct Hours {
    master: Master,
    now: Timestamp,
    chance: ChaCha8Rng,
    /// The chance that an executor ends after one second, in percent.
    early: u64,
    ends: BTreeMap<(Timestamp, u64), (PeerId, ExecutorKey, ExecutorState)>,
    launched: u64,
    /// The number of executors that ran for their full minute.
    served: u64,
    /// How often a Worker was excluded for an application, and for all applications.
    excluded: [u64; 2],
}

impl Hours {
    fn play(exclusion: Exclusion, early: u64, apps: u64) -> Self {
        let config = Config {
            worker_timeout: Duration::from_secs(1_000_000),
            retries: Retries::Unlimited,
            exclusion,
            ..Config::default()
        };
        let (chance, ends) = (ChaCha8Rng::seed_from_u64(early), BTreeMap::new());
        let mut hours = Self {
            master: Master::new(config),
            now: T0,
            chance,
            early,
            ends,
            launched: 0,
            served: 0,
            excluded: [0, 0],
        };
        for n in 1..=4 {
            hours.hear(PeerId(n), Inbound::Worker(register(n, 4, Vec::new())));
        }
        for n in 0..apps {
            let wanted = description(Some(i64::try_from(16 / apps).expect("few")), Some(1));
            hours.hear(
                PeerId(100 + n),
                Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(wanted))),
            );
        }
        let end = T0 + Duration::from_secs(4 * 3600);
        while hours.now < end {
            hours.go_on();
        }
        hours
    }

    fn go_on(&mut self) {
        let end = self.ends.first_key_value().map(|((at, _), _)| *at);
        match self.master.next_deadline().map(|(at, _)| at) {
            Some(at) if end.is_none_or(|end| at < end) => {
                self.now = at.max(self.now);
                self.apply(Event::Deadline { heard_until: self.now });
            }
            Some(_) | None => {
                let ((at, _), (peer, executor, state)) = self.ends.pop_first().expect("something runs");
                self.now = at;
                self.served += u64::from(state != CRASH);
                self.report_state(peer, executor, state);
            }
        }
    }

    fn report_state(&mut self, peer: PeerId, executor: ExecutorKey, state: ExecutorState) {
        let report = ExecutorReport::new(executor, state);
        self.hear(peer, Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report)));
    }

    fn hear(&mut self, peer: PeerId, message: Inbound) {
        self.apply(Event::Received { peer, arrived: self.now, message });
    }

    fn apply(&mut self, event: Event) {
        for effect in self.master.apply(self.now, event) {
            match effect {
                Effect::Send { peer, message: Outbound::Worker(MasterToWorker::LaunchExecutor(order)) } => {
                    self.launched += 1;
                    let is_early = self.chance.next_u64() % 100 < self.early;
                    let (seconds, state) =
                        if is_early { (1, CRASH) } else { (60, ExecutorState::Exited(ExitStatus::SUCCESS)) };
                    let at = self.now + Duration::from_secs(seconds);
                    self.ends.insert((at, self.launched), (peer, order.executor.clone(), state));
                    self.report_state(peer, order.executor, ExecutorState::Running);
                }
                Effect::Note(Note::WorkerExcluded { .. }) => self.excluded[0] += 1,
                Effect::Note(Note::WorkerDistrusted { .. }) => self.excluded[1] += 1,
                _ => {}
            }
        }
    }
}

#[test]
#[expect(clippy::disallowed_macros, reason = "the test prints its figures")]
fn early_ends_by_chance_cost_no_cluster() {
    for apps in [1, 4] {
        for (early, most_lost) in [(1, 1), (5, 2), (20, 10)] {
            let ours = Hours::play(Config::default().exclusion, early, apps);
            let off = Hours::play(Exclusion::Off, early, apps);
            println!(
                "{apps} applications, {early} % of executors end early: {} executors served, {} without exclusion; {:?}",
                ours.served, off.served, ours.excluded
            );
            assert!(ours.served * 100 >= off.served * (100 - most_lost), "{apps} {early}");
        }
    }
}
