//! Both sides of a handshake against each other.

use bytes::{Bytes, BytesMut};
use quickcheck::{TestResult, quickcheck};

use super::encryption::{Cipher, Encryption, Engine, NotAuthentic, Version};
use super::initiator::{Initiator, Mechanism, Step as Dialled};
use super::responder::{Accepted, Responder, Step as Accepting};
use super::*;
use crate::frame::{Frame, LONGEST};

fn random(byte: u8) -> Random {
    Random {
        nonce: [byte; 30],
        private: [byte; 32],
        salt: [byte; message::SALT],
        iv: [byte; key_exchange::IV],
        seed: [byte; encryption::SEED],
    }
}

fn mechanisms() -> impl Iterator<Item = Mechanism> {
    std::iter::once(Mechanism::Sasl).chain(Engine::ALL.into_iter().map(Mechanism::Aes))
}

/// The two ends of a connection after the handshake, the dialling one first.
type Ends = (Option<Encryption>, Option<Encryption>);

/// Runs a handshake. `change` changes the frames on their way.
fn handshake(
    mechanism: Mechanism,
    secret: &str,
    accepted: Accepted,
    known: &[&str],
    mut change: impl FnMut(usize, &mut Frame),
) -> Result<Ends, Refusal> {
    let known: Vec<Secret> = known.iter().map(|word| Secret::new(*word)).collect();
    let mut responder = Responder::new(accepted, random(1));
    let (mut initiator, mut frame) = Initiator::begin(mechanism, Secret::new(secret), random(2));
    for number in (0..).step_by(2) {
        change(number, &mut frame);
        let (mut answer, accepting) = match responder.receive(&frame, &known)? {
            Accepting::Next(answer) => (answer, None),
            Accepting::Proven(proof) => (proof.answer, Some(proof.encryption)),
        };
        change(number + 1, &mut answer);
        match (initiator.receive(&answer)?, accepting) {
            (Dialled::Next(next), None) => frame = next,
            (Dialled::Proven(dialling), Some(accepting)) => return Ok((dialling, accepting)),
            (next, accepting) => panic!("{next:?}, {accepting:?}"),
        }
    }
    unreachable!("a handshake has an end")
}

fn body_of(frame: &mut Frame) -> &mut Bytes {
    match frame {
        Frame::Request { body, .. } | Frame::Response { body, .. } | Frame::OneWay { body } => body,
        Frame::Failure { .. } => panic!("no failure is sent"),
    }
}

fn ends(engine: Engine) -> (Encryption, Encryption) {
    let ends = handshake(Mechanism::Aes(engine), "hush", Accepted::All, &["hush"], |_, _| ());
    let (dialling, accepting) = ends.expect("the secret is right");
    (dialling.expect("it is encrypted"), accepting.expect("it is encrypted"))
}

fn encrypted(from: &mut Encryption, plain: &[u8]) -> BytesMut {
    let mut written = BytesMut::new();
    from.encrypt(&mut BytesMut::from(plain), &mut written);
    written
}

fn decrypted(to: &mut Encryption, arrived: &[u8]) -> Result<BytesMut, NotAuthentic> {
    let mut plain = BytesMut::new();
    to.decrypt(&mut BytesMut::from(arrived), &mut plain).map(|()| plain)
}

/// A frame with this body.
fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    Frame::OneWay { body: Bytes::copy_from_slice(body) }.encode(&mut bytes);
    bytes.to_vec()
}

#[test]
fn who_knows_the_secret_is_believed_and_nobody_else() {
    for mechanism in mechanisms() {
        let shake = |known: &[&str]| handshake(mechanism, "hush", Accepted::All, known, |_, _| ());
        let (dialling, accepting) = shake(&["other", "hush"]).expect("the secret is right");
        assert_eq!(
            (dialling.is_some(), accepting.is_some()),
            (mechanism != Mechanism::Sasl, dialling.is_some())
        );
        for wrong in [&[][..], &["Hush"], &["hush "], &["", "hus"]] {
            assert_eq!(shake(wrong).map(|_| ()).expect_err("it is wrong"), Refusal::WrongSecret);
        }
    }
}

