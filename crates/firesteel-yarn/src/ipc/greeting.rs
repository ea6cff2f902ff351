//! How a connection begins: `hrpc`, a version, a way of authentication; its steps; and who calls.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::error::{IpcError, RemoteError};
use super::frame::{self, FrameReader};
use crate::messages::rpc::{
    IpcConnectionContext, RpcKind, RpcOperation, RpcRequestHeader, RpcResponseHeader, RpcSasl, RpcStatus,
    UserInformation,
};
use crate::messages::security::Token;
use crate::sasl::{Negotiation, Step};

pub(super) const CONTEXT_CALL: i32 = -3;
pub(super) const PING_CALL: i32 = -4;
const SASL_CALL: i32 = -33;

const VERSION: u8 = 9;
const SERVICE_CLASS: u8 = 0;

/// One of YARN's protocols; all are of version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Clients and the ResourceManager.
    ApplicationClient,
    /// ApplicationMasters and the ResourceManager.
    ApplicationMaster,
    /// ApplicationMasters and NodeManagers.
    ContainerManagement,
}

impl Protocol {
    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ApplicationClient => "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB",
            Self::ApplicationMaster => "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB",
            Self::ContainerManagement => "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB",
        }
    }
}

/// Who calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Identity {
    /// A user whose word is taken (a cluster without Kerberos).
    Simple {
        /// The user's name.
        user: String,
    },
    /// Whoever the token says.
    Token(Token),
}

/// Sixteen bytes that no other process has: a server tells calls that are repeated by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientId(pub [u8; 16]);

impl ClientId {
    /// One that was never there before.
    #[must_use]
    pub fn random() -> Self {
        Self(random())
    }
}

/// What a connection begins with.
#[derive(Clone, Debug)]
pub struct Greeting {
    /// What will be spoken.
    pub protocol: Protocol,
    /// Who calls.
    pub identity: Identity,
    /// The process that calls.
    pub client: ClientId,
}

impl Greeting {
    /// Says it, and hears what the server has to say to it. What is left in the buffer is to be sent next, before any
    /// call; there is no answer to it.
    pub(super) async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut S,
        frames: &mut FrameReader,
    ) -> Result<BytesMut, IpcError> {
        let mut out = BytesMut::new();
        out.put_slice(b"hrpc");
        out.put_slice(&[VERSION, SERVICE_CLASS, self.identity.way()]);
        if let Identity::Token(token) = &self.identity {
            authenticate(token.clone(), stream, frames, &mut out).await?;
        }
        frame::put(&[&header(CONTEXT_CALL, -1, &self.client.0), &self.context()], &mut out);
        Ok(out)
    }

    /// A user who has proved to hold a token is not named again: another name would be refused.
    fn context(&self) -> IpcConnectionContext {
        let user = match &self.identity {
            Identity::Simple { user } => Some(user.clone()),
            Identity::Token(_) => None,
        };
        IpcConnectionContext {
            user_info: Some(UserInformation { effective_user: user, real_user: None }),
            protocol: Some(self.protocol.name().to_owned()),
        }
    }
}

impl Identity {
    /// The byte that tells how it will be proved.
    fn way(&self) -> u8 {
        match self {
            Self::Simple { .. } => 0,
            Self::Token(_) => 0xdf,
        }
    }
}

/// What stands before everything that a client sends.
pub(super) fn header(call: i32, retries: i32, client: &[u8]) -> RpcRequestHeader {
    RpcRequestHeader {
        rpc_kind: Some(RpcKind::ProtocolBuffer.into()),
        rpc_op: Some(RpcOperation::FinalPacket.into()),
        call_id: call,
        client_id: client.to_vec(),
        retry_count: Some(retries),
        ..RpcRequestHeader::default()
    }
}

async fn authenticate<S: AsyncRead + AsyncWrite + Unpin>(
    token: Token,
    stream: &mut S,
    frames: &mut FrameReader,
    out: &mut BytesMut,
) -> Result<(), IpcError> {
    let cnonce = STANDARD.encode(random::<30>());
    let (mut negotiation, mut said) = Negotiation::begin(token, cnonce);
    loop {
        frame::put(&[&header(SASL_CALL, -1, &[]), &said], out);
        // A server that has closed the connection may have said why before.
        let written = stream.write_all_buf(out).await;
        let heard = frames.next(stream).await;
        let mut frame = match (heard, written) {
            (Ok(Some(frame)), _) => frame,
            (_, Err(error)) => return Err(IpcError::broken(error.into())),
            (Ok(None), Ok(())) => return Err(IpcError::Closed),
            (Err(error), Ok(())) => return Err(IpcError::broken(error)),
        };
        let undecodable = |error: prost::DecodeError| IpcError::broken(error.into());
        let heard: RpcResponseHeader = frame::take(&mut frame).map_err(undecodable)?;
        if RpcStatus::try_from(heard.status) != Ok(RpcStatus::Success) {
            return Err(IpcError::Remote(RemoteError::of(heard)));
        }
        let heard: RpcSasl = frame::take(&mut frame).map_err(undecodable)?;
        match negotiation.on(&heard).map_err(IpcError::Sasl)? {
            Step::Send(next) => said = next,
            Step::Done => return Ok(()),
        }
    }
}

fn random<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).expect("the operating system has random bytes");
    bytes
}
