//! Tests of encrypted connections: who gets in, and what becomes of bytes that were changed, repeated or recorded.

use std::time::Duration;

use firesteel_protocol::Timestamp;
use firesteel_protocol::address::Address;
use firesteel_protocol::secret::Secret;
use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{self, Role};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::puppet::{Event, Hand, Running, message};
use crate::clock::Clock;
use crate::net::encryption::keyring::{Keyring, Keys, Purpose, Transition};
use crate::net::{AcceptedRole, Introduction, Listener, QueueLimits, dial};
use crate::owner::Context;

/// A key of a cluster, or that of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    Cluster(Purpose),
    Application,
    /// The key of machines without a secret.
    Anybody,
}

const ALL: [For; 8] = [
    For::Cluster(Purpose::Work),
    For::Cluster(Purpose::Submit),
    For::Cluster(Purpose::Logs),
    For::Cluster(Purpose::Pages),
    For::Cluster(Purpose::Rest),
    For::Cluster(Purpose::Spark),
    For::Cluster(Purpose::Admin),
    For::Application,
];

/// A side with keys for these, of which each has a secret of its own, made of this word.
fn with_keys(role: Role, word: &str, all: &[For]) -> Introduction {
    let (mut keys, mut application) = (Keys::default(), None);
    for key in all {
        match key {
            For::Cluster(purpose) => keys = keys.with(*purpose, &Secret::new(format!("{word} {purpose}"))),
            For::Application => application = Some(Secret::new(format!("{word} application"))),
            For::Anybody => {}
        }
    }
    plain(role).with_keys(Some(Keyring::new(keys))).with_application(application.as_ref())
}

fn plain(role: Role) -> Introduction {
    Introduction::new(role, format!("a {role}"))
}

/// A port of a side with this role, which accepts all roles. The second value keeps the port open.
async fn port(ours: Introduction) -> (Address, Context<()>) {
    let listener = Listener::bind(&Address::new("127.0.0.1", 0)).await.expect("there is a free port");
    let address = Address::new("127.0.0.1", listener.local().port());
    let context = Context::introduced(ours, QueueLimits::default(), Clock::start());
    let roles = [Role::Worker, Role::Driver, Role::Client, Role::Executor, Role::Joining];
    context.peers.serve(listener, roles.map(|role| AcceptedRole { role, decode: |_, _| Ok(()) }).into());
    (address, context)
}

async fn open(address: &Address, ours: &Introduction, wanted: Role) -> Result<(), String> {
    dial::open(address, ours, wanted).await.map(|_| ()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn those_who_know_the_same_secret_speak_with_each_other_and_with_nobody_else() {
    let executor = |word| with_keys(Role::Executor, word, &ALL);
    let driver = |word| with_keys(Role::Driver, word, &ALL);
    for (number, (here, there, expected)) in [
        (plain(Role::Executor), plain(Role::Driver), Ok(())),
        (executor("hush"), driver("hush"), Ok(())),
        (
            plain(Role::Executor),
            driver("hush"),
            Err("it admits only those who know its secret, and this side has none"),
        ),
        (
            executor("hush"),
            plain(Role::Driver),
            Err("it has no secret, and this side connects only to those who know its own"),
        ),
        (executor("hash"), driver("hush"), Err("it has another secret")),
        (executor(""), driver("hush"), Err("it has another secret")),
    ]
    .into_iter()
    .enumerate()
    {
        let (address, _context) = port(there).await;
        let opened = open(&address, &here, Role::Driver).await;
        match (opened, expected) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(part)) => assert!(error.contains(part), "{number}: {error}"),
            (opened, _) => panic!("{number}: {opened:?}"),
        }
    }
}

#[tokio::test]
async fn a_local_cluster_has_all_keys_but_those_of_applications() {
    let keyring = |word| Some(Keyring::of_local_cluster(&Secret::new(word)));
    for (here, there, wanted) in [
        (Role::Worker, Role::Master, Role::Master),
        (Role::Client, Role::Master, Role::Master),
        (Role::Client, Role::Worker, Role::Worker),
    ] {
        let (address, _context) = port(plain(there).with_keys(keyring("hush"))).await;
        assert_eq!(open(&address, &plain(here).with_keys(keyring("hush")), wanted).await, Ok(()));
        let error = open(&address, &plain(here).with_keys(keyring("hash")), wanted).await;
        assert!(error.is_err_and(|error| error.contains("it has another secret")), "{here} {there}");
    }
}

