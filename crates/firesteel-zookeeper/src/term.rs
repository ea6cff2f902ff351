//! The term of a Master that leads, and its lease.

use std::time::Duration;

use firesteel_host::lease::{Lease, Moment};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use zookeeper_client::CheckWriteError;

use crate::ensemble::Session;
use crate::znodes::Znodes;

/// The term of a Master that leads. When this value is dropped, the Master's session ends, and another Master may lead
/// at once.
#[derive(Debug)]
pub struct Term {
    session: Session,
    epoch: i32,
    lease: Lease,
    keeper: JoinHandle<()>,
}

impl Term {
    /// Begins a term. `asked` is the time at which the Master sent the request that made it the leader.
    pub(crate) fn begin(session: Session, epoch: i32, asked: Moment) -> Self {
        let lease = Lease::until(asked + lease_length(&session));
        let keeper = session.runtime().spawn(keep(session.clone(), epoch, lease.clone()));
        Self { session, epoch, lease, keeper }
    }

    /// The term's epoch, which is greater than the epochs of all earlier leaders.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch.unsigned_abs().into()
    }

    /// The term's lease, which is extended while the servers answer.
    #[must_use]
    pub fn lease(&self) -> Lease {
        self.lease.clone()
    }

    /// How long the session lasts without contact. The servers have chosen this time.
    #[must_use]
    pub fn session_timeout(&self) -> Duration {
        self.session.client.session_timeout()
    }

    /// The leader's journal in ZooKeeper.
    #[must_use]
    pub fn znodes(&self) -> Znodes {
        Znodes::new(self.session.clone(), self.epoch, self.lease.clone())
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        self.lease.end();
        self.keeper.abort();
    }
}

/// How long after an answered request the leader can be sure that no other Master leads. The servers end a session
/// after a whole timeout without contact. The servers' own leader may learn of a contact half a tick late, and a tick
/// is at most half of a session.
fn lease_length(session: &Session) -> Duration {
    session.client.session_timeout() * 2 / 3
}

/// Extends the lease as long as a majority of the servers confirms this epoch. It asks them with a transaction that
/// changes nothing. A read or a sync is not enough: a server that was cut off from the others would still answer it for
/// seconds.
async fn keep(session: Session, epoch: i32, lease: Lease) {
    let (length, leader) = (lease_length(&session), session.leader());
    let check_epoch = || async { session.client.new_check_writer(&leader, Some(epoch))?.commit().await };
    while lease.holds() {
        let asked = Moment::now();
        match timeout(length, check_epoch()).await {
            Ok(Ok(_)) => lease.extend(asked + length),
            Ok(Err(CheckWriteError::CheckFailed { .. })) => {
                tracing::warn!("another Master leads, although the session of this one lasts");
                lease.end();
            }
            Ok(Err(error)) if session.client.state().is_terminated() => {
                tracing::warn!("the session with ZooKeeper has ended: {error}");
                lease.end();
            }
            Ok(Err(_)) | Err(_) => {}
        }
        sleep(length / 4).await;
    }
}
