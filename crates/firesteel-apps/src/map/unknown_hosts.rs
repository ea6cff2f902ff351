//! Preferred hosts on which no Worker runs. A remark informs the user, who may have misspelt them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_daemons::master_client::MasterClient;
use firesteel_host::net::{CallError, Introduction, Keyring};
use firesteel_protocol::address::Address;
use firesteel_protocol::messages::MasterView;
use firesteel_protocol::state_reader::Extent;

use tokio::sync::oneshot;
use tokio::time::timeout;

/// The maximum number of hosts for which a separate remark is made.
const MOST_REMARKS: usize = 5;
const MOST_REMEMBERED: usize = 10_000;
/// How long the end of a run waits for a Master's answer about the hosts.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// The hosts that items prefer, compared with the hosts of the Workers.
#[derive(Debug)]
pub struct UnknownHosts {
    worker_hosts: WorkerHosts,
    /// Each preferred host without a known Worker, with the first item that prefers it.
    unseen: BTreeMap<String, u64>,
    /// Hosts that need no check any more: they were already reported, or a Worker runs there.
    done: BTreeSet<String>,
    remarked: usize,
}

/// The known hosts of the Workers.
#[derive(Debug)]
enum WorkerHosts {
    /// No Master was asked, or no Master has answered.
    Unknown,
    Asked(oneshot::Receiver<BTreeSet<String>>),
    Known(BTreeSet<String>),
}

impl UnknownHosts {
    #[must_use]
    pub fn none() -> Self {
        Self {
            worker_hosts: WorkerHosts::Unknown,
            unseen: BTreeMap::new(),
            done: BTreeSet::new(),
            remarked: 0,
        }
    }

    /// Asks the Masters for the Workers' hosts. The first answer counts.
    #[must_use]
    pub fn ask(masters: Vec<Address>, keyring: Option<Keyring>) -> Self {
        let (sender, asked) = oneshot::channel();
        let name = format!("firesteel map {}", std::process::id());
        let ours = Introduction::from(&name).with_keys(keyring);
        tokio::spawn(async move {
            for master in masters {
                if let Ok(view) = ask(&master, &ours).await {
                    // The run may have ended.
                    let _ = sender.send(hosts(view));
                    return;
                }
            }
        });
        Self { worker_hosts: WorkerHosts::Asked(asked), ..Self::none() }
    }

    pub fn add(&mut self, item: u64, hosts: &[String]) {
        let known = match &self.worker_hosts {
            WorkerHosts::Unknown => return,
            WorkerHosts::Asked(_) => None,
            WorkerHosts::Known(worker_hosts) => Some(worker_hosts),
        };
        for host in hosts {
            let is_there = known.is_some_and(|worker_hosts| worker_hosts.contains(host));
            let room = self.unseen.len() + self.done.len() < MOST_REMEMBERED;
            if room && !is_there && !self.done.contains(host) {
                self.unseen.entry(host.clone()).or_insert(item);
            }
        }
    }

    /// The remarks that can be made now. Each remark is made only once.
    pub fn remarks(&mut self) -> Vec<String> {
        if let WorkerHosts::Asked(asked) = &mut self.worker_hosts {
            match asked.try_recv() {
                Ok(worker_hosts) => self.worker_hosts = WorkerHosts::Known(worker_hosts),
                Err(oneshot::error::TryRecvError::Empty) => {}
                Err(oneshot::error::TryRecvError::Closed) => *self = Self::none(),
            }
        }
        let WorkerHosts::Known(worker_hosts) = &self.worker_hosts else { return Vec::new() };
        let mut remarks = Vec::new();
        for (host, item) in std::mem::take(&mut self.unseen) {
            if !worker_hosts.contains(&host) && self.remarked <= MOST_REMARKS {
                remarks.push(match self.remarked {
                    MOST_REMARKS => "further preferred hosts are not those of Workers".to_owned(),
                    _ => format!(
                        "no Worker runs on {host:?}, a preferred host of item {item}: firesteel status --json shows the hosts"
                    ),
                });
                self.remarked += 1;
            }
            self.done.insert(host);
        }
        remarks
    }

    /// The last remarks, after the end of the run.
    pub async fn last_remarks(&mut self) -> Vec<String> {
        if self.unseen.is_empty() {
            return Vec::new();
        }
        if let WorkerHosts::Asked(asked) = &mut self.worker_hosts
            && let Ok(Ok(worker_hosts)) = timeout(ANSWER_TIMEOUT, asked).await
        {
            self.worker_hosts = WorkerHosts::Known(worker_hosts);
        }
        self.remarks()
    }
}

async fn ask(master: &Address, ours: &Introduction) -> Result<MasterView, CallError> {
    MasterClient::open(master, ours.clone()).await?.state(Extent::Workers).await
}

fn hosts(view: MasterView) -> BTreeSet<String> {
    let living = view.workers.into_iter().filter(|worker| !worker.state.is_gone());
    living.map(|worker| worker.host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knowing(hosts: &[&str]) -> UnknownHosts {
        let worker_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        UnknownHosts { worker_hosts: WorkerHosts::Known(worker_hosts), ..UnknownHosts::none() }
    }

    fn add(unknown: &mut UnknownHosts, item: u64, hosts: &[&str]) {
        unknown.add(item, &hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>());
    }

    #[test]
    fn a_host_that_no_worker_has_is_told_once_with_its_first_item() {
        let mut unknown = knowing(&["a", "b"]);
        add(&mut unknown, 1, &["a"]);
        add(&mut unknown, 2, &["b", "nodee"]);
        add(&mut unknown, 3, &["nodee"]);
        let said = "no Worker runs on \"nodee\", a preferred host of item 2: firesteel status --json shows the hosts";
        assert_eq!(unknown.remarks(), [said]);
        add(&mut unknown, 4, &["nodee"]);
        assert!(unknown.remarks().is_empty());
    }

    #[test]
    fn of_many_the_first_few_are_told() {
        let mut unknown = knowing(&[]);
        for item in 0..100 {
            add(&mut unknown, item, &[&format!("node-{item}")]);
        }
        let remarks = unknown.remarks();
        assert_eq!(remarks.len(), MOST_REMARKS + 1, "{remarks:?}");
        add(&mut unknown, 100, &["node-x"]);
        assert!(unknown.remarks().is_empty());
    }
}
