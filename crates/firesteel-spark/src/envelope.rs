//! The sender and the receiver of a message: the beginning of the body of a request or one-way message.
//!
//! ```text
//!  address of the sender | address of the receiver | u16 length, name of the endpoint | a Java object
//!  an address: u8 0, for none | u8 1, u16 length, host, i32 port
//! ```

use std::fmt;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use firesteel_protocol::host;
use thiserror::Error;

/// Sender and receiver of a message, before its Java object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The sender's address; `None` for executors, which do not listen.
    pub sender: Option<Address>,
    /// The receiver's address, as the sender knows it.
    pub receiver: Option<Address>,
    /// The receiver's endpoint at that address: `Master`, `AppClient`, `Worker` or `endpoint-verifier`.
    pub endpoint: String,
}

/// The address of a process that listens: Spark's `RpcAddress`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// A host name or an IP address.
    pub host: String,
    /// The TCP port on which the process listens.
    pub port: u16,
}

impl Address {
    /// `spark://host:port`.
    pub fn url(&self) -> String {
        format!("spark://{self}")
    }
}

/// `host:port`, as Spark writes it.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", host::in_url(&self.host), self.port)
    }
}

/// Why bytes do not begin with an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EnvelopeError {
    /// The bytes have no known format.
    #[error("cannot read the sender and the receiver of a message")]
    Unreadable,
    /// The bytes begin an authentication handshake.
    #[error(
        "there is no secret here that could be proven: remove spark.authenticate, or set firesteel.credentials.file at the Master"
    )]
    Authentication,
}

/// The first bytes of the two handshakes with which a peer proves that it knows a secret.
const HANDSHAKES: [u8; 2] = [0xea, 0xfb];

impl Envelope {
    /// Takes the envelope from the beginning of a body. The remaining bytes are a Java object.
    ///
    /// # Errors
    ///
    /// If the body does not begin with an envelope.
    pub fn decode(body: &mut Bytes) -> Result<Self, EnvelopeError> {
        if body.first().is_some_and(|first| HANDSHAKES.contains(first)) {
            return Err(EnvelopeError::Authentication);
        }
        let sender = Address::decode(body)?;
        let receiver = Address::decode(body)?;
        Ok(Self { sender, receiver, endpoint: text(body)? })
    }

    /// Makes a body: this envelope, and then the object.
    #[must_use]
    pub fn around(&self, object: &[u8]) -> Bytes {
        let mut body = BytesMut::new();
        self.encode(&mut body);
        body.extend_from_slice(object);
        body.freeze()
    }

    /// Appends the envelope to a body.
    pub fn encode(&self, body: &mut BytesMut) {
        Address::encode(self.sender.as_ref(), body);
        Address::encode(self.receiver.as_ref(), body);
        put_text(&self.endpoint, body);
    }
}

impl Address {
    fn decode(body: &mut Bytes) -> Result<Option<Self>, EnvelopeError> {
        if body.try_get_u8().map_err(|_| EnvelopeError::Unreadable)? == 0 {
            return Ok(None);
        }
        let host = text(body)?;
        let port = body.try_get_i32().map_err(|_| EnvelopeError::Unreadable)?;
        let port = u16::try_from(port).map_err(|_| EnvelopeError::Unreadable)?;
        Ok(Some(Self { host, port }))
    }

    fn encode(address: Option<&Self>, body: &mut BytesMut) {
        let Some(Self { host, port }) = address else { return body.put_u8(0) };
        body.put_u8(1);
        put_text(host, body);
        body.put_i32(i32::from(*port));
    }
}

fn text(body: &mut Bytes) -> Result<String, EnvelopeError> {
    let length = body.try_get_u16().map_err(|_| EnvelopeError::Unreadable)?;
    let bytes = body.get(..usize::from(length)).ok_or(EnvelopeError::Unreadable)?;
    let text = cesu8::from_java_cesu8(bytes).map_err(|_| EnvelopeError::Unreadable)?.into_owned();
    body.advance(usize::from(length));
    Ok(text)
}

/// # Panics
///
/// If the text has more than 65,535 bytes. Names and hosts are always shorter.
fn put_text(text: &str, body: &mut BytesMut) {
    let bytes = cesu8::to_java_cesu8(text);
    body.put_u16(u16::try_from(bytes.len()).expect("a name or a host is short"));
    body.put_slice(&bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_has_the_bytes_that_spark_writes() {
        // A driver of 4.0.1 asks an endpoint whether it is a Master.
        let recorded = b"\x01\x00\x09127.0.0.1\x00\x00\x80\x6b\x01\x00\x09127.0.0.1\x00\x00\x1b\xa5\x00\x11endpoint-verifierrest";
        let address = |port| Some(Address { host: "127.0.0.1".to_owned(), port });
        let expected = Envelope {
            sender: address(32_875),
            receiver: address(7_077),
            endpoint: "endpoint-verifier".to_owned(),
        };
        let mut body = Bytes::from_static(recorded);
        assert_eq!(Envelope::decode(&mut body), Ok(expected.clone()));
        assert_eq!(&body[..], b"rest");
        let mut written = BytesMut::new();
        expected.encode(&mut written);
        assert_eq!(&written[..], &recorded[..recorded.len() - 4]);
    }

    #[test]
    fn an_executor_has_no_address() {
        let envelope = Envelope { sender: None, receiver: None, endpoint: "Wörker".to_owned() };
        let mut written = BytesMut::new();
        envelope.encode(&mut written);
        assert_eq!(&written[..3], [0, 0, 0]);
        assert_eq!(Envelope::decode(&mut written.freeze()), Ok(envelope));
    }

    #[test]
    fn what_is_cut_short_or_impossible_is_refused() {
        let whole = b"\x01\x00\x04host\x00\x00\x1b\xa5\x00\x00\x06Master";
        assert!(Envelope::decode(&mut Bytes::from_static(whole)).is_ok());
        for count in 0..whole.len() {
            assert_eq!(
                Envelope::decode(&mut Bytes::copy_from_slice(&whole[..count])),
                Err(EnvelopeError::Unreadable),
                "{count}"
            );
        }
        let port_of_65536 = b"\x01\x00\x04host\x00\x01\x00\x00\x00\x00\x06Master";
        assert_eq!(Envelope::decode(&mut Bytes::from_static(port_of_65536)), Err(EnvelopeError::Unreadable));
    }
}
