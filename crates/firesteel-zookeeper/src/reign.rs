//! The term of a Master that leads, and its lease.

use std::time::Duration;

use firesteel_host::tenure::{Moment, Tenure};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use zookeeper_client::CheckWriteError;

use crate::ensemble::Session;
use crate::znodes::Znodes;

/// The term of a Master that leads. When this is dropped, its session ends, and another Master may lead at once.
#[derive(Debug)]
pub struct Reign {
    session: Session,
    epoch: i32,
    tenure: Tenure,
    keeper: JoinHandle<()>,
}

impl Reign {
    /// Begins a term. `asked` is when the request that began it was sent.
    pub(crate) fn begin(session: Session, epoch: i32, asked: Moment) -> Self {
        let tenure = Tenure::until(asked + lease(&session));
        let keeper = session.runtime().spawn(keep(session.clone(), epoch, tenure.clone()));
        Self { session, epoch, tenure, keeper }
    }

    /// Its epoch, which is greater than the epochs of all leaders before.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch.unsigned_abs().into()
    }

    /// Its lease, which is extended while the servers answer.
    #[must_use]
    pub fn tenure(&self) -> Tenure {
        self.tenure.clone()
    }

    /// How long the session lasts without contact, as granted by the servers.
    #[must_use]
    pub fn session_timeout(&self) -> Duration {
        self.session.client.session_timeout()
    }

    /// Where its journal is kept.
    #[must_use]
    pub fn znodes(&self) -> Znodes {
        Znodes::new(self.session.clone(), self.epoch, self.tenure.clone())
    }
}

impl Drop for Reign {
    fn drop(&mut self) {
        self.tenure.end();
        self.keeper.abort();
    }
}

/// How long after an answered request the leader can be sure that no other one leads. The servers end a session that
/// they have not heard of for the whole timeout. Their own leader may learn of a contact half a tick late, and a tick
/// is at most half of a session.
fn lease(session: &Session) -> Duration {
    session.client.session_timeout() * 2 / 3
}

/// Extends the lease while a majority of the servers agrees that this epoch lasts. It asks by a transaction that
/// changes nothing. A read or a sync would not do: the servers' own leader would answer these for seconds after it was
/// cut off from the others.
async fn keep(session: Session, epoch: i32, tenure: Tenure) {
    let (lease, leader) = (lease(&session), session.leader());
    let check_epoch = || async { session.client.new_check_writer(&leader, Some(epoch))?.commit().await };
    while tenure.holds() {
        let asked = Moment::now();
        match timeout(lease, check_epoch()).await {
            Ok(Ok(_)) => tenure.extend(asked + lease),
            Ok(Err(CheckWriteError::CheckFailed { .. })) => {
                tracing::warn!("another Master leads, although the session of this one lasts");
                tenure.end();
            }
            Ok(Err(error)) if session.client.state().is_terminated() => {
                tracing::warn!("the session with ZooKeeper has ended: {error}");
                tenure.end();
            }
            Ok(Err(_)) | Err(_) => {}
        }
        sleep(lease / 4).await;
    }
}
