//! Proofs of a secret that real drivers and Masters made.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;
use firesteel_master::Inbound;
use firesteel_protocol::messages::{ClientToMaster, Rights};
use firesteel_protocol::secret::Secret;
use firesteel_spark::authentication::responder::{Accepted, Responder, Step};
use firesteel_spark::authentication::{Proven, Random, Refusal, SECRET_VARIABLE};
use firesteel_spark::connection::{Closing, Connection, Effect, Note};
use firesteel_spark::frame::Frame;

use super::bench::{Bench, said};
use super::drivers::recording;
use super::recorded::{MOST, files, frames, read};

const RANDOM: Random =
    Random { nonce: [7; 30], private: [8; 32], salt: [9; 16], iv: [10; 12], seed: [11; 32] };

/// The first frames of one side of a recorded connection.
fn first(mechanism: &str, direction: &str, count: usize) -> Vec<Vec<Frame>> {
    let name = format!("-{mechanism}-{direction}.bin");
    let all = files("authentication").into_iter();
    let all = all.filter(|path| path.to_str().is_some_and(|path| path.ends_with(&name)));
    let frames = |path: std::path::PathBuf| {
        let mut bytes = BytesMut::from(&read(&path)[..]);
        let mut frame =
            || Frame::decode(&mut bytes, MOST).expect("it is in the clear").expect("it is complete");
        (0..count).map(|_| frame()).collect()
    };
    all.map(frames).collect()
}

fn body(frame: &Frame) -> &[u8] {
    match frame {
        Frame::Response { body, .. } => body,
        other => panic!("a response, not {other:?}"),
    }
}

fn secrets(words: &[&str]) -> Vec<Secret> {
    words.iter().map(|word| Secret::new(*word)).collect()
}

#[test]
fn a_driver_that_proves_the_secret_by_sasl_gets_the_proof_that_spark_s_master_gave() {
    let drivers = first("sasl", "driver-to-master", 3);
    let masters = first("sasl", "master-to-driver", 2);
    assert_eq!(drivers.len(), 2);
    for (driver, master) in drivers.iter().zip(&masters) {
        let challenge = String::from_utf8(body(&master[0]).to_vec()).expect("it is text");
        let nonce = challenge.split('"').nth(3).expect("it has a nonce");
        let nonce = STANDARD.decode(nonce).expect("it is base64").try_into().expect("it has 30 bytes");
        let mut here = Responder::new(Accepted::All, Random { nonce, ..RANDOM });
        let Ok(Step::Next(ours)) = here.receive(&driver[0], &secrets(&["s3cret"])) else {
            panic!("a challenge")
        };
        let ours = String::from_utf8(body(&ours).to_vec()).expect("it is text");
        assert_eq!(ours.split('"').nth(3), challenge.split('"').nth(3));
        let Ok(Step::Proven(proof)) = here.receive(&driver[1], &secrets(&["other", "s3cret"])) else {
            panic!("the proof is right")
        };
        assert_eq!((proof.secret, body(&proof.answer)), (1, body(&master[1])));
        assert!(proof.encryption.is_none());
    }
}

#[test]
fn a_driver_that_proves_the_secret_by_the_aes_engine_is_believed() {
    let drivers = first("aes", "driver-to-master", 1);
    assert_eq!(drivers.len(), 2);
    for driver in &drivers {
        let receive =
            |secrets: &[Secret]| Responder::new(Accepted::Encrypted, RANDOM).receive(&driver[0], secrets);
        let Ok(Step::Proven(proof)) = receive(&secrets(&["other", "s3cret"])) else {
            panic!("the proof is right")
        };
        assert!(proof.secret == 1 && proof.encryption.is_some());
        for wrong in [&secrets(&[])[..], &secrets(&["other", "s3cre", "s3crett", ""])] {
            let refused = receive(wrong).map(|_| ()).expect_err("it is wrong");
            assert_eq!(refused, Refusal::WrongSecret);
        }
    }
}

/// A connection of somebody to whom a secret was granted under this name.
fn connection_of(user: &str) -> Bench {
    let (user, rights, secret) = (Some(user.to_owned()), Rights::Own, Secret::new("hush"));
    let proven = Proven { user, rights, secret };
    Bench::of(Connection::default().proven(Some(proven)))
}

#[test]
fn an_application_belongs_to_whom_the_secret_was_granted_and_its_executors_get_the_secret() {
    let frames = frames(&recording("spark-4.0.1/driver-to-master"));
    let mut bench = connection_of("ann");
    let effects: Vec<Effect> = frames.into_iter().take(2).flat_map(|frame| bench.hear(frame)).collect();
    let registered = effects.iter().find_map(|effect| match effect {
        Effect::Register { description, .. } => Some(description),
        _ => None,
    });
    let description = registered.expect("it registers");
    assert_eq!(description.user, "ann");
    assert_eq!(description.command.environment()[SECRET_VARIABLE], "hush");
    assert!(!format!("{description:?}").contains("hush"));
}

#[test]
fn a_driver_on_the_cluster_belongs_to_whom_the_secret_was_granted_and_gets_it() {
    let mut bench = connection_of("ann");
    let frames = frames(&recording("spark-4.0.1/cluster-rpc-RequestSubmitDriver.to-master"));
    let mut effects: Vec<Effect> = frames.into_iter().flat_map(|frame| bench.hear(frame)).collect();
    // A client may be asked for its release first.
    while let Some(question) = effects.iter().find_map(|effect| match effect {
        Effect::Send(Frame::Request { id, .. }) => Some(*id),
        _ => None,
    }) {
        let answer = Frame::Failure { id: question, reason: String::new() };
        effects = bench.hear(answer);
    }
    let submitted = said(&effects).into_iter().find_map(|(_, message)| match message {
        Inbound::Client(ClientToMaster::RequestSubmitDriver(description)) => Some(description),
        _ => None,
    });
    let description = submitted.unwrap_or_else(|| panic!("{effects:?}"));
    assert_eq!(description.user, "ann");
    assert_eq!(description.command.environment[SECRET_VARIABLE], "hush");
}

#[test]
fn workers_of_spark_are_not_admitted_beside_a_secret() {
    let frames = frames(&recording("spark-4.0.1/worker-to-master"));
    let mut bench = connection_of("ann");
    let effects: Vec<Effect> = frames.into_iter().flat_map(|frame| bench.hear(frame)).collect();
    assert!(effects.contains(&Effect::Note(Note::NoWorkers)), "{effects:?}");
    assert_eq!(effects.last(), Some(&Effect::Close(Closing::AtOnce)));
    assert!(effects.iter().all(|effect| !matches!(effect, Effect::Open { .. } | Effect::Say { .. })));
}