/// For each key, each role that shows it, and each role of the side that listens: only what the key is for is let in.
#[tokio::test]
async fn a_key_admits_only_to_what_it_is_for() {
    let is_for = |there: Role, here: Role, key: For| match there {
        Role::Master | Role::Standby if here == Role::Worker => key == For::Cluster(Purpose::Work),
        Role::Master | Role::Standby if key == For::Anybody => here == Role::Joining,
        Role::Master | Role::Standby => {
            let both = [Purpose::Submit, Purpose::Admin];
            here != Role::Executor && both.iter().any(|purpose| key == For::Cluster(*purpose))
        }
        Role::Worker => here == Role::Client && key == For::Cluster(Purpose::Logs),
        _ => matches!(here, Role::Worker | Role::Executor) && key == For::Application,
    };
    let mut admitted = 0;
    for there in [Role::Master, Role::Standby, Role::Worker, Role::Driver] {
        let (address, _context) = port(with_keys(there, "hush", &ALL)).await;
        let wanted = if there == Role::Standby { Role::Master } else { there };
        for here in [Role::Worker, Role::Driver, Role::Client, Role::Executor, Role::Joining] {
            for key in ALL.into_iter().chain([For::Anybody]) {
                // A side that has this key only, and shows it to everybody.
                let secret = match key {
                    For::Cluster(purpose) => Secret::new(format!("hush {purpose}")),
                    For::Application => Secret::new("hush application"),
                    For::Anybody => Secret::new("firesteel joining"),
                };
                let shows = [Purpose::Work, Purpose::Submit, Purpose::Logs];
                let keys =
                    shows.into_iter().fold(Keys::default(), |keys, purpose| keys.with(purpose, &secret));
                let liar = plain(here).with_keys(Some(Keyring::new(keys))).with_application(Some(&secret));
                let opened = dial::open(&address, &liar, wanted).await;
                if is_for(there, here, key) {
                    let (mut introduced, _) = opened.expect("the key is for this");
                    let ended = timeout(Duration::from_millis(50), introduced.reader.next()).await;
                    assert!(ended.is_err(), "{there} ends the connection of {here} with {key:?}");
                    admitted += 1;
                } else if let Ok((mut introduced, _)) = opened {
                    // Who has proven itself is told nothing when its role is refused.
                    let ended = timeout(Duration::from_secs(30), introduced.reader.next()).await;
                    assert!(matches!(ended, Ok(Ok(None) | Err(_))), "{there} hears {here} with {key:?}");
                }
            }
        }
    }
    assert_eq!(admitted, 8 + 8 + 1 + 2);
}

#[tokio::test]
async fn a_side_without_the_key_for_a_purpose_does_not_dial() {
    let (address, _context) = port(with_keys(Role::Master, "hush", &ALL)).await;
    let worker = with_keys(Role::Client, "hush", &[For::Cluster(Purpose::Work)]);
    let error = open(&address, &worker, Role::Master).await.expect_err("it may not");
    assert!(error.contains("the secret of this side does not allow it to connect to a Master"), "{error}");
}

#[tokio::test]
async fn keys_can_be_replaced_while_they_are_used() {
    let keys = |words: &[&str]| {
        words.iter().fold(Keys::default(), |keys, word| keys.with(Purpose::Work, &Secret::new(*word)))
    };
    let (of_master, of_worker) = (Keyring::new(keys(&["old"])), Keyring::new(keys(&["old"])));
    let (address, _context) = port(plain(Role::Master).with_keys(Some(of_master.clone()))).await;
    let worker = plain(Role::Worker).with_keys(Some(of_worker.clone()));
    for (there, here, is_right) in [
        (&["old", "new"][..], &["old"][..], true),
        (&["old", "new"], &["new", "old"], true),
        (&["new", "old"], &["old", "new"], true),
        (&["new"], &["new", "old"], true),
        (&["new"], &["old", "new"], false),
        (&["new"], &["new"], true),
    ] {
        assert!(of_master.replacer().replace(keys(there)) && of_worker.replacer().replace(keys(here)));
        assert_eq!(open(&address, &worker, Role::Master).await.is_ok(), is_right, "{there:?} {here:?}");
    }
}