#[test]
fn a_connection_that_would_stay_in_the_clear_is_refused_if_it_must_not() {
    for mechanism in mechanisms() {
        let shaken = handshake(mechanism, "hush", Accepted::Encrypted, &["hush"], |_, _| ()).map(|_| ());
        let expected = if mechanism == Mechanism::Sasl { Err(Refusal::InTheClear) } else { Ok(()) };
        assert_eq!(shaken, expected, "{mechanism:?}");
    }
}

#[test]
fn each_changed_byte_of_a_handshake_ends_it() {
    for mechanism in mechanisms() {
        let mut lengths = Vec::new();
        let whole = handshake(mechanism, "hush", Accepted::All, &["hush"], |number, frame| {
            lengths.push((number, body_of(frame).len()));
        });
        whole.expect("nothing was changed");
        for (changed, length) in lengths {
            for at in 0..length {
                let shaken = handshake(mechanism, "hush", Accepted::All, &["hush"], |number, frame| {
                    if number == changed {
                        let body = body_of(frame);
                        let mut bytes = body.to_vec();
                        bytes[at] ^= 1;
                        *body = bytes.into();
                    }
                });
                // Some directives of SASL say nothing, such as charset and maxbuf.
                let may_differ = mechanism == Mechanism::Sasl && [1, 2].contains(&changed);
                assert!(shaken.is_err() || may_differ, "{mechanism:?}: byte {at} of message {changed}");
            }
        }
    }
}

#[test]
fn nothing_but_the_next_message_is_heard_before_the_proof() {
    let receive = |frames: &[Frame]| {
        let mut responder = Responder::new(Accepted::All, random(1));
        let mut last = None;
        for frame in frames {
            last = Some(responder.receive(frame, &[Secret::new("hush")]).map(|_| ()));
        }
        last.expect("there is a frame")
    };
    let id = 1;
    let request = |body: &Bytes| Frame::Request { id, body: body.clone() };
    let (begin, key) = (message::sasl(b""), Initiator::begin(aes(), Secret::new("hush"), random(2)).1);
    assert_eq!(receive(&[request(&begin)]), Ok(()));
    assert_eq!(receive(std::slice::from_ref(&key)), Ok(()));
    for other in [
        Frame::OneWay { body: begin.clone() },
        Frame::Response { id, body: begin.clone() },
        Frame::Failure { id, reason: "no".to_owned() },
        request(&Bytes::new()),
        request(&Bytes::from_static(b"\x01\x00\x09127.0.0.1")),
    ] {
        assert_eq!(receive(std::slice::from_ref(&other)), Err(Refusal::NoProof), "{other:?}");
        assert_eq!(receive(&[request(&begin), other.clone()]), Err(Refusal::NoProof), "{other:?}");
    }
    assert_eq!(receive(&[request(&begin), key]), Err(Refusal::Malformed));
    assert_eq!(receive(&[request(&begin), request(&begin)]), Err(Refusal::Malformed));
}

fn aes() -> Mechanism {
    Mechanism::Aes(Engine { version: Version::V1, cipher: Cipher::Ctr })
}

#[test]
fn a_public_key_with_which_everybody_knows_the_result_is_refused() {
    let refused = key_exchange::connection_keys(&random(1), [0; 32], b"transcript").map(|_| ());
    assert_eq!(refused, Err(Refusal::Malformed));
}

