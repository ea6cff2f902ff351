//! The start of a connection: `hrpc`, a version and an authentication method, then the steps of the
//! authentication, then the caller.

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

/// A protocol of YARN. All of them have version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The protocol between clients and the ResourceManager.
    ApplicationClient,
    /// The protocol between ApplicationMasters and the ResourceManager.
    ApplicationMaster,
    /// The protocol between ApplicationMasters and NodeManagers.
    ContainerManagement,
}

impl Protocol {
    /// The name of the protocol on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ApplicationClient => "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB",
            Self::ApplicationMaster => "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB",
            Self::ContainerManagement => "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Identity {
    /// A user without authentication, for clusters without Kerberos.
    Simple { user: String },
    /// The holder of this token.
    Token(Token),
}

/// Sixteen bytes that identify a process. A server uses them to recognise repeated calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientId(pub [u8; 16]);

impl ClientId {
    #[must_use]
    pub fn random() -> Self {
        Self(random())
    }
}

/// The greeting that begins a connection.
#[derive(Clone, Debug)]
pub struct Greeting {
    pub protocol: Protocol,
    pub identity: Identity,
    pub client: ClientId,
}

impl Greeting {
    /// Sends the greeting and performs the authentication. The bytes that remain in the buffer must be sent before any
    /// call. The server does not answer them.
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

    /// The context of the connection. If a token authenticates the user, the context names no user, because the server
    /// would refuse a different name.
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
    /// The byte of the authentication method.
    fn way(&self) -> u8 {
        match self {
            Self::Simple { .. } => 0,
            Self::Token(_) => 0xdf,
        }
    }
}

/// The header of every message that a client sends.
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
        // A server that closed the connection may have sent the reason first.
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
