//! The budget for what live applications make the Master keep: refusals before anything is recorded, what is given back
//! at the end, and a recovered state that exceeds the budget.

use super::*;
use crate::limits::{LONGEST_DESCRIPTION, LONGEST_PREFERENCES};

/// The budget: enough for a few applications with a long variable.
const BUDGET: u64 = 100_000;

impl Bench {
    fn with_budget(kept: u64) -> Self {
        Self::new(Config { limits: Limits { kept, ..Limits::default() }, ..Config::default() })
    }

    /// Registers an application with a variable of this length, on a connection of its own. Returns its id, or the
    /// reason for the refusal.
    fn long_application(&mut self, peer: u64, user: &str, length: usize) -> Result<AppId, String> {
        let mut description = description(Some(1), Some(1));
        description.user = user.to_owned();
        let mut command = command();
        command.environment.insert("LONG".to_owned(), "x".repeat(length));
        description.command = command.into();
        let effects = self.says(peer, DriverToMaster::RegisterApplication(Box::new(description)));
        let answer = |effect: &Effect| match effect {
            Effect::Send { message: Outbound::Driver(message), .. } => match message {
                MasterToDriver::RegisteredApplication { app, .. } => Some(Ok(app.clone())),
                MasterToDriver::ApplicationRemoved(end) => Some(Err(end.to_string())),
                _ => None,
            },
            _ => None,
        };
        effects.iter().find_map(answer).expect("an answer")
    }

    fn says(&mut self, peer: u64, message: DriverToMaster) -> Vec<Effect> {
        let (peer, arrived) = (PeerId(peer), self.now);
        self.apply(Event::Received { peer, arrived, message: Inbound::Driver(message) })
    }

    fn kept(&self) -> u64 {
        self.master.kept().iter().map(|kept| kept.in_all()).sum()
    }
}

#[test]
fn an_application_beyond_the_budget_is_refused_before_it_is_recorded() {
    let mut bench = Bench::with_budget(BUDGET);
    let mut admitted = Vec::new();
    let refusal = loop {
        let peer = 100 + admitted.len() as u64;
        match bench.long_application(peer, "ann", 2000) {
            Ok(app) => admitted.push((peer, app)),
            Err(why) => break why,
        }
        assert!(bench.kept() <= BUDGET);
    };
    assert!(refusal.contains("of user \"ann\"") && refusal.contains("firesteel.master.memory"), "{refusal}");
    assert!((4..=7).contains(&admitted.len()), "three quarters: {}", admitted.len());
    let recorded = bench.journal.len();
    bench.long_application(200, "ann", 2000).expect_err("still");
    assert_eq!(bench.journal.len(), recorded, "nothing of a refused application is durable");
    let bobs = bench.long_application(300, "bob", 1000).expect("something is left to others");
    bench.says(300, DriverToMaster::UnregisterApplication { app: bobs, outcome: None });
    for (peer, app) in admitted {
        bench.says(peer, DriverToMaster::UnregisterApplication { app, outcome: None });
    }
    assert_eq!(bench.kept(), 0, "everything is given back");
    bench.long_application(400, "ann", 2000).expect("there is room again");
}

#[test]
fn a_description_that_no_program_could_start_with_is_refused() {
    let mut bench = Bench::with_budget(u64::MAX);
    let longest = usize::try_from(LONGEST_DESCRIPTION).expect("it fits");
    let refusal = bench.long_application(100, "ann", longest).expect_err("it is too long");
    assert!(refusal.contains("description has at most 4194304 bytes"), "{refusal}");
    bench.long_application(101, "ann", longest / 2).expect("half of it");
}

#[test]
fn preferences_beyond_the_budget_are_ignored_and_others_replace_each_other() {
    let mut bench = Bench::with_budget(BUDGET);
    let app = bench.long_application(100, "ann", 10).expect("it is short");
    let before = bench.kept();
    let mut prefer = |hosts: usize, length: usize| {
        let preferred = (0..hosts).map(|host| (format!("{host}{}", "x".repeat(length)), 1)).collect();
        let preferences = Box::new(HostPreferences { preferred, ..HostPreferences::default() });
        bench.says(100, DriverToMaster::PreferHosts { app: app.clone(), preferences });
        bench.kept()
    };
    let some = prefer(10, 500);
    assert!(some > before + 5000, "{some}");
    assert_eq!(prefer(10, 500), some, "others of the same length replace them");
    assert_eq!(prefer(10, 3000), some, "these exceed the budget");
    let longest = usize::try_from(LONGEST_PREFERENCES).expect("it fits");
    assert_eq!(prefer(2, longest), some, "these are too long");
    assert_eq!(prefer(0, 1), before, "none are kept any more");
}

#[test]
fn a_recovered_state_beyond_the_budget_is_kept_and_named() {
    let mut bench = Bench::with_budget(BUDGET * 10);
    let small = bench.long_application(100, "ann", 10).expect("there is room");
    let large = bench.long_application(101, "bob", 50_000).expect("there is room");
    assert_eq!(bench.recovered().over_budget(), None);
    let limits = Limits { kept: BUDGET, ..Limits::default() };
    let config = Config { limits, ..bench.master.config.clone() };
    let recovered = Master::recover(config, bench.now, bench.journal.clone()).expect("it opens anyway");
    let over = recovered.over_budget().expect("it takes more");
    assert_eq!(over.largest, [large.to_string(), small.to_string()]);
    let words = over.to_string();
    assert!(words.contains(large.as_str()) && words.contains("firesteel.master.memory"), "{words}");
    bench.master = recovered;
    bench.long_application(102, "cyd", 10).expect_err("no more until some have ended");
}

#[test]
fn cluster_drivers_and_applications_share_the_budget() {
    let mut bench = Bench::with_budget(BUDGET);
    let wanted = |length: usize| {
        let mut wanted = cluster_drivers::wanted(1, 512, false);
        wanted.user = "ann".to_owned();
        wanted.command.environment.insert("LONG".to_owned(), "x".repeat(length));
        wanted
    };
    bench.submit(&wanted(8_000));
    let asked = bench.client(ClientToMaster::RequestSubmitDriver(Box::new(wanted(6_000)))).1;
    let MasterToClient::SubmitDriverResponse(SubmitDriverAnswer::Refused(refusal)) = asked else {
        panic!("{asked:?}");
    };
    assert!(refusal.to_string().contains("drivers of user \"ann\""), "{refusal}");
    bench.long_application(100, "ann", 6_000).expect_err("her driver takes most of her part");
    bench.long_application(101, "bob", 2_000).expect("there is room for others");
    let before = bench.kept();
    let driver = bench.master.drivers.iter().next().expect("it waits").id.clone();
    bench.client(ClientToMaster::RequestKillDriver { driver, by: admin("ann") });
    assert!(bench.kept() < before - 40_000, "what has ended is given back");
    bench.long_application(100, "ann", 6_000).expect("there is room again");
}
