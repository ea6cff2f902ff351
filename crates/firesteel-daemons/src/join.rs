//! How a machine without a secret asks a Master for the credentials of a Worker.

use std::path::Path;
use std::time::Duration;

use firesteel_host::net::{CallError, Evidence, Inquiry, Introduction, Keyring};
use firesteel_protocol::address::Address;
use firesteel_protocol::messages::{JoiningToMaster, MasterToJoining, Requester, WaitingMachine, number};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::Role;

use crate::master_client::Permitted;
use crate::secret::credentials::{Credentials, CredentialsError};

/// The pause before the Masters are asked again of which none has answered.
const PAUSE: Duration = Duration::from_secs(2);

/// Why a machine got no credentials.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error("{0}")]
    Refused(String),
    #[error("no Master has admitted this machine: {0}")]
    Call(#[from] CallError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

/// Asks the Masters for the credentials of a Worker until an administrator has admitted this machine, and writes them
/// into a new file. Masters that cannot be reached are asked again. `show` gets the Master that answered, and the
/// number that an administrator needs; after the connection broke, it gets another one.
///
/// # Errors
/// The Master refuses, what listens there is no Master that admits machines, or the file cannot be written.
pub async fn join(
    masters: &[Address],
    host: &str,
    path: &Path,
    mut show: impl FnMut(&Address, &str),
) -> Result<(), JoinError> {
    loop {
        let mut last = None;
        for master in masters {
            match ask(master, host, &mut show).await {
                Ok(Ok(credentials)) => return Ok(Credentials::of_text(&credentials, path)?.create(path)?),
                Ok(Err(why)) => return Err(JoinError::Refused(why)),
                Err(error) => last = Some(error),
            }
        }
        match last {
            Some(error) if error.evidence() == Evidence::Stranger => return Err(error.into()),
            Some(error) => tracing::warn!("no Master answers, retrying: {error}"),
            None => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn ask(
    master: &Address,
    host: &str,
    show: &mut impl FnMut(&Address, &str),
) -> Result<Permitted<Secret>, CallError> {
    let mut inquiry = Inquiry::open(master, Role::Master, Introduction::new(Role::Joining, host)).await?;
    let mut is_shown = false;
    loop {
        match inquiry.ask(&JoiningToMaster::RequestJoin { host: host.to_owned() }).await? {
            MasterToJoining::JoinPending => {
                if !std::mem::replace(&mut is_shown, true) {
                    show(inquiry.address(), &number(inquiry.channel()));
                }
            }
            MasterToJoining::JoinApproved { credentials } => return Ok(Ok(credentials)),
            MasterToJoining::JoinRefused { why } => return Ok(Err(why)),
            _ => return Err(CallError::OtherAnswer { address: inquiry.address().clone() }),
        }
    }
}

/// Admits the machine that shows this number.
///
/// # Errors
/// The Master does not answer.
pub async fn approve(
    master: &Address,
    administrator: (&Keyring, &str),
    number: &str,
) -> Result<Permitted<WaitingMachine>, CallError> {
    let (number, by) = (number.to_owned(), Requester::from(administrator.1));
    let message = JoiningToMaster::ApproveJoin { number, by };
    administer(master, administrator, &message, |answer| match answer {
        MasterToJoining::ApproveResponse(machine) => Some(machine),
        _ => None,
    })
    .await
}

/// The machines that wait.
///
/// # Errors
/// The Master does not answer.
pub async fn waiting(
    master: &Address,
    administrator: (&Keyring, &str),
) -> Result<Permitted<Vec<WaitingMachine>>, CallError> {
    let message = JoiningToMaster::RequestWaiting { by: Requester::from(administrator.1) };
    administer(master, administrator, &message, |answer| match answer {
        MasterToJoining::WaitingResponse(machines) => Some(machines),
        _ => None,
    })
    .await
}

/// Asks as an administrator. `read` takes what was asked for out of the answer.
async fn administer<T>(
    master: &Address,
    (keyring, by): (&Keyring, &str),
    message: &JoiningToMaster,
    read: impl FnOnce(MasterToJoining) -> Option<T>,
) -> Result<Permitted<T>, CallError> {
    let ours = Introduction::new(Role::Joining, by).with_keys(Some(keyring.clone()));
    let mut inquiry = Inquiry::open(master, Role::Master, ours).await?;
    match inquiry.ask(message).await? {
        MasterToJoining::ApproveRefused { why } => Ok(Err(why)),
        answer => {
            read(answer).map(Ok).ok_or_else(|| CallError::OtherAnswer { address: inquiry.address().clone() })
        }
    }
}
