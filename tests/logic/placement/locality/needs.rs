//! Laws of the hosts on which executors are requested.

use std::collections::BTreeMap;

use firesteel_placement::advanced::locality::{
    Expected, HostPreference, Pending, Topology, host_preferences, needs, single_host_preferences,
};
use quickcheck::{Arbitrary, Gen};

use crate::suites::laws::{ensure, hold};

/// Executors for tasks with preferred hosts; some hosts have executors already.
#[derive(Clone, Debug)]
struct Case {
    executors: u64,
    tasks: u64,
    tasks_per_executor: u64,
    on_hosts: BTreeMap<String, u64>,
    held: BTreeMap<String, u64>,
    pending: Vec<Vec<String>>,
}

fn below(g: &mut Gen, end: u64) -> u64 {
    u64::arbitrary(g) % end
}

fn host(g: &mut Gen) -> String {
    format!("h{}", below(g, 6))
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let count = |g: &mut Gen| 0..below(g, 6);
        Self {
            executors: below(g, 20),
            tasks: below(g, 60),
            tasks_per_executor: below(g, 4),
            on_hosts: count(g).map(|_| (host(g), below(g, 30))).collect(),
            held: count(g).map(|_| (host(g), below(g, 5))).collect(),
            pending: count(g).map(|_| (0..=below(g, 3)).map(|_| host(g)).collect()).collect(),
        }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let (one, two, three) = (self.clone(), self.clone(), self.clone());
        let executors = self.executors.shrink().map(move |executors| Self { executors, ..one.clone() });
        let held = self.held.shrink().map(move |held| Self { held, ..two.clone() });
        let pending = self.pending.shrink().map(move |pending| Self { pending, ..three.clone() });
        Box::new(executors.chain(held).chain(pending))
    }
}

impl Case {
    fn expected(&self) -> Expected<'_> {
        Expected { tasks: self.tasks, tasks_per_executor: self.tasks_per_executor, on_hosts: &self.on_hosts }
    }

    fn held(&self, host: &str) -> u64 {
        self.held.get(host).copied().unwrap_or(0)
    }

    fn asked(&self) -> Pending {
        let mut pending = Pending { executors: self.pending.len() as u64, ..Pending::default() };
        for host in self.pending.iter().flatten() {
            *pending.naming.entry(host.clone()).or_default() += 1;
        }
        pending
    }

    fn needs(&self) -> BTreeMap<&str, u64> {
        needs(&self.expected(), |host| self.held(host), &self.asked())
    }

    /// The number of executors wanted on each host if each request names one, and the number wanted anywhere.
    fn wished_one_by_one(&self) -> (BTreeMap<String, u64>, u64) {
        let (held, topology) = (|host: &str| self.held(host), Topology::default());
        let preferences =
            single_host_preferences(self.executors, &self.expected(), held, &self.asked(), &topology);
        let (mut named, mut free) = (BTreeMap::new(), 0);
        for HostPreference { sites, executors } in preferences {
            match sites.hosts().next() {
                Some(host) => *named.entry(host.to_owned()).or_default() += executors,
                None => free += executors,
            }
        }
        (named, free)
    }

    /// The hosts that each executor names, executor by executor.
    fn wished(&self) -> Vec<Vec<String>> {
        let preferences = host_preferences(self.executors, &self.needs(), &Topology::default());
        let names = preferences.iter().flat_map(|one| (0..one.executors).map(|_| &one.sites));
        names.map(|sites| sites.hosts().map(str::to_owned).collect()).collect()
    }
}

/// The rule of Spark's class: one executor at a time; each host that it names needs one less.
fn walk(executors: u64, needs: &BTreeMap<&str, u64>) -> Vec<Vec<String>> {
    let located = needs.values().sum::<u64>().min(executors);
    let greatest = needs.values().copied().max().unwrap_or(0).max(1);
    let mut left: Vec<(&str, i64)> = needs
        .iter()
        .map(|(host, need)| {
            let times = (*need as f64 * located as f64 / greatest as f64).ceil();
            (*host, times as i64)
        })
        .collect();
    let mut walked = vec![Vec::new(); usize::try_from(executors - located).expect("it is small")];
    for _ in 0..located {
        walked.push(left.iter().filter(|(_, left)| *left > 0).map(|(host, _)| (*host).to_owned()).collect());
        left.iter_mut().for_each(|(_, left)| *left -= 1);
    }
    walked
}

#[test]
fn preferences_are_what_a_walk_from_executor_to_executor_gives() {
    hold("preferences_are_what_a_walk", 50_000, |case: &Case| {
        let (found, walked) = (case.wished(), walk(case.executors, &case.needs()));
        ensure!(found == walked, "the walk gives {walked:?}, not {found:?}");
        Ok(())
    });
}

#[test]
fn whoever_needs_more_is_named_more_and_whoever_needs_none_is_not_named() {
    hold("whoever_needs_more_is_named_more", 50_000, |case: &Case| {
        let (needs, wished) = (case.needs(), case.wished());
        ensure!(wished.len() as u64 == case.executors, "{} are wished for", wished.len());
        let located = wished.iter().filter(|hosts| !hosts.is_empty()).count() as u64;
        let times = |host: &str| wished.iter().flatten().filter(|named| *named == host).count() as u64;
        let greatest = needs.values().max();
        for (host, need) in &needs {
            ensure!(*need > 0 || times(host) == 0, "{host} needs none and is named");
            ensure!(
                Some(need) != greatest || *need == 0 || times(host) == located,
                "{host} is not named by all"
            );
            for (other, less) in &needs {
                ensure!(less > need || times(other) <= times(host), "{other} is named more than {host}");
            }
        }
        ensure!(located <= needs.values().sum(), "{located} are to be on hosts");
        Ok(())
    });
}

/// The requests equal the later executors: no host gets more requests than it needs, and none is left out in favour of
/// a host with a smaller need.
#[test]
fn requests_of_one_host_each_add_up_and_no_host_is_asked_for_more_than_it_needs() {
    hold("requests_of_one_host_each_add_up", 50_000, |case: &Case| {
        let (needs, (named, free)) = (case.needs(), case.wished_one_by_one());
        let sum = free + named.values().sum::<u64>();
        ensure!(sum == case.executors, "{sum} are wished for: {named:?}, {free} anywhere");
        let asked = |host: &str| named.get(host).copied().unwrap_or(0);
        for (host, need) in &needs {
            ensure!(asked(host) <= *need, "{host} needs {need} and is asked for {}", asked(host));
            for (other, less) in &needs {
                ensure!(
                    less > need || asked(other) <= asked(host) + 1,
                    "{host} needs {need} and is asked for {}, {other} needs {less} and is asked for {}",
                    asked(host),
                    asked(other)
                );
            }
        }
        ensure!(
            free == 0 || needs.iter().all(|(host, need)| asked(host) + 1 >= *need),
            "{free} are anywhere, though hosts need more: {needs:?}, {named:?}"
        );
        Ok(())
    });
}
