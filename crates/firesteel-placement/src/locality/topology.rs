//! The topology of a cluster (the rack of each host), and the sites of requests and targets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Locality;

/// The rack of each host. A host without a row has no rack. If there is a [default rack](Topology::with_default_rack),
/// all such hosts share it.
///
/// Source: Hadoop's `TableMapping`. In Hadoop, hosts without a row share `/default-rack`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    racks: BTreeMap<Arc<str>, Arc<str>>,
    /// The rack of all hosts without a row.
    default: Option<Arc<str>>,
}

/// The error for an invalid line of a topology table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} is {text:?}: write a host and its rack with a blank between, such as \"node-1 /rack-1\""
)]
pub struct TopologyError {
    /// The number of the line, starting at 1.
    pub line: usize,
    /// The text of the line.
    pub text: String,
}

impl Topology {
    /// Reads a table with a host and its rack on each line, separated by blanks. Empty lines and lines that start with
    /// `#` are ignored. If a host has two rows, the last one counts.
    ///
    /// Source: Hadoop's `TableMapping`, which ignores invalid lines.
    ///
    /// # Errors
    /// The first line that does not have two words.
    pub fn parse(table: &str) -> Result<Self, TopologyError> {
        let rows = (1..).zip(table.lines().map(str::trim));
        let rows = rows.filter(|(_, text)| !text.is_empty() && !text.starts_with('#'));
        let row = |(line, text): (usize, &str)| {
            let mut words = text.split_whitespace();
            match (words.next(), words.next(), words.next()) {
                (Some(host), Some(rack), None) => Ok((host.to_owned(), rack.to_owned())),
                _ => Err(TopologyError { line, text: text.to_owned() }),
            }
        };
        rows.map(row).collect::<Result<Vec<_>, _>>().map(Self::from_iter)
    }

    /// Sets one rack for all hosts without a row.
    #[must_use]
    pub fn with_default_rack(self, rack: &str) -> Self {
        Self { default: Some(Arc::from(rack)), ..self }
    }

    /// The rack of a host, if it has one.
    #[must_use]
    pub fn rack(&self, host: &str) -> Option<&str> {
        self.shared_rack(host).map(AsRef::as_ref)
    }

    fn shared_rack(&self, host: &str) -> Option<&Arc<str>> {
        self.racks.get(host).or(self.default.as_ref())
    }

    /// The rows, by host.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.racks.iter().map(|(host, rack)| (&**host, &**rack))
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.racks.is_empty()
    }

    /// The sites of these hosts.
    pub fn sites<'a>(&self, hosts: impl IntoIterator<Item = &'a str>) -> Sites {
        let names: BTreeSet<&str> = hosts.into_iter().collect();
        let racks: BTreeSet<&Arc<str>> = names.iter().filter_map(|host| self.shared_rack(host)).collect();
        Sites {
            hosts: names.into_iter().map(Arc::from).collect(),
            racks: racks.into_iter().cloned().collect(),
        }
    }
}

impl FromIterator<(String, String)> for Topology {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(rows: T) -> Self {
        let mut names = BTreeSet::<Arc<str>>::new();
        let mut racks = BTreeMap::new();
        for (host, rack) in rows {
            let rack = names.get(&*rack).cloned().unwrap_or_else(|| {
                let rack = Arc::<str>::from(rack);
                names.insert(Arc::clone(&rack));
                rack
            });
            racks.insert(Arc::from(host), rack);
        }
        Self { racks, default: None }
    }
}

/// The preferred hosts of a request, or the host of a target, with their racks. A request without hosts has no
/// preference.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sites {
    /// The hosts in order, without duplicates.
    pub(super) hosts: Vec<Arc<str>>,
    /// The racks in order, without duplicates.
    pub(super) racks: Vec<Arc<str>>,
}

impl Sites {
    /// The hosts, in order.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(AsRef::as_ref)
    }

    /// The racks, in order.
    pub fn racks(&self) -> impl Iterator<Item = &str> {
        self.racks.iter().map(AsRef::as_ref)
    }

    /// Whether no host is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    pub(super) fn names(&self, level: Locality) -> &[Arc<str>] {
        match level {
            Locality::Host => &self.hosts,
            Locality::Rack => &self.racks,
            Locality::Any => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topology_is_a_table_of_hosts_and_racks() {
        let topology = Topology::parse("# racks\n\n h1   /r1\nh2\t/r1\nh1 /r2\n").expect("it is one");
        assert_eq!(topology.iter().collect::<Vec<_>>(), [("h1", "/r2"), ("h2", "/r1")]);
        assert_eq!((topology.rack("h2"), topology.rack("h9")), (Some("/r1"), None));
        let shared = topology.with_default_rack("/r0");
        assert_eq!((shared.rack("h2"), shared.rack("h9")), (Some("/r1"), Some("/r0")));
        let sites = shared.sites(["h8", "h9"]);
        assert_eq!(sites.racks().collect::<Vec<_>>(), ["/r0"]);
        for (table, line, text) in [("h1 /r1\nh2", 2, "h2"), ("a b c\n", 1, "a b c")] {
            assert_eq!(Topology::parse(table), Err(TopologyError { line, text: text.to_owned() }));
        }
    }
}
