//! The hosts on which executors are requested, so that executors run near the data of tasks.

use std::collections::BTreeMap;

use super::{Sites, Topology};

/// The waiting tasks for which executors are requested.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The number of waiting tasks that prefer hosts.
    pub tasks: u64,
    /// The number of tasks that an executor runs at once. 0 counts as 1.
    pub tasks_per_executor: u64,
    /// The number of waiting tasks that prefer each host. A task may prefer several hosts.
    pub on_hosts: &'a BTreeMap<String, u64>,
}

/// The executors that were requested before and have not started, on hosts that tasks still prefer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// The number of executors.
    pub executors: u64,
    /// The number of pending executors that name each host. An executor may name several hosts, even hosts that no task
    /// prefers any more.
    pub naming: BTreeMap<String, u64>,
}

/// A number of executors to request with the same preferred hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPreference {
    /// The preferred hosts with their racks. Empty if the executors have no preference.
    pub sites: Sites,
    /// The number of executors.
    pub executors: u64,
}

/// The number of further executors that each host should get. It is the host's share of the executors that all waiting
/// tasks keep busy, minus the host's executors and its part of the pending ones. The result has an entry for each host
/// that tasks prefer.
///
/// Source: Spark's `LocalityPreferredContainerPlacementStrategy`, 4.0.1. Firesteel also computes in 64-bit floats, and
/// in the same order.
#[must_use]
pub fn needs<'a>(
    expected: &Expected<'a>,
    held: impl Fn(&str) -> u64,
    pending: &Pending,
) -> BTreeMap<&'a str, u64> {
    let need = |(host, deficit): (&'a str, f64)| (host, deficit.ceil() as u64);
    deficits(expected, held, pending).into_iter().map(need).collect()
}

/// The needs of the hosts, in fractions of executors. Negative for a host that has more than its share.
pub(super) fn deficits<'a>(
    expected: &Expected<'a>,
    held: impl Fn(&str) -> u64,
    pending: &Pending,
) -> BTreeMap<&'a str, f64> {
    let executors = expected.tasks.div_ceil(expected.tasks_per_executor.max(1)) as f64;
    let total = expected.on_hosts.values().map(|tasks| *tasks as f64).sum::<f64>();
    let named = pending.naming.values().map(|count| *count as f64).sum::<f64>();
    let deficit = |(host, tasks): (&'a String, &u64)| {
        let share = *tasks as f64 * executors / total;
        let coming = match pending.naming.get(host) {
            Some(count) => *count as f64 * pending.executors as f64 / named,
            None => 0.0,
        };
        (host.as_str(), share - (held(host) as f64 + coming))
    };
    expected.on_hosts.iter().map(deficit).collect()
}

