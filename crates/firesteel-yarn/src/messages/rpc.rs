//! The headers of Hadoop's remote procedure calls.

/// The header of everything that a client sends.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RpcRequestHeader {
    #[prost(enumeration = "RpcKind", optional, tag = "1")]
    pub rpc_kind: Option<i32>,
    #[prost(enumeration = "RpcOperation", optional, tag = "2")]
    pub rpc_op: Option<i32>,
    #[prost(sint32, required, tag = "3")]
    pub call_id: i32,
    #[prost(bytes = "vec", required, tag = "4")]
    pub client_id: Vec<u8>,
    #[prost(sint32, optional, tag = "5", default = "-1")]
    pub retry_count: Option<i32>,
    #[prost(int64, optional, tag = "8")]
    pub state_id: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "9")]
    pub router_federated_state: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "10")]
    pub authorization_header: Option<Vec<u8>>,
}

/// The header of everything that a server sends. An error consists only of this header.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RpcResponseHeader {
    #[prost(uint32, required, tag = "1")]
    pub call_id: u32,
    #[prost(enumeration = "RpcStatus", required, tag = "2")]
    pub status: i32,
    #[prost(uint32, optional, tag = "3")]
    pub server_ipc_version_num: Option<u32>,
    #[prost(string, optional, tag = "4")]
    pub exception_class_name: Option<String>,
    #[prost(string, optional, tag = "5")]
    pub error_msg: Option<String>,
    #[prost(enumeration = "RpcErrorCode", optional, tag = "6")]
    pub error_detail: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "7")]
    pub client_id: Option<Vec<u8>>,
    #[prost(sint32, optional, tag = "8", default = "-1")]
    pub retry_count: Option<i32>,
    #[prost(int64, optional, tag = "9")]
    pub state_id: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "10")]
    pub router_federated_state: Option<Vec<u8>>,
}

/// The method and the protocol of a call.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RequestHeader {
    #[prost(string, required, tag = "1")]
    pub method_name: String,
    #[prost(string, required, tag = "2")]
    pub declaring_class_protocol_name: String,
    #[prost(uint64, required, tag = "3")]
    pub client_protocol_version: u64,
}

/// The caller of a connection, sent once.
#[derive(Clone, PartialEq, prost::Message)]
pub struct IpcConnectionContext {
    #[prost(message, optional, tag = "2")]
    pub user_info: Option<UserInformation>,
    #[prost(string, optional, tag = "3")]
    pub protocol: Option<String>,
}

/// The name of a user, as a client gives it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, prost::Message)]
pub struct UserInformation {
    #[prost(string, optional, tag = "1")]
    pub effective_user: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub real_user: Option<String>,
}

/// One step of an authentication.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RpcSasl {
    #[prost(uint32, optional, tag = "1")]
    pub version: Option<u32>,
    #[prost(enumeration = "SaslState", required, tag = "2")]
    pub state: i32,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub token: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "4")]
    pub auths: Vec<SaslAuth>,
}

/// An authentication method that a server offers or a client has chosen.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SaslAuth {
    #[prost(string, required, tag = "1")]
    pub method: String,
    #[prost(string, required, tag = "2")]
    pub mechanism: String,
    #[prost(string, optional, tag = "3")]
    pub protocol: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub server_id: Option<String>,
    #[prost(bytes = "vec", optional, tag = "5")]
    pub challenge: Option<Vec<u8>>,
}

/// The encoding of a call; always protocol buffers here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum RpcKind {
    Builtin = 0,
    Writable = 1,
    ProtocolBuffer = 2,
}

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum RpcOperation {
    FinalPacket = 0,
    ContinuationPacket = 1,
    CloseConnection = 2,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum RpcStatus {
    Success = 0,
    Error = 1,
    Fatal = 2,
}

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum RpcErrorCode {
    ErrorApplication = 1,
    ErrorNoSuchMethod = 2,
    ErrorNoSuchProtocol = 3,
    ErrorRpcServer = 4,
    ErrorSerializingResponse = 5,
    ErrorRpcVersionMismatch = 6,
    FatalUnknown = 10,
    FatalUnsupportedSerialization = 11,
    FatalInvalidRpcHeader = 12,
    FatalDeserializingRequest = 13,
    FatalVersionMismatch = 14,
    FatalUnauthorized = 15,
}

/// The steps of an authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum SaslState {
    Success = 0,
    Negotiate = 1,
    Initiate = 2,
    Challenge = 3,
    Response = 4,
    Wrap = 5,
}
