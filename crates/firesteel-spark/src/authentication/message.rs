//! What the frames of a handshake contain: a tag, and then parts with their lengths.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::Refusal;

/// The name under which every peer of Spark's RPC proves itself. It says nothing about the peer.
pub(super) const USER: &str = "sparkSaslUser";

const SASL: u8 = 0xea;

const KEY: u8 = 0xfb;

/// Length of a salt.
pub(super) const SALT: usize = 16;

/// A message of the side that dialled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A step of SASL.
    Sasl(Bytes),
    /// An encrypted public key, and the whole message as it was sent.
    Key { salt: [u8; SALT], encrypted: Bytes, whole: Bytes },
}

impl Message {
    /// # Errors
    /// It is no such message.
    pub(super) fn decode(body: &Bytes) -> Result<Self, Refusal> {
        let mut rest = body.clone();
        let tag = rest.try_get_u8().map_err(|_| Refusal::NoProof)?;
        if ![SASL, KEY].contains(&tag) {
            return Err(Refusal::NoProof);
        }
        if part(&mut rest)? != USER {
            return Err(Refusal::WrongSecret);
        }
        let message = if tag == SASL {
            Self::Sasl(part(&mut rest)?)
        } else {
            let salt = part(&mut rest)?;
            let salt = salt[..].try_into().map_err(|_| Refusal::Malformed)?;
            Self::Key { salt, encrypted: part(&mut rest)?, whole: body.clone() }
        };
        if rest.is_empty() { Ok(message) } else { Err(Refusal::Malformed) }
    }
}

/// The body of a frame with a step of SASL.
pub(super) fn sasl(step: &[u8]) -> Bytes {
    parts(SASL, &[USER.as_bytes(), step])
}

/// The body of a frame with an encrypted public key.
pub(super) fn key(salt: &[u8; SALT], encrypted: &[u8]) -> Bytes {
    parts(KEY, &[USER.as_bytes(), salt, encrypted])
}

fn parts(tag: u8, parts: &[&[u8]]) -> Bytes {
    let mut body = BytesMut::new();
    body.put_u8(tag);
    for part in parts {
        body.put_u32(u32::try_from(part.len()).expect("a part is short"));
        body.put_slice(part);
    }
    body.freeze()
}

fn part(rest: &mut Bytes) -> Result<Bytes, Refusal> {
    let length = rest.try_get_u32().map_err(|_| Refusal::Malformed)?;
    let length = usize::try_from(length).map_err(|_| Refusal::Malformed)?;
    if length > rest.len() { Err(Refusal::Malformed) } else { Ok(rest.split_to(length)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let body = sasl(b"a step");
        assert_eq!(Message::decode(&body), Ok(Message::Sasl(Bytes::from_static(b"a step"))));
        let whole = key(&[7; SALT], b"secret");
        let encrypted = Bytes::from_static(b"secret");
        let expected = Message::Key { salt: [7; SALT], encrypted, whole: whole.clone() };
        assert_eq!(Message::decode(&whole), Ok(expected));
    }

    #[test]
    fn all_other_bytes_are_refused() {
        for whole in [sasl(b"a step"), key(&[7; SALT], b"secret")] {
            for length in 1..whole.len() {
                assert_eq!(Message::decode(&whole.slice(..length)), Err(Refusal::Malformed), "{length}");
            }
            let longer = Bytes::from([&whole[..], b"x"].concat());
            assert_eq!(Message::decode(&longer), Err(Refusal::Malformed));
        }
        assert_eq!(Message::decode(&Bytes::new()), Err(Refusal::NoProof));
        assert_eq!(Message::decode(&Bytes::from_static(b"\x01\x00\x09")), Err(Refusal::NoProof));
        assert_eq!(Message::decode(&parts(SASL, &[b"ann", b""])), Err(Refusal::WrongSecret));
        assert_eq!(Message::decode(&parts(KEY, &[USER.as_bytes(), b"short", b"x"])), Err(Refusal::Malformed));
        assert_eq!(Message::decode(&Bytes::from_static(b"\xea\xff\xff\xff\xff")), Err(Refusal::Malformed));
    }
}