#[tokio::test]
async fn a_flood_arrives_whole_and_in_order() {
    let ours = with_keys(Role::Master, "hush", &ALL);
    let mut puppet = Running::introduced(ours, None, QueueLimits::default()).await;
    let mut hand = Hand::introduced(with_keys(Role::Worker, "hush", &ALL), &puppet.address).await;
    let long = "x".repeat(300_000);
    hand.send(&[&long, "flood", "flood", "close"]).await;
    assert_eq!(puppet.next().await, message(1, &long));
    for number in (0..10_000).chain(0..10_000) {
        assert_eq!(hand.receive().await, Some(number.to_string()));
    }
    assert_eq!(hand.receive().await.as_deref(), Some("bye"));
    assert_eq!(hand.receive().await, None);
}

/// Dials through a program in the middle that changes one byte: the one with this number, of those to the listening
/// side (`true`) or to the dialling side. Returns what the dialling side receives meanwhile.
async fn changed(to_listener: bool, number: u64, patience: Duration) -> Option<String> {
    let master =
        Running::introduced(with_keys(Role::Master, "hush", &ALL), None, QueueLimits::default()).await;
    let middle = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let address = Address::new("127.0.0.1", middle.local_addr().expect("it is bound").port());
    let there = master.address.to_string();
    tokio::spawn(async move {
        let (here, _) = middle.accept().await.expect("it is dialled");
        let there = TcpStream::connect(there).await.expect("it listens");
        let ((mut from, mut back), (mut answers, mut to)) = (here.into_split(), there.into_split());
        let forth = async {
            if to_listener {
                copy(&mut (&mut from).take(number), &mut to).await?;
                let byte = from.read_u8().await?;
                to.write_u8(byte ^ 1).await?;
            }
            copy(&mut from, &mut to).await
        };
        let back = async {
            if !to_listener {
                copy(&mut (&mut answers).take(number), &mut back).await?;
                let byte = answers.read_u8().await?;
                back.write_u8(byte ^ 1).await?;
            }
            copy(&mut answers, &mut back).await
        };
        let _ = tokio::join!(forth, back);
    });
    let ours = with_keys(Role::Worker, "hush", &ALL);
    let talking = async {
        let mut hand = Hand(dial::open(&address, &ours, Role::Master).await.ok()?.0);
        hand.send(&["say"]).await;
        let body = hand.0.reader.next().await.ok()??;
        Some(wire::decode(&body).expect("it is a text"))
    };
    // A changed length makes a side wait for more.
    timeout(patience, talking).await.ok()?
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_byte_is_noticed_wherever_it_is() {
    // The opening, a hello of 12 and some bytes, and a message.
    for (to_listener, bytes) in [(true, 64 + 60), (false, 65 + 60)] {
        for first in (0..bytes).step_by(16) {
            let tried =
                (first..first + 16).map(|number| changed(to_listener, number, Duration::from_millis(300)));
            for (number, received) in (first..).zip(futures_util::future::join_all(tried).await) {
                assert_eq!(received, None, "byte {number}, to the listener: {to_listener}");
            }
        }
    }
    let beyond = changed(true, 1 << 20, Duration::from_secs(30)).await;
    assert_eq!(beyond.as_deref(), Some("said"), "nothing is changed there");
}

/// The bytes of a peer with a right key, which says a word and gets its answer.
pub(super) async fn recorded(master: &Running, ours: Introduction) -> Vec<u8> {
    let middle = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let port = middle.local_addr().expect("it is bound").port();
    let there = master.address.to_string();
    let recording = tokio::spawn(async move {
        let (here, _) = middle.accept().await.expect("it is dialled");
        let there = TcpStream::connect(there).await.expect("it listens");
        let ((mut from, mut back), (mut answers, mut to)) = (here.into_split(), there.into_split());
        let answering = tokio::spawn(async move { copy(&mut answers, &mut back).await });
        let (mut all, mut piece) = (Vec::new(), vec![0; 4096]);
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            all.extend_from_slice(&piece[..length]);
            to.write_all(&piece[..length]).await.expect("it listens");
        }
        answering.abort();
        all
    });
    let address = Address::new("127.0.0.1", port);
    let mut hand = Hand::introduced(ours, &address).await;
    hand.send(&["say"]).await;
    assert_eq!(hand.receive().await.as_deref(), Some("said"));
    drop(hand);
    recording.await.expect("it does not panic")
}