#[test]
fn the_engine_is_found_out_and_both_directions_have_streams_of_their_own() {
    for engine in Engine::ALL {
        let (mut dialling, mut accepting) = ends(engine);
        assert!(encrypted(&mut accepting, b"early").is_empty(), "the engine is not known yet");
        let (question, answer) = (framed(b"a question"), framed(b"an answer"));
        let sent = encrypted(&mut dialling, &question);
        assert!(!sent.windows(8).any(|window| window == b"question"));
        assert_eq!(decrypted(&mut accepting, &sent).expect("it is authentic"), question, "{engine:?}");
        let again = encrypted(&mut accepting, &answer);
        assert_ne!(again, encrypted(&mut accepting, &answer), "no key stream is used twice");
        assert_eq!(decrypted(&mut dialling, &again).expect("it is authentic"), answer, "{engine:?}");
    }
}

#[test]
fn what_begins_no_frame_is_refused() {
    for engine in Engine::ALL {
        for bytes in [&[0; 64][..], &[0xff; 64], b"GET / HTTP/1.1\r\n", &framed(b"in the clear")] {
            let (_, mut accepting) = ends(engine);
            assert_eq!(decrypted(&mut accepting, bytes), Err(NotAuthentic), "{engine:?}");
        }
    }
}

#[test]
fn with_gcm_each_changed_moved_or_missing_byte_is_noticed() {
    for engine in Engine::ALL.into_iter().filter(|engine| engine.cipher == Cipher::Gcm) {
        let plain = framed(&[7; 100]);
        let whole = encrypted(&mut ends(engine).0, &plain);
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            let (_, mut accepting) = ends(engine);
            // A longer length waits for more, and then is noticed.
            changed.resize(changed.len() + LONGEST, 0);
            assert_eq!(decrypted(&mut accepting, &changed), Err(NotAuthentic), "{engine:?}: byte {at}");
        }
        // Segments that change places.
        let plain = framed(&[7; 80_000]);
        let (mut dialling, mut accepting) = ends(engine);
        let mut moved = encrypted(&mut dialling, &plain);
        let header = moved.len() - plain.len() - 3 * 16;
        let (one, other) = moved[header..].split_at_mut(32 << 10);
        one.swap_with_slice(&mut other[..32 << 10]);
        assert_eq!(decrypted(&mut accepting, &moved), Err(NotAuthentic));
    }
}

quickcheck! {
    fn frames_arrive_however_they_are_cut(bodies: Vec<Vec<u8>>, cuts: Vec<u8>, number: usize) -> TestResult {
        let engine = Engine::ALL[number % Engine::ALL.len()];
        let (mut dialling, mut accepting) = ends(engine);
        let mut plain: Vec<Vec<u8>> = bodies.iter().map(|body| framed(body)).collect();
        // Lengths around those of segments.
        plain.extend([32_751, 32_752, 32_753, 70_000].map(|length| framed(&vec![1; length - 13])));
        let sent: Vec<u8> = plain.iter().flat_map(|frame| encrypted(&mut dialling, frame)).collect();
        let (mut arrived, mut received) = (BytesMut::new(), BytesMut::new());
        let mut rest = &sent[..];
        let mut cuts = cuts.iter().cycle();
        while !rest.is_empty() {
            let count = cuts.next().map_or(rest.len(), |cut| usize::from(*cut) * 97 + 1).min(rest.len());
            arrived.extend_from_slice(&rest[..count]);
            rest = &rest[count..];
            if accepting.decrypt(&mut arrived, &mut received).is_err() {
                return TestResult::failed();
            }
        }
        TestResult::from_bool(received == plain.concat() && arrived.is_empty())
    }
}

/// A secret of more than 57 bytes has more than one line of base64.
#[test]
fn a_long_secret_is_written_in_lines_for_sasl() {
    for (length, lines) in [(1, 1), (57, 1), (58, 2), (64, 2), (114, 2), (115, 3)] {
        let password = SaslLogin::of(&Secret::new("x".repeat(length))).password;
        assert_eq!(password.lines().count(), lines, "{length}");
        assert!(password.lines().all(|line| line.len() <= 76) && !password.ends_with('\n'), "{password}");
    }
}
