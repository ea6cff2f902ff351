//! The messages between a Worker and a reaper. Each is preceded by its length, in four bytes.
//!
//! The Worker sends [`Start`], and later a [`Signal`](firesteel_protocol::process::Signal) for each signal to the
//! process group. The reaper answers with [`Started`], and reports [`Ended`] as the last message.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use firesteel_host::account::Account;
use firesteel_protocol::process::{ExitStatus, NotStarted};
use firesteel_protocol::wire;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::control_group::ControlGroup;
use crate::worker::confinement::Reach;

/// The process that a reaper starts. Texts stand for bytes, as in [`byte_text`](firesteel_protocol::byte_text).
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    /// The program, which errors also name.
    pub(super) program: String,
    /// Whether the program is the Worker's own.
    pub(super) is_own: bool,
    pub(super) arguments: Vec<String>,
    /// The variables that the process gets in addition to the Worker's.
    pub(super) variables: BTreeMap<String, String>,
    pub(super) directory: String,
    /// The account of the process. `None`: the Worker's own.
    pub(super) account: Option<Account>,
    pub(super) control_group: Option<ControlGroup>,
    /// Whether programs may gain privileges, for example by sudo.
    pub(super) may_gain_privileges: bool,
    /// What the process reaches. `None`: it is not confined.
    pub(super) reach: Option<Reach>,
}

pub(super) type Started = Result<StartedProcess, NotStarted>;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StartedProcess {
    /// The id of the process, which leads its own process group.
    pub(super) pid: u32,
    /// Why the process is not in its control group, if it should be.
    pub(super) outside: Option<String>,
}

/// The end of the process and of all of its descendants.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// The processor time of the process and of all of its descendants, in milliseconds.
    pub(super) cpu_millis: u64,
    /// Whether the kernel killed one of them, because their control group had too little memory.
    pub(super) is_out_of_memory: bool,
    /// The processes that still exist although they were killed.
    pub(super) left: Vec<u32>,
}

/// The bytes of a message, with its length.
pub(super) fn bytes(message: &impl Serialize) -> Vec<u8> {
    let body =
        wire::encode(message, u32::MAX as usize).expect("an executor has less than 4 GiB of arguments");
    let length = u32::try_from(body.len()).expect("it is within the limit");
    [&length.to_be_bytes()[..], &body].concat()
}

/// # Errors
/// The other side has ended.
pub(super) fn send(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&bytes(message))
}

/// Receives a message. Blocks the thread.
///
/// # Errors
/// The other side has ended.
pub(super) fn receive<M: DeserializeOwned>(mut from: impl Read) -> io::Result<M> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    from.read_exact(&mut body)?;
    wire::decode(&body).map_err(io::Error::other)
}

/// Receives a message.
///
/// # Errors
/// The other side has ended.
pub(super) async fn next<M: DeserializeOwned>(mut from: impl AsyncRead + Unpin) -> io::Result<M> {
    let mut body = vec![0; from.read_u32().await? as usize];
    from.read_exact(&mut body).await?;
    wire::decode(&body).map_err(io::Error::other)
}
