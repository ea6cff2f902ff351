//! Whether a request for an executor names one host or many.

use super::needs::{Expected, HostPreference, Pending, deficits};
use super::{Sites, Topology};

/// How many hosts a request for an executor names.
///
/// A ResourceManager receives the number of containers wanted on each host, and the total. A request that names many
/// hosts counts on each of them, so the sum over the hosts is far larger than the total. Then a host that has much free
/// capacity and reports first gets containers that were meant for other hosts. If each request names one host, the sum
/// equals the total. But if that host is full, the request must be repeated for another host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// A request names all hosts that need executors, by [`host_preferences`](super::host_preferences), as in Spark.
    #[default]
    Many,
    /// A request names one host, by [`single_host_preferences`]. A host that has given nothing for a while is left out.
    /// If all hosts are left out, requests name many hosts.
    One,
}

/// The preferences of this number of executors. First come executors without preferred hosts. Each other executor names
/// one host. Hosts are named in proportion to the executors that they lack, rounded down. The hosts with the largest
/// remainders get one more; among equal remainders, the first names.
#[must_use]
pub fn single_host_preferences(
    executors: u64,
    expected: &Expected<'_>,
    held: impl Fn(&str) -> u64,
    pending: &Pending,
    topology: &Topology,
) -> Vec<HostPreference> {
    let mut deficits = deficits(expected, held, pending);
    deficits.retain(|_, deficit| *deficit > 0.0);
    let sum: f64 = deficits.values().sum();
    let located = executors.min(sum.ceil() as u64);
    let share = |(host, deficit): (_, f64)| {
        let share = deficit * (located as f64 / sum).min(1.0);
        (host, share.floor() as u64, share.fract())
    };
    let mut shares: Vec<(&str, u64, f64)> = deficits.into_iter().map(share).collect();
    shares.sort_by(|(one, _, less), (other, _, more)| more.total_cmp(less).then_with(|| one.cmp(other)));
    let mut rest = located.saturating_sub(shares.iter().map(|(_, whole, _)| whole).sum());
    let free = (executors > located)
        .then(|| HostPreference { sites: Sites::default(), executors: executors - located });
    let named = shares.into_iter().map(|(host, whole, _)| {
        let more = rest.min(1);
        rest -= more;
        HostPreference { sites: topology.sites([host]), executors: whole + more }
    });
    free.into_iter().chain(named.filter(|preference| preference.executors > 0)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The number of executors that prefer each host, in order of the hosts, and the number without a preference.
    fn preferred(
        executors: u64,
        tasks: u64,
        on_hosts: &[(&str, u64)],
        held: &[(&str, u64)],
    ) -> (String, u64) {
        let owned = |numbers: &[(&str, u64)]| -> BTreeMap<String, u64> {
            numbers.iter().map(|(host, number)| ((*host).to_owned(), *number)).collect()
        };
        let (on_hosts, held) = (owned(on_hosts), owned(held));
        let expected = Expected { tasks, tasks_per_executor: 1, on_hosts: &on_hosts };
        let held = |host: &str| held.get(host).copied().unwrap_or(0);
        let topology = Topology::default();
        let preferences = single_host_preferences(executors, &expected, held, &Pending::default(), &topology);
        let mut hosts = Vec::new();
        for HostPreference { sites, executors } in preferences.iter().filter(|one| !one.sites.is_empty()) {
            assert_eq!(sites.hosts().count(), 1);
            hosts.push(format!("{} {executors}", sites.hosts().next().expect("there is one")));
        }
        hosts.sort();
        let free = preferences.iter().filter(|one| one.sites.is_empty()).map(|one| one.executors).sum();
        (hosts.join(", "), free)
    }

    #[test]
    fn each_host_is_named_by_its_share_of_what_is_missing() {
        let three = [("a", 30), ("b", 20), ("c", 10)];
        for (executors, tasks, on_hosts, held, expected) in [
            (6, 6, &three[..], &[][..], ("a 3, b 2, c 1", 0)),
            (3, 6, &three, &[], ("a 2, b 1", 0)),
            (9, 6, &three, &[], ("a 3, b 2, c 1", 3)),
            // Host a has two of the six executors. It needs one of the four that are missing.
            (4, 6, &three, &[("a", 2)], ("a 1, b 2, c 1", 0)),
            // Host a has more than its share, so the executors are missing on the other hosts.
            (2, 6, &three, &[("a", 9)], ("b 1, c 1", 0)),
            (2, 2, &[("a", 1), ("b", 1), ("c", 1), ("d", 1)], &[], ("a 1, b 1", 0)),
            (5, 0, &three, &[], ("", 5)),
            (5, 5, &[], &[], ("", 5)),
            (0, 5, &three, &[], ("", 0)),
        ] {
            let (hosts, free) = preferred(executors, tasks, on_hosts, held);
            assert_eq!((hosts.as_str(), free), expected, "{executors} {tasks} {on_hosts:?} {held:?}");
        }
    }

    #[test]
    fn numbers_without_sense_give_a_preference_per_executor() {
        let most = [("a", u64::MAX), ("b", u64::MAX)];
        for (tasks, on_hosts) in [(u64::MAX, &most[..]), (u64::MAX, &[("a", 0)]), (0, &most), (1, &most)] {
            let (hosts, free) = preferred(7, tasks, on_hosts, &[]);
            let named: u64 =
                hosts.split(", ").filter_map(|row| row.split(' ').nth(1)?.parse::<u64>().ok()).sum();
            assert_eq!(named + free, 7, "{tasks} {on_hosts:?}: {hosts}, {free}");
        }
    }
}
