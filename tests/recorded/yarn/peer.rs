//! A scripted server: it sends given answers, and returns the received bytes.

use bytes::BytesMut;
use firesteel_yarn::ipc::frame::{self, Part};
use firesteel_yarn::messages::rpc::{RpcResponseHeader, RpcStatus};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

/// The client id in the captures.
pub(crate) const CLIENT: [u8; 16] =
    [0x7d, 0x69, 0xd4, 0xca, 0x8b, 0x5e, 0x41, 0x6f, 0xbd, 0x0d, 0xbb, 0x90, 0xed, 0xbd, 0xbb, 0xa9];

/// The server's end of a connection.
pub(crate) struct Peer(pub(crate) DuplexStream);

impl Peer {
    /// Receives this number of bytes.
    pub(crate) async fn hear(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).await.expect("the client says as much");
        bytes
    }

    /// Receives one frame, with its length.
    pub(crate) async fn hear_frame(&mut self) -> Vec<u8> {
        let mut frame = self.hear(4).await;
        let length = u32::from_be_bytes(frame[..4].try_into().expect("they are four"));
        frame.extend(self.hear(length.try_into().expect("it is short")).await);
        frame
    }

    pub(crate) async fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.expect("the client listens");
    }

    pub(crate) async fn answer(&mut self, call: u32, message: &dyn Part) {
        let mut bytes = BytesMut::new();
        frame::put(&[&header(call, RpcStatus::Success), message], &mut bytes);
        self.say(&bytes).await;
    }

    /// Answers a call with an exception.
    pub(crate) async fn object(&mut self, call: u32, status: RpcStatus, class: &str, message: &str) {
        let header = RpcResponseHeader {
            exception_class_name: Some(class.to_owned()),
            error_msg: Some(message.to_owned()),
            ..header(call, status)
        };
        let mut bytes = BytesMut::new();
        frame::put(&[&header], &mut bytes);
        self.say(&bytes).await;
    }
}

fn header(call: u32, status: RpcStatus) -> RpcResponseHeader {
    RpcResponseHeader { call_id: call, status: status.into(), ..RpcResponseHeader::default() }
}