/// The preferences of this number of executors. First come executors without preferred hosts. The others name hosts
/// that need executors: the first ones name all such hosts, and later ones fewer. So the host with the greatest need is
/// named by every executor. Each other host is named in proportion to its need.
///
/// An executor that names three hosts runs on one of them. So hosts are named more often than they get executors.
/// Spark's documentation describes other numbers than its code computes. Firesteel computes the numbers of the code.
///
/// Source: Spark's `LocalityPreferredContainerPlacementStrategy`, 4.0.1. Spark lists each executor. Here, executors
/// with the same hosts are one entry, so that there is at most one entry more than there are hosts.
#[must_use]
pub fn host_preferences(
    executors: u64,
    needs: &BTreeMap<&str, u64>,
    topology: &Topology,
) -> Vec<HostPreference> {
    let located = needs.values().fold(0_u64, |sum, need| sum.saturating_add(*need)).min(executors);
    let mut preferences = Vec::new();
    if executors > located {
        preferences.push(HostPreference { sites: Sites::default(), executors: executors - located });
    }
    let greatest = needs.values().copied().max().unwrap_or(0);
    let times = |need: u64| {
        let times = (u128::from(need) * u128::from(located)).div_ceil(u128::from(greatest.max(1)));
        u64::try_from(times).expect("no need is greater than the greatest")
    };
    // Hosts by the number of executors that name them. An executor that names a host also names all hosts that are
    // named more often.
    let mut rows = BTreeMap::<u64, Vec<&str>>::new();
    for (host, need) in needs {
        rows.entry(times(*need)).or_default().push(host);
    }
    rows.remove(&0);
    let mut before = 0;
    for row in rows.keys() {
        let sites = topology.sites(rows.range(row..).flat_map(|(_, hosts)| hosts.iter().copied()));
        preferences.push(HostPreference { sites, executors: row - before });
        before = *row;
    }
    preferences
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number for each host.
    type Numbers = &'static [(&'static str, u64)];
    /// A number of executors with the hosts that they name.
    type Names = &'static [(u64, &'static [&'static str])];

    /// One call of Spark's class and its result.
    struct Row {
        name: &'static str,
        /// The cores of an executor. Each task takes one core.
        cores: u64,
        executors: u64,
        tasks: u64,
        on_hosts: Numbers,
        held: Numbers,
        pending: Names,
        answer: Names,
    }

    const S: Numbers = &[("host1", 15), ("host2", 15), ("host3", 10)];
    const D: Numbers = &[("host1", 30), ("host2", 30), ("host3", 20), ("host4", 10)];
    const ONE_EACH: Numbers = &[("host1", 1), ("host2", 1), ("host3", 1), ("host4", 1)];
    const FIVE_EACH: Numbers = &[("host1", 5), ("host2", 5), ("host3", 5), ("host4", 5)];
    const ONE_TO_FOUR: &[&str] = &["host1", "host2", "host3", "host4"];
    const ONE_TO_THREE: &[&str] = &["host1", "host2", "host3"];
    const X: Numbers = &[("a", 16), ("b", 8), ("c", 8)];

    #[rustfmt::skip]
    const ROWS: &[Row] = &[
        Row { name: "S1 enough, none matched", cores: 5, executors: 3, tasks: 15,
              on_hosts: &[("host3", 15), ("host4", 15), ("host5", 10)], held: &[("host1", 1), ("host2", 1)], pending: &[],
              answer: &[(2, &["host3", "host4", "host5"]), (1, &["host3", "host4"])] },
        Row { name: "S2 enough, partly matched", cores: 5, executors: 3, tasks: 15,
              on_hosts: S, held: &[("host1", 2), ("host2", 1)], pending: &[],
              answer: &[(1, &[]), (2, &["host2", "host3"])] },
        Row { name: "S3 limited, partly matched", cores: 5, executors: 1, tasks: 15,
              on_hosts: S, held: &[("host1", 2), ("host2", 1)], pending: &[],
              answer: &[(1, &["host2", "host3"])] },
        Row { name: "S4 fully matched", cores: 5, executors: 3, tasks: 15,
              on_hosts: S, held: &[("host1", 2), ("host2", 2), ("host3", 1)], pending: &[],
              answer: &[(3, &[])] },
        Row { name: "S5 no preference", cores: 5, executors: 1, tasks: 0,
              on_hosts: &[], held: &[("host1", 1), ("host2", 1)], pending: &[],
              answer: &[(1, &[])] },
        Row { name: "S6 pending considered", cores: 5, executors: 1, tasks: 15,
              on_hosts: S, held: &[("host1", 2), ("host2", 1)],
              pending: &[(1, &["host2", "host3"]), (1, &["host1", "host4"])],
              answer: &[(1, &["host3"])] },
        Row { name: "D1", cores: 2, executors: 18, tasks: 30, on_hosts: D, held: &[], pending: &[],
              answer: &[(2, &[]), (7, ONE_TO_FOUR), (6, ONE_TO_THREE), (3, &["host1", "host2"])] },
        Row { name: "D2", cores: 2, executors: 10, tasks: 30, on_hosts: D, held: &[], pending: &[],
              answer: &[(4, ONE_TO_FOUR), (4, ONE_TO_THREE), (2, &["host1", "host2"])] },
        Row { name: "D3", cores: 2, executors: 18, tasks: 30, on_hosts: D, held: ONE_EACH, pending: &[],
              answer: &[(6, &[]), (3, ONE_TO_FOUR), (6, ONE_TO_THREE), (3, &["host1", "host2"])] },
        Row { name: "D4", cores: 2, executors: 10, tasks: 30, on_hosts: D, held: ONE_EACH, pending: &[],
              answer: &[(3, ONE_TO_FOUR), (5, ONE_TO_THREE), (2, &["host1", "host2"])] },
        Row { name: "D5", cores: 2, executors: 7, tasks: 30, on_hosts: D, held: FIVE_EACH, pending: &[],
              answer: &[(7, &[])] },
        Row { name: "X1", cores: 4, executors: 5, tasks: 16, on_hosts: X, held: &[], pending: &[],
              answer: &[(1, &[]), (2, &["a", "b", "c"]), (2, &["a"])] },
        Row { name: "X2", cores: 4, executors: 2, tasks: 16, on_hosts: X, held: &[("a", 1)], pending: &[(1, &["a", "b"])],
              answer: &[(2, &["a", "b", "c"])] },
        Row { name: "X3", cores: 1, executors: 4, tasks: 3, on_hosts: &[("a", 3), ("b", 1), ("host3", 1)], held: &[],
              pending: &[(1, &["a"]), (1, &["a", "host3"])],
              answer: &[(2, &[]), (2, &["a", "b"])] },
        Row { name: "X4", cores: 3, executors: 2, tasks: 7, on_hosts: &[("a", 7)], held: &[], pending: &[],
              answer: &[(2, &["a"])] },
        Row { name: "X5", cores: 4, executors: 6, tasks: 10,
              on_hosts: &[("a", 10), ("b", 10), ("c", 10), ("d", 10), ("e", 10), ("host3", 10)],
              held: &[("b", 1)], pending: &[],
              answer: &[(1, &[]), (5, &["a", "c", "d", "e", "host3"])] },
        Row { name: "X6", cores: 2, executors: 3, tasks: 0, on_hosts: &[("a", 4), ("b", 2)], held: &[], pending: &[],
              answer: &[(3, &[])] },
    ];

    fn topology() -> Topology {
        Topology::parse("host3 /rack2").expect("it is a table").with_default_rack("/rack1")
    }

    #[test]
    fn preferences_are_those_recorded_from_spark() {
        let owned = |numbers: Numbers| -> BTreeMap<String, u64> {
            numbers.iter().map(|(host, number)| ((*host).to_owned(), *number)).collect()
        };
        for row in ROWS {
            let (on_hosts, held) = (owned(row.on_hosts), owned(row.held));
            let expected = Expected { tasks: row.tasks, tasks_per_executor: row.cores, on_hosts: &on_hosts };
            let mut pending = Pending::default();
            for (executors, hosts) in row.pending {
                pending.executors += executors;
                hosts
                    .iter()
                    .for_each(|host| *pending.naming.entry((*host).to_owned()).or_default() += executors);
            }
            let needs = needs(&expected, |host| held.get(host).copied().unwrap_or(0), &pending);
            let found = host_preferences(row.executors, &needs, &topology());
            let preference = |(executors, hosts): &(u64, &[&str])| HostPreference {
                sites: topology().sites(hosts.iter().copied()),
                executors: *executors,
            };
            assert_eq!(found, row.answer.iter().map(preference).collect::<Vec<_>>(), "{}", row.name);
        }
        let racks = |hosts: &[&str]| topology().sites(hosts.iter().copied()).racks().count();
        assert_eq!([racks(&["host3"]), racks(&["a", "b"]), racks(&["a", "host3"])], [1, 1, 2]);
    }

    #[test]
    fn thousands_of_executors_have_no_more_preferences_than_there_are_hosts() {
        let on_hosts: BTreeMap<String, u64> =
            (1..=128).map(|number| (format!("host{number}"), 32_768 % number)).collect();
        let expected = Expected { tasks: 32_768, tasks_per_executor: 1, on_hosts: &on_hosts };
        let held = |host: &str| u64::from(host.len() > 4) * 16;
        let found =
            host_preferences(4096, &needs(&expected, held, &Pending::default()), &Topology::default());
        assert!(found.len() <= 129, "{} preferences", found.len());
        assert_eq!(found.iter().map(|preference| preference.executors).sum::<u64>(), 4096);
    }

    #[test]
    fn numbers_without_sense_prefer_no_host_or_all_hosts() {
        let most = BTreeMap::from([("a".to_owned(), u64::MAX), ("b".to_owned(), u64::MAX)]);
        let none = BTreeMap::from([("a".to_owned(), 0)]);
        for (tasks, on_hosts, hosts) in [(u64::MAX, &most, 2), (9, &none, 0), (0, &most, 0)] {
            let expected = Expected { tasks, tasks_per_executor: 0, on_hosts };
            let needs = needs(&expected, |_| 0, &Pending::default());
            let found = host_preferences(3, &needs, &Topology::default());
            let [HostPreference { sites, executors: 3 }] = &found[..] else { panic!("{found:?}") };
            assert_eq!(sites.hosts().count(), hosts, "{tasks} {on_hosts:?}");
        }
    }
}
