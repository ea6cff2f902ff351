//! Which hosts a request for an executor names.

use super::needs::{Expected, Pending, Wish, deficits};
use super::{Sites, Topology};

/// Which hosts a request for an executor names.
///
/// What a manager is told is how many containers are wanted on each host, and how many in all. A request that names many
/// hosts counts on each of them, so that together they are far more than will come: a machine with much room that
/// reports first is given what others wait for. Requests of one host each add up to what will come; but where that
/// host has no room, they must be made again on another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// All hosts that need executors, as [`wishes`](super::wishes) has it. Spark's.
    #[default]
    Many,
    /// One, as [`wishes_of_one_host`] has it. A host that has given nothing for a while is passed over; when all are,
    /// requests name many.
    One,
}

/// The wishes of so many executors, first those that need not be anywhere. Each of the others names one host, and each
/// host is named by its share of what is missing, in whole executors: those with the greatest rest have one more, the
/// first by name among equals.
#[must_use]
pub fn wishes_of_one_host(
    executors: u64,
    expected: &Expected<'_>,
    held: impl Fn(&str) -> u64,
    pending: &Pending,
    topology: &Topology,
) -> Vec<Wish> {
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
    let free =
        (executors > located).then(|| Wish { sites: Sites::default(), executors: executors - located });
    let named = shares.into_iter().map(|(host, whole, _)| {
        let more = rest.min(1);
        rest -= more;
        Wish { sites: topology.sites([host]), executors: whole + more }
    });
    free.into_iter().chain(named.filter(|wish| wish.executors > 0)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// How many executors are wished for on each host, in order, and how many anywhere.
    fn wished(executors: u64, tasks: u64, on_hosts: &[(&str, u64)], held: &[(&str, u64)]) -> (String, u64) {
        let owned = |numbers: &[(&str, u64)]| -> BTreeMap<String, u64> {
            numbers.iter().map(|(host, number)| ((*host).to_owned(), *number)).collect()
        };
        let (on_hosts, held) = (owned(on_hosts), owned(held));
        let expected = Expected { tasks, tasks_per_executor: 1, on_hosts: &on_hosts };
        let held = |host: &str| held.get(host).copied().unwrap_or(0);
        let topology = Topology::default();
        let wishes = wishes_of_one_host(executors, &expected, held, &Pending::default(), &topology);
        let mut hosts = Vec::new();
        for Wish { sites, executors } in wishes.iter().filter(|wish| !wish.sites.is_empty()) {
            assert_eq!(sites.hosts().count(), 1);
            hosts.push(format!("{} {executors}", sites.hosts().next().expect("there is one")));
        }
        hosts.sort();
        let free = wishes.iter().filter(|wish| wish.sites.is_empty()).map(|wish| wish.executors).sum();
        (hosts.join(", "), free)
    }

    #[test]
    fn each_host_is_named_by_its_share_of_what_is_missing() {
        let three = [("a", 30), ("b", 20), ("c", 10)];
        for (executors, tasks, on_hosts, held, expected) in [
            (6, 6, &three[..], &[][..], ("a 3, b 2, c 1", 0)),
            (3, 6, &three, &[], ("a 2, b 1", 0)),
            (9, 6, &three, &[], ("a 3, b 2, c 1", 3)),
            // Two of the six are there, on a, which needs one more of the four that are missing.
            (4, 6, &three, &[("a", 2)], ("a 1, b 2, c 1", 0)),
            // More are on a than its share: what is missing is elsewhere.
            (2, 6, &three, &[("a", 9)], ("b 1, c 1", 0)),
            (2, 2, &[("a", 1), ("b", 1), ("c", 1), ("d", 1)], &[], ("a 1, b 1", 0)),
            (5, 0, &three, &[], ("", 5)),
            (5, 5, &[], &[], ("", 5)),
            (0, 5, &three, &[], ("", 0)),
        ] {
            let (hosts, free) = wished(executors, tasks, on_hosts, held);
            assert_eq!((hosts.as_str(), free), expected, "{executors} {tasks} {on_hosts:?} {held:?}");
        }
    }

    #[test]
    fn numbers_without_sense_give_as_many_wishes_as_executors() {
        let most = [("a", u64::MAX), ("b", u64::MAX)];
        for (tasks, on_hosts) in [(u64::MAX, &most[..]), (u64::MAX, &[("a", 0)]), (0, &most), (1, &most)] {
            let (hosts, free) = wished(7, tasks, on_hosts, &[]);
            let named: u64 =
                hosts.split(", ").filter_map(|row| row.split(' ').nth(1)?.parse::<u64>().ok()).sum();
            assert_eq!(named + free, 7, "{tasks} {on_hosts:?}: {hosts}, {free}");
        }
    }
}
