//! The format of a token file: `HDTS`, the number of a format, and the content in that format.

use bytes::{Buf, BufMut};
use prost::Message as _;

use super::Credentials;
use super::vint::{self, Malformed};
use crate::messages::security::{self, CredentialsKv, Token};

const MAGIC: &[u8; 4] = b"HDTS";

/// The format of a token file; its number is the fifth byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenFileFormat {
    /// Format 0: Hadoop's own serialization, which its daemons write.
    Writable,
    /// Format 1: one protocol buffer after its length.
    Protobuf,
}

/// Why a file cannot be read as a token file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedTokens {
    /// The file begins with other bytes.
    #[error("it is not a token file: it does not begin with HDTS")]
    NoMagic,
    /// The format is unknown. Perhaps a later version wrote the file.
    #[error("its format is {format}; 0 and 1 are known")]
    UnknownFormat { format: u8 },
    #[error("it is damaged: {0}")]
    Damaged(#[from] Malformed),
    #[error("it is damaged: {0}")]
    Undecodable(#[from] prost::DecodeError),
}

impl Credentials {
    /// Reads the bytes of a token file, in either format. As in Hadoop, bytes after the end of the content are ignored.
    ///
    /// # Errors
    /// The bytes are not a token file, or the token file is damaged.
    pub fn read(bytes: &[u8]) -> Result<Self, MalformedTokens> {
        let source = &mut bytes.strip_prefix(MAGIC).ok_or(MalformedTokens::NoMagic)?;
        match source.try_get_u8().map_err(|_| Malformed::Short)? {
            0 => Ok(read_writable(source)?),
            1 => Ok(read_protobuf(source)?),
            format => Err(MalformedTokens::UnknownFormat { format }),
        }
    }

    /// The bytes of a token file in this format.
    #[must_use]
    pub fn write(&self, format: TokenFileFormat) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        match format {
            TokenFileFormat::Writable => {
                bytes.put_u8(0);
                self.write_writable(&mut bytes);
            }
            TokenFileFormat::Protobuf => {
                bytes.put_u8(1);
                bytes.extend(self.message().encode_length_delimited_to_vec());
            }
        }
        bytes
    }

    fn write_writable(&self, target: &mut Vec<u8>) {
        put_count(self.tokens.len(), target);
        for (alias, token) in &self.tokens {
            vint::put_bytes(alias.as_bytes(), target);
            vint::put_bytes(&token.identifier, target);
            vint::put_bytes(&token.password, target);
            vint::put_bytes(token.kind.as_bytes(), target);
            vint::put_bytes(token.service.as_bytes(), target);
        }
        put_count(self.secrets.len(), target);
        for (name, secret) in &self.secrets {
            vint::put_bytes(name.as_bytes(), target);
            vint::put_bytes(secret, target);
        }
    }

    fn message(&self) -> security::Credentials {
        let tokens = self.tokens.iter().map(|(alias, token)| CredentialsKv {
            alias: alias.clone(),
            token: Some(token.clone()),
            secret: None,
        });
        let secrets = self.secrets.iter().map(|(alias, secret)| CredentialsKv {
            alias: alias.clone(),
            token: None,
            secret: Some(secret.clone()),
        });
        security::Credentials { tokens: tokens.collect(), secrets: secrets.collect() }
    }
}

fn put_count(count: usize, target: &mut Vec<u8>) {
    vint::put(i64::try_from(count).expect("memory holds no more"), target);
}

fn read_writable(source: &mut &[u8]) -> Result<Credentials, Malformed> {
    let mut credentials = Credentials::default();
    for _ in 0..vint::get(source)? {
        let alias = vint::get_text(source)?;
        let token = Token {
            identifier: vint::get_bytes(source)?,
            password: vint::get_bytes(source)?,
            kind: vint::get_text(source)?,
            service: vint::get_text(source)?,
        };
        credentials.tokens.insert(alias, token);
    }
    for _ in 0..vint::get(source)? {
        credentials.secrets.insert(vint::get_text(source)?, vint::get_bytes(source)?);
    }
    Ok(credentials)
}

fn read_protobuf(source: &mut &[u8]) -> Result<Credentials, prost::DecodeError> {
    let message = security::Credentials::decode_length_delimited(source)?;
    let tokens = message.tokens.into_iter().filter_map(|entry| Some((entry.alias, entry.token?)));
    let secrets = message.secrets.into_iter().filter_map(|entry| Some((entry.alias, entry.secret?)));
    Ok(Credentials { tokens: tokens.collect(), secrets: secrets.collect() })
}