#[tokio::test]
async fn a_recorded_connection_is_of_no_use() {
    let ours = with_keys(Role::Master, "hush", &ALL);
    let mut master = Running::introduced(ours, None, QueueLimits::default()).await;
    let recorded = recorded(&master, with_keys(Role::Worker, "hush", &ALL)).await;
    assert_eq!(master.next().await, message(1, "say"));
    assert_eq!(master.next().await, Event::Disconnected(firesteel_protocol::ids::PeerId(1)));
    assert!(recorded.windows(3).all(|bytes| bytes != b"say"), "it can be read");
    let mut again = TcpStream::connect(master.address.to_string()).await.expect("it listens");
    again.write_all(&recorded).await.expect("it reads");
    let mut answer = Vec::new();
    let _ = again.read_to_end(&mut answer).await;
    assert!(master.seen.try_recv().is_err(), "the Master heard what was repeated");
}

#[tokio::test]
async fn who_does_not_know_the_secret_is_answered_with_nine_bytes_and_heard_no_longer() {
    let ours = with_keys(Role::Master, "hush", &ALL);
    let mut master = Running::introduced(ours, None, QueueLimits::default()).await;
    let refused = [&wire::encrypted_preamble(Version::CURRENT)[..], &[0]].concat();
    let openings = [
        wire::preamble(Version::CURRENT).to_vec(),
        [&wire::encrypted_preamble(Version::CURRENT)[..], &[7; 100_000]].concat(),
        [&wire::encrypted_preamble(Version(1))[..], &[7; 56]].concat(),
    ];
    for opening in openings {
        let mut stream = TcpStream::connect(master.address.to_string()).await.expect("it listens");
        let _ = stream.write_all(&opening).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        // Where unread bytes were left, the answer may have been lost.
        assert!(answer == refused || (answer.is_empty() && opening.len() > 64), "{answer:?}");
    }
    assert!(master.seen.try_recv().is_err(), "the Master heard somebody");
}

#[tokio::test]
async fn who_has_no_secret_and_joins_says_little() {
    let (address, _context) = port(with_keys(Role::Master, "hush", &ALL)).await;
    for (length, is_heard) in [(1000, true), (5000, false)] {
        let (introduced, _) =
            dial::open(&address, &plain(Role::Joining), Role::Master).await.expect("it joins");
        let mut hand = Hand(introduced);
        hand.send(&[&"x".repeat(length)]).await;
        let patience = if is_heard { Duration::from_millis(200) } else { Duration::from_secs(30) };
        let ended = timeout(patience, hand.0.reader.next()).await;
        assert_eq!(ended.is_err(), is_heard, "{length} bytes");
    }
}

#[tokio::test]
async fn in_a_transition_peers_without_a_secret_are_admitted_until_it_is_over() {
    let transition = Transition::new(Timestamp::MAX);
    let keys = Keys::default().with(Purpose::Work, &Secret::new("hush"));
    let keyring = |word: &str| Keyring::new(Keys::default().with(Purpose::Work, &Secret::new(word)));
    let ours =
        plain(Role::Master).with_keys(Some(Keyring::new(keys).with_transition(Some(transition.clone()))));
    let (address, _context) = port(ours).await;
    let [stranger, known, wrong] =
        [None, Some("hush"), Some("hash")].map(|word| plain(Role::Worker).with_keys(word.map(keyring)));
    let dial = |here: Introduction| {
        let address = address.clone();
        async move { dial::open(&address, &here, Role::Master).await }
    };
    let (mut stranger_stays, _) = dial(stranger.clone()).await.expect("it is admitted");
    let (mut known_stays, _) = dial(known.clone()).await.expect("it is admitted");
    let error = dial(wrong.clone()).await.expect_err("a wrong secret is refused at any time").to_string();
    assert!(error.contains("it has another secret"), "{error}");
    let short = Duration::from_millis(50);
    for stays in [&mut stranger_stays, &mut known_stays] {
        assert!(timeout(short, stays.reader.next()).await.is_err(), "it is open");
    }
    transition.end();
    let ended = timeout(Duration::from_secs(30), stranger_stays.reader.next()).await;
    assert!(matches!(ended, Ok(Ok(None) | Err(_))), "{ended:?}");
    assert!(timeout(short, known_stays.reader.next()).await.is_err(), "who has shown the secret stays");
    let error = dial(stranger).await.expect_err("it is refused now").to_string();
    assert!(error.contains("it admits only those who know its secret"), "{error}");
    assert!(dial(known).await.is_ok());
}
