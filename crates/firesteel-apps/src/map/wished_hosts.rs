//! Preferred hosts that no Worker has. A remark tells the user, who may have misspelt them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_core::address::Address;
use firesteel_core::messages::{ClientToMaster, MasterToClient, MasterView, WorkerState};
use firesteel_core::wire::Role;
use tokio::sync::oneshot;
use tokio::time::timeout;

use firesteel_host::net;

/// Maximum number of hosts that get a remark of their own.
const MOST_TOLD: usize = 5;
/// Maximum number of hosts that are remembered.
const MOST_REMEMBERED: usize = 10_000;
/// How long the end of a run waits for a Master's answer about the hosts.
const PATIENCE: Duration = Duration::from_secs(1);

/// The hosts that items prefer, compared with the hosts of the Workers.
#[derive(Debug)]
pub struct WishedHosts {
    there: There,
    /// Each host that no Worker is known to have, with the first item that prefers it.
    wished: BTreeMap<String, u64>,
    /// Hosts that were reported, or that a Worker has.
    settled: BTreeSet<String>,
    told: usize,
}

/// The hosts of the Workers.
#[derive(Debug)]
enum There {
    /// No Master was asked, or none answered.
    Unknown,
    Asked(oneshot::Receiver<BTreeSet<String>>),
    Known(BTreeSet<String>),
}

impl WishedHosts {
    /// The value for items without preferred hosts.
    #[must_use]
    pub fn none() -> Self {
        Self { there: There::Unknown, wished: BTreeMap::new(), settled: BTreeSet::new(), told: 0 }
    }

    /// Asks the Masters for the hosts. The first answer counts.
    #[must_use]
    pub fn ask(masters: Vec<Address>) -> Self {
        let (sender, asked) = oneshot::channel();
        tokio::spawn(async move {
            for master in masters {
                let name = format!("firesteel map {}", std::process::id());
                let question = ClientToMaster::RequestMasterState;
                if let Ok(MasterToClient::MasterStateResponse(view)) =
                    net::call(&master, Role::Master, &name, &question).await
                {
                    // The run may be over. A partial view of a cluster cannot tell which hosts are
                    // missing.
                    let _ = (view.left_out.workers == 0).then(|| sender.send(hosts(view)));
                    return;
                }
            }
        });
        Self { there: There::Asked(asked), ..Self::none() }
    }

    /// Adds the preferred hosts of an item.
    pub fn add(&mut self, item: u64, hosts: &[String]) {
        let known = match &self.there {
            There::Unknown => return,
            There::Asked(_) => None,
            There::Known(there) => Some(there),
        };
        for host in hosts {
            let is_there = known.is_some_and(|there| there.contains(host));
            let room = self.wished.len() + self.settled.len() < MOST_REMEMBERED;
            if room && !is_there && !self.settled.contains(host) {
                self.wished.entry(host.clone()).or_insert(item);
            }
        }
    }

    /// The remarks that are known now.
    pub fn remarks(&mut self) -> Vec<String> {
        if let There::Asked(asked) = &mut self.there {
            match asked.try_recv() {
                Ok(there) => self.there = There::Known(there),
                Err(oneshot::error::TryRecvError::Empty) => {}
                Err(oneshot::error::TryRecvError::Closed) => *self = Self::none(),
            }
        }
        let There::Known(there) = &self.there else { return Vec::new() };
        let mut remarks = Vec::new();
        for (host, item) in std::mem::take(&mut self.wished) {
            if !there.contains(&host) && self.told <= MOST_TOLD {
                remarks.push(match self.told {
                    MOST_TOLD => "further preferred hosts are not those of Workers".to_owned(),
                    _ => format!(
                        "no Worker runs on {host:?}, a preferred host of item {item}: firesteel status --json shows the hosts"
                    ),
                });
                self.told += 1;
            }
            self.settled.insert(host);
        }
        remarks
    }

    /// The last remarks, after the end of the run.
    pub async fn last_remarks(&mut self) -> Vec<String> {
        if self.wished.is_empty() {
            return Vec::new();
        }
        if let There::Asked(asked) = &mut self.there
            && let Ok(Ok(there)) = timeout(PATIENCE, asked).await
        {
            self.there = There::Known(there);
        }
        self.remarks()
    }
}

fn hosts(view: MasterView) -> BTreeSet<String> {
    let living = view.workers.into_iter().filter(|worker| worker.state != WorkerState::Dead);
    living.map(|worker| worker.host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knowing(hosts: &[&str]) -> WishedHosts {
        let there = hosts.iter().map(|host| (*host).to_owned()).collect();
        WishedHosts { there: There::Known(there), ..WishedHosts::none() }
    }

    fn add(wished: &mut WishedHosts, item: u64, hosts: &[&str]) {
        wished.add(item, &hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>());
    }

    #[test]
    fn a_host_that_no_worker_has_is_told_once_with_its_first_item() {
        let mut wished = knowing(&["a", "b"]);
        add(&mut wished, 1, &["a"]);
        add(&mut wished, 2, &["b", "nodee"]);
        add(&mut wished, 3, &["nodee"]);
        let said = "no Worker runs on \"nodee\", a preferred host of item 2: firesteel status --json shows the hosts";
        assert_eq!(wished.remarks(), [said]);
        add(&mut wished, 4, &["nodee"]);
        assert!(wished.remarks().is_empty());
    }

    #[test]
    fn of_many_the_first_few_are_told() {
        let mut wished = knowing(&[]);
        for item in 0..100 {
            add(&mut wished, item, &[&format!("node-{item}")]);
        }
        let remarks = wished.remarks();
        assert_eq!(remarks.len(), MOST_TOLD + 1, "{remarks:?}");
        add(&mut wished, 100, &["node-x"]);
        assert!(wished.remarks().is_empty());
    }
}
