//! Strangers at a port that needs a secret: whatever they send, nobody hears it and nobody else is disturbed.

use std::time::Duration;

use firesteel_protocol::secret::Secret;
use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{self, PREAMBLE, Role};
use quickcheck::{Arbitrary, Gen};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::encryption::recorded;
use super::puppet::{Event, Hand, Running, message};
use crate::net::encryption::keyring::{Keyring, Keys, Purpose};
use crate::net::{Introduction, QueueLimits};

/// The number of strangers. `FIRESTEEL_STRANGERS` says another one.
const STRANGERS: usize = 1_500;

/// The maximum number of them at the same time.
const AT_ONCE: usize = 16;

/// The longest answer that a stranger may get. The opening of somebody with a right key, repeated, is answered by the
/// other side's part of new keys, and by its hello, encrypted with them, which are of no use to him.
const LONGEST_ANSWER: usize = 200;

/// How long a stranger waits for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

fn ours(role: Role) -> Introduction {
    let keys = [Purpose::Work, Purpose::Submit, Purpose::Admin];
    let keys = keys
        .into_iter()
        .fold(Keys::default(), |keys, purpose| keys.with(purpose, &Secret::new(format!("hush {purpose}"))));
    Introduction::new(role, format!("a {role}")).with_keys(Some(Keyring::new(keys)))
}

/// What a stranger sends, and whether he then closes his side.
fn opening(recorded: &[u8], chance: &mut Gen) -> (Vec<u8>, bool) {
    let below = |chance: &mut Gen, bound: usize| usize::arbitrary(chance) % bound.max(1);
    let noise = |chance: &mut Gen, most: usize| -> Vec<u8> {
        (0..below(chance, most)).map(|_| u8::arbitrary(chance)).collect()
    };
    let version = |chance: &mut Gen| Version(u8::arbitrary(chance) % 12);
    let mut bytes = match below(chance, 8) {
        0 => noise(chance, 300),
        1 => [PREAMBLE.to_vec(), noise(chance, 5000)].concat(),
        2 => [wire::preamble(version(chance)).to_vec(), noise(chance, 200)].concat(),
        3 => [wire::encrypted_preamble(version(chance)).to_vec(), noise(chance, 200)].concat(),
        // The name of a right key is no secret.
        4 => [&recorded[..16], &noise(chance, 200)].concat(),
        5 => [&recorded[..64.min(recorded.len())], &noise(chance, 3000)].concat(),
        6 => recorded[..below(chance, recorded.len() + 1)].to_vec(),
        _ => recorded.to_vec(),
    };
    for _ in 0..below(chance, 4) {
        if bytes.is_empty() {
            break;
        }
        let at = below(chance, bytes.len());
        match below(chance, 3) {
            0 => bytes[at] ^= 1 << below(chance, 8),
            1 => drop(bytes.remove(at)),
            _ => bytes.insert(at, u8::arbitrary(chance)),
        }
    }
    // What begins with this byte is the puppet's other protocol, which nobody serves here.
    if bytes.first() == Some(&b'G') {
        bytes[0] = b'H';
    }
    (bytes, bool::arbitrary(chance))
}

/// Returns what a stranger is answered until the other side ends the connection, or he has waited long enough.
async fn answer(address: String, bytes: Vec<u8>, closes: bool) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let _ = stream.write_all(&bytes).await;
    let mut answer = Vec::new();
    if closes {
        let _ = stream.shutdown().await;
        let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    } else {
        let mut piece = [0; 4096];
        // Who says nothing more waits for the end of the handshake's time: that is tried elsewhere.
        while let Ok(Ok(length @ 1..)) = timeout(Duration::from_millis(20), stream.read(&mut piece)).await {
            answer.extend_from_slice(&piece[..length]);
        }
    }
    answer
}

fn strangers() -> usize {
    let told = std::env::var("FIRESTEEL_STRANGERS").ok();
    told.map_or(STRANGERS, |told| told.parse().expect("FIRESTEEL_STRANGERS is a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_strangers_send_nobody_hears_it_and_nobody_else_is_disturbed() {
    let mut master = Running::introduced(ours(Role::Master), None, QueueLimits::default()).await;
    let recorded = recorded(&master, ours(Role::Worker)).await;
    assert_eq!(master.next().await, message(1, "say"));
    assert!(matches!(master.next().await, Event::Disconnected(_)));
    let mut worker = Hand::introduced(ours(Role::Worker), &master.address).await;
    let (mut chance, mut running, mut said) = (Gen::new(64), JoinSet::new(), 0);
    for number in 0..strangers() {
        let (bytes, closes) = opening(&recorded, &mut chance);
        let address = master.address.to_string();
        running.spawn(async move { (answer(address, bytes.clone(), closes).await, bytes) });
        let last = if running.len() < AT_ONCE { None } else { running.join_next().await };
        if let Some(done) = last {
            let (answer, bytes) = done.expect("a stranger does not panic");
            assert!(answer.len() <= LONGEST_ANSWER, "{bytes:?} was answered with {answer:?}");
        }
        if number % 50 == 0 {
            worker.send(&["say"]).await;
            let reply = timeout(PATIENCE, worker.receive()).await;
            assert_eq!(reply.expect("it is not kept waiting").as_deref(), Some("said"));
            said += 1;
        }
    }
    running.join_all().await.into_iter().for_each(|(answer, bytes)| {
        assert!(answer.len() <= LONGEST_ANSWER, "{bytes:?} was answered with {answer:?}");
    });
    while let Ok(event) = master.seen.try_recv() {
        let Event::Received { message, .. } = &event else { panic!("somebody else was heard: {event:?}") };
        assert_eq!(message, "say");
        said -= 1;
    }
    assert_eq!(said, 0, "only the Worker is heard");
}
