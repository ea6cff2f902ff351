//! Admission to a local cluster: only peers that know its secret get in. Both sides of a connection prove in their
//! handshake that they know the secret, and neither reveals it.
//!
//! ```text
//!  the side that dials                            the side that listens
//!    preamble                               -->
//!                                           <--   preamble, hello: its nonce
//!    hello: its nonce and its proof         -->   admits it, or hangs up
//!    trusts it, or hangs up                 <--   its proof
//! ```
//!
//! The challenge of a hello carries a nonce and a proof; the last proof is a frame of its own. A proof is an
//! HMAC-SHA256, keyed by the secret. It covers the side that makes it, the port at which the other side listens, and
//! both nonces. So a proof is valid on one connection only. A stranger that listens at a daemon's former port cannot
//! relay a caller's challenge to another daemon.

use bytes::{BufMut, Bytes, BytesMut};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use firesteel_protocol::secret::Secret;

pub(crate) const NONCE: usize = 16;

/// Random bytes that one side draws for one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nonce(pub [u8; NONCE]);

/// The data of one side about one connection of its local cluster.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    pub(crate) secret: Secret,
    pub(crate) port: u16,
    pub(crate) nonce: Nonce,
}

/// Why a peer is rejected. The text is a sentence about the peer, without the peer's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// The peer is part of a local cluster, and this side is not.
    #[error("it belongs to a local cluster, which admits only its own processes and commands of its user")]
    Outsider,
    /// This side is part of a local cluster, and the peer does not show that it is part of the same one.
    #[error(
        "it does not belong to this local cluster, which admits only processes that the same command started"
    )]
    Stranger,
    /// The peer does not know the secret.
    #[error(
        "it does not know the secret of this local cluster, which admits only processes that the same command started"
    )]
    WrongProof,
}

#[derive(Clone, Copy)]
enum Side {
    Dialling,
    Listening,
}

/// Checks a dialled peer by its challenge, for a side that is not part of a local cluster.
///
/// # Errors
/// The peer is part of a local cluster.
pub(crate) fn outside(challenge: &[u8]) -> Result<(), NotAdmitted> {
    if challenge.is_empty() { Ok(()) } else { Err(NotAdmitted::Outsider) }
}

impl Pass {
    /// The challenge in the hello of the listening side.
    #[must_use]
    pub(crate) fn question(&self) -> Bytes {
        Bytes::copy_from_slice(&self.nonce.0)
    }

    /// The challenge for the hello of the dialling side, in reply to this challenge in the peer's hello.
    ///
    /// # Errors
    /// The peer is not part of a local cluster.
    pub(crate) fn answer(&self, challenge: &[u8]) -> Result<Bytes, NotAdmitted> {
        let theirs = nonce(challenge).ok_or(NotAdmitted::Stranger)?;
        let mut answer = BytesMut::from(&self.nonce.0[..]);
        answer.put_slice(&self.proof(Side::Dialling, theirs, self.nonce).finalize().into_bytes());
        Ok(answer.freeze())
    }

    /// Checks a dialling peer by its challenge. Returns the proof, for the peer, that this side knows the secret, too.
    ///
    /// # Errors
    /// The peer does not prove that it knows the secret.
    pub(crate) fn admit(&self, challenge: &[u8]) -> Result<Bytes, NotAdmitted> {
        let (theirs, proof) = challenge.split_at_checked(NONCE).ok_or(NotAdmitted::Stranger)?;
        let theirs = nonce(theirs).ok_or(NotAdmitted::Stranger)?;
        let expected = self.proof(Side::Dialling, self.nonce, theirs);
        expected.verify_slice(proof).map_err(|_| NotAdmitted::WrongProof)?;
        let own = self.proof(Side::Listening, self.nonce, theirs).finalize().into_bytes();
        Ok(Bytes::copy_from_slice(&own))
    }

    /// Checks a dialled peer by its challenge and its proof.
    ///
    /// # Errors
    /// The peer does not prove that it knows the secret.
    pub(crate) fn trust(&self, challenge: &[u8], proof: &[u8]) -> Result<(), NotAdmitted> {
        let theirs = nonce(challenge).ok_or(NotAdmitted::Stranger)?;
        let expected = self.proof(Side::Listening, theirs, self.nonce);
        expected.verify_slice(proof).map_err(|_| NotAdmitted::WrongProof)
    }

    /// The proof of a side. Comparing two proofs always takes the same time, no matter where they differ.
    fn proof(&self, side: Side, listening: Nonce, dialling: Nonce) -> Hmac<Sha256> {
        let mut proof = Hmac::<Sha256>::new_from_slice(self.secret.reveal().as_bytes())
            .expect("a key may have any length");
        proof.update(match side {
            Side::Dialling => b"firesteel dialling",
            Side::Listening => b"firesteel listening",
        });
        proof.update(&self.port.to_be_bytes());
        proof.update(&listening.0);
        proof.update(&dialling.0);
        proof
    }
}

fn nonce(bytes: &[u8]) -> Option<Nonce> {
    bytes.try_into().ok().map(Nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(secret: &str, port: u16, nonce: u8) -> Pass {
        Pass { secret: Secret::new(secret), port, nonce: Nonce([nonce; NONCE]) }
    }

    /// Performs a handshake between these two sides.
    fn handshake(dialling: &Pass, listening: &Pass) -> Result<(), NotAdmitted> {
        let answer = dialling.answer(&listening.question())?;
        let proof = listening.admit(&answer)?;
        dialling.trust(&listening.question(), &proof)
    }

    #[test]
    fn two_who_know_the_secret_admit_each_other_and_nobody_else_gets_in() {
        assert_eq!(handshake(&pass("hush", 7, 1), &pass("hush", 7, 2)), Ok(()));
        for (secret, port) in [("hash", 7), ("", 7), ("hus", 7), ("hush", 8)] {
            let refused = Err(NotAdmitted::WrongProof);
            assert_eq!(handshake(&pass(secret, port, 1), &pass("hush", 7, 2)), refused, "{secret} {port}");
        }
    }

    #[test]
    fn one_without_a_secret_and_one_of_a_local_cluster_turn_each_other_away() {
        let member = pass("hush", 7, 1);
        assert_eq!(outside(b""), Ok(()));
        assert_eq!(outside(&member.question()), Err(NotAdmitted::Outsider));
        assert_eq!(member.answer(b""), Err(NotAdmitted::Stranger));
        assert_eq!(member.admit(b""), Err(NotAdmitted::Stranger));
    }

    #[test]
    fn a_challenge_of_another_length_is_refused() {
        let (dialling, listening) = (pass("hush", 7, 1), pass("hush", 7, 2));
        let answer = dialling.answer(&listening.question()).expect("it is a nonce");
        assert_eq!(answer.len(), NONCE + 32);
        for length in 0..answer.len() {
            assert!(listening.admit(&answer[..length]).is_err(), "{length}");
        }
        assert_eq!(listening.admit(&[&answer[..], b"x"].concat()), Err(NotAdmitted::WrongProof));
        let proof = listening.admit(&answer).expect("it knows the secret");
        for length in 0..proof.len() {
            let refused = dialling.trust(&listening.question(), &proof[..length]);
            assert_eq!(refused, Err(NotAdmitted::WrongProof), "{length}");
        }
        for length in [1, NONCE - 1, NONCE + 1, 4096] {
            assert_eq!(dialling.answer(&vec![1; length]), Err(NotAdmitted::Stranger), "{length}");
        }
    }

    #[test]
    fn a_proof_is_of_use_on_one_connection_and_for_one_side_only() {
        let (dialling, listening) = (pass("hush", 7, 1), pass("hush", 7, 2));
        let answer = dialling.answer(&listening.question()).expect("it is a nonce");
        let later = pass("hush", 7, 3);
        assert_eq!(later.admit(&answer), Err(NotAdmitted::WrongProof), "it was heard before");
        let proof = &answer[NONCE..];
        assert_eq!(
            dialling.trust(&listening.question(), proof),
            Err(NotAdmitted::WrongProof),
            "it is one's own"
        );
        // A stranger that listens at a daemon's former port and relays to another daemon of the cluster.
        let elsewhere = pass("hush", 8, 2);
        let answer = dialling.answer(&elsewhere.question()).expect("it is a nonce");
        assert_eq!(elsewhere.admit(&answer), Err(NotAdmitted::WrongProof));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let (dialling, listening) = (pass("hush", 7, 1), pass("hush", 7, 2));
        let answer = dialling.answer(&listening.question()).expect("it is a nonce");
        for bit in 0..answer.len() * 8 {
            let mut flipped = answer.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(listening.admit(&flipped), Err(NotAdmitted::WrongProof), "{bit}");
        }
    }
}
