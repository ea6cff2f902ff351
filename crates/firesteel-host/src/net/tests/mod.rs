//! Tests of owners and peers over real sockets in one process: the guarantees that the owner loop gives its machine.

mod encryption;
mod puppet;
mod strangers;

use std::net::SocketAddr;
use std::time::Duration;

use bytes::BytesMut;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{self, Hello, MAX_FRAME, MAX_HELLO, PREAMBLE, Role};
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::frame;
use super::handshake::{Side, shake_hands};
use super::{
    AcceptedRole, Disconnect, Evidence, FIRST_MESSAGE_TIMEOUT, Inquiry, Introduction, Listener, OutgoingItem,
    QueueLimits, dial,
};
use crate::clock::Clock;
use crate::owner::{Committed, Context};
use puppet::{Event, Hand, News, Running, Text, message};

#[tokio::test]
async fn what_was_sent_before_a_close_arrives_and_nothing_said_after_it_is_heard() {
    let mut puppet = Running::master().await;
    let mut hand = Hand::connect(&puppet.address).await;
    hand.send(&["hi", "close", "later", "and later"]).await;
    assert_eq!(hand.receive().await.as_deref(), Some("bye"));
    assert_eq!(hand.receive().await, None);
    drop(hand);
    let events = [puppet.next().await, puppet.next().await, puppet.next().await];
    assert_eq!(events, [message(1, "hi"), message(1, "close"), Event::Disconnected(PeerId(1))]);
}

#[tokio::test]
async fn what_comes_together_with_the_hello_is_heard() {
    for of_puppet in [Role::Master, Role::Driver] {
        let mut puppet = Running::start(of_puppet, None, QueueLimits::default()).await;
        for (peer, role) in [(1, Role::Client), (2, Role::Worker)] {
            let hello = Hello::new(role, "a hand");
            let mut bytes = BytesMut::from(&PREAMBLE[..]);
            frame::append(&hello, &mut bytes, MAX_HELLO).expect("it fits");
            frame::append(&"hi", &mut bytes, MAX_FRAME).expect("it fits");
            frame::append(&"half", &mut bytes, MAX_FRAME).expect("it fits");
            let mut stream =
                TcpStream::connect(puppet.address.to_string()).await.expect("the puppet listens");
            let last = bytes.split_off(bytes.len() - 1);
            stream.write_all(&bytes).await.expect("the puppet reads");
            assert_eq!(puppet.next().await, message(peer, "hi"));
            stream.write_all(&last).await.expect("the puppet reads");
            assert_eq!(puppet.next().await, message(peer, "half"));
            drop(stream);
            assert_eq!(puppet.next().await, Event::Disconnected(PeerId(peer)));
        }
    }
}

#[tokio::test]
async fn no_event_is_lost_between_batches() {
    let mut puppet = Running::master().await;
    let mut hand = Hand::connect(&puppet.address).await;
    for round in 0..3 {
        let words: Vec<String> = (0..1000).map(|number| format!("{round}/{number}")).collect();
        hand.send(&words.iter().map(String::as_str).collect::<Vec<_>>()).await;
        for word in &words {
            assert_eq!(puppet.next().await, message(1, word));
        }
    }
}

#[tokio::test]
async fn events_are_handled_during_a_commit_and_nothing_leaves_before_its_own() {
    let mut puppet = Running::master().await;
    let mut hand = Hand::connect(&puppet.address).await;
    hand.send(&["keep"]).await;
    assert_eq!(puppet.next().await, message(1, "keep"));
    let first = puppet.commits.recv().await.expect("the puppet runs");
    for word in ["say", "keep", "say"] {
        hand.send(&[word]).await;
        assert_eq!(puppet.next().await, message(1, word));
    }
    hand.receives_nothing().await;
    first.send(Committed::Durable).expect("the puppet waits");
    assert_eq!(hand.receive().await.as_deref(), Some("kept"));

    let second = puppet.commits.recv().await.expect("the puppet runs");
    hand.receives_nothing().await;
    hand.send(&["end"]).await;
    assert_eq!(puppet.next().await, message(1, "end"));
    second.send(Committed::Durable).expect("the puppet waits");
    for words in ["said", "kept", "said"] {
        assert_eq!(hand.receive().await.as_deref(), Some(words));
    }
    assert_eq!(hand.receive().await.map(|words| words.len()), Some(8 << 20));
    assert_eq!(hand.receive().await, None);
}

#[tokio::test]
async fn messages_whose_commit_is_lost_wait_for_the_next_one() {
    let mut puppet = Running::master().await;
    let mut hand = Hand::connect(&puppet.address).await;
    hand.send(&["keep"]).await;
    assert_eq!(puppet.next().await, message(1, "keep"));
    let first = puppet.commits.recv().await.expect("the puppet runs");
    hand.send(&["keep"]).await;
    assert_eq!(puppet.next().await, message(1, "keep"));
    first.send(Committed::Lost).expect("the puppet waits");
    let second = puppet.commits.recv().await.expect("the puppet runs");
    hand.receives_nothing().await;
    hand.send(&["end"]).await;
    assert_eq!(puppet.next().await, message(1, "end"));
    second.send(Committed::Durable).expect("the puppet waits");
    for words in ["kept", "kept"] {
        assert_eq!(hand.receive().await.as_deref(), Some(words));
    }
    assert_eq!(hand.receive().await.map(|words| words.len()), Some(8 << 20));
}

#[tokio::test]
async fn a_commit_that_fails_ends_the_daemon_and_nothing_that_waited_leaves() {
    let mut puppet = Running::master().await;
    let mut hand = Hand::connect(&puppet.address).await;
    hand.send(&["keep"]).await;
    assert_eq!(puppet.next().await, message(1, "keep"));
    let commit = puppet.commits.recv().await.expect("the puppet runs");
    hand.send(&["say"]).await;
    assert_eq!(puppet.next().await, message(1, "say"));
    drop(commit);
    assert_eq!(hand.receive().await, None);
}

#[tokio::test]
async fn a_daemons_last_words_are_flushed() {
    let puppet = Running::master().await;
    let mut hand = Hand::connect(&puppet.address).await;
    hand.send(&["end"]).await;
    assert_eq!(hand.receive().await.map(|words| words.len()), Some(8 << 20));
    assert_eq!(hand.receive().await, None);
}

#[tokio::test]
async fn peers_are_counted_from_1_and_a_number_never_comes_back() {
    let mut puppet = Running::master().await;
    for number in 1..=3 {
        let mut hand = Hand::connect(&puppet.address).await;
        hand.send(&["hi"]).await;
        assert_eq!(puppet.next().await, message(number, "hi"));
        drop(hand);
        assert_eq!(puppet.next().await, Event::Disconnected(PeerId(number)));
    }
}

#[tokio::test]
async fn whoever_is_dialled_is_known_before_he_speaks() {
    let mut master = Running::master().await;
    let mut worker = Running::start(Role::Worker, Some(master.address.clone()), QueueLimits::default()).await;
    assert_eq!(worker.next().await, Event::Connected(PeerId(1)));
    assert_eq!(master.next().await, message(1, "hello"));
}

#[tokio::test]
async fn a_dial_that_fails_says_why() {
    let worker = Running::start(Role::Worker, None, QueueLimits::default()).await;
    let mut other = Running::start(Role::Worker, Some(worker.address.clone()), QueueLimits::default()).await;
    let Event::ConnectFailed(error) = other.next().await else { panic!("a Worker is no Master") };
    assert!(error.contains("is not a Master of this version of Firesteel: its role is Worker"), "{error}");

    let nobody = Address::new("127.0.0.1", 1);
    let mut alone = Running::start(Role::Worker, Some(nobody), QueueLimits::default()).await;
    let Event::ConnectFailed(error) = alone.next().await else { panic!("nobody listens there") };
    assert!(error.starts_with("cannot connect to 127.0.0.1:1: "), "{error}");
}

#[tokio::test]
async fn a_master_that_does_not_answer_is_told_apart_from_a_stranger() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let address = Address::new("127.0.0.1", listener.local_addr().expect("it is bound").port());
    let master = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a client dials");
        let ours = Introduction::new(Role::Master, "m");
        shake_hands(stream, Side::Accepted, &ours, &[Role::Client]).await.expect("it is a client")
    });
    let mut inquiry = Inquiry::open(&address, Role::Master, "a test").await.expect("it is a Master");
    let _silent = master.await.expect("it does not panic");
    // From now on time advances whenever all tasks wait.
    tokio::time::pause();
    let error =
        inquiry.ask::<_, String>(&Text("a question".to_owned())).await.expect_err("there is no answer");
    let words =
        format!("the Master at {address} did not answer within 30 s: it is overloaded or was stopped");
    assert_eq!((error.to_string(), error.evidence()), (words, Evidence::NoAnswer));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_is_kept_while_messages_never_cease() {
    let mut puppet = Running::master().await;
    let mut hand = Hand::connect(&puppet.address).await;
    hand.send(&["deadline"]).await;
    assert_eq!(puppet.next().await, message(1, "deadline"));
    let flood = vec!["noise"; 1000];
    loop {
        hand.send(&flood).await;
        let mut seen = Vec::new();
        while let Ok(event) = puppet.seen.try_recv() {
            seen.push(event);
        }
        if seen.contains(&Event::Deadline) {
            break;
        }
    }
}

#[tokio::test]
async fn a_peer_whose_queue_is_full_is_told_off_and_others_are_not() {
    let limits = QueueLimits { of_peer: 20_000, in_all: 64 << 20, ..QueueLimits::default() };
    let mut puppet = Running::start(Role::Master, None, limits).await;
    let mut slow = Hand::connect(&puppet.address).await;
    // More than the system buffers for a peer that does not read.
    slow.send(&["flood"; 1000]).await;
    while puppet.next().await != Event::Disconnected(PeerId(1)) {}
    let mut quick = Hand::connect(&puppet.address).await;
    quick.send(&["close"]).await;
    assert_eq!(quick.receive().await.as_deref(), Some("bye"));
}

#[tokio::test]
async fn when_too_much_is_queued_in_all_the_peer_with_the_most_goes() {
    let limits = QueueLimits { of_peer: 64 << 20, in_all: 4 << 20, ..QueueLimits::default() };
    let mut puppet = Running::start(Role::Master, None, limits).await;
    let mut few = Hand::connect(&puppet.address).await;
    few.send(&["hi"]).await;
    assert_eq!(puppet.next().await, message(1, "hi"));
    let mut slow = Hand::connect(&puppet.address).await;
    slow.send(&["flood"; 1000]).await;
    few.send(&["flood"]).await;
    while puppet.next().await != Event::Disconnected(PeerId(2)) {}
    for number in 0..10_000 {
        assert_eq!(few.receive().await, Some(number.to_string()));
    }
}

#[tokio::test]
async fn a_peer_that_has_nothing_to_say_is_let_go() {
    let mut puppet = Running::start(Role::Driver, None, QueueLimits::default()).await;
    let hello = Introduction::new(Role::Worker, "a hand");
    let connect = || async {
        Hand(dial::open(&puppet.address, &hello, Role::Driver).await.expect("the puppet lets Workers in").0)
    };
    let (mut mute, mut quiet) = (connect().await, connect().await);
    quiet.send(&["hi"]).await;
    assert_eq!(puppet.next().await, message(2, "hi"));
    // From now on time advances whenever all tasks wait.
    tokio::time::pause();
    assert_eq!(mute.0.reader.next().await.expect("it is closed in order"), None);
    assert_eq!(puppet.next().await, Event::Disconnected(PeerId(1)));
    // A peer that has sent a message may be silent for long.
    tokio::time::sleep(FIRST_MESSAGE_TIMEOUT * 10).await;
    tokio::time::resume();
    quiet.send(&["again"]).await;
    assert_eq!(puppet.next().await, message(2, "again"));
}

#[tokio::test]
async fn a_peer_that_reads_as_fast_as_it_can_is_not_too_slow() {
    // Much more is sent than may be queued.
    let limits = QueueLimits { of_peer: 64 << 20, in_all: 40 << 20, ..QueueLimits::default() };
    let master = Running::start(Role::Master, None, limits).await;
    let remote = SocketAddr::from(([127, 0, 0, 1], 9));
    let (virtual_peer, mut outgoing) =
        master.virtual_peers.open(Role::Driver, "a driver".to_owned(), remote).expect("the owner lives");
    let peer = virtual_peer.peer();
    tokio::spawn(async move {
        for text in std::iter::repeat_n("flood", 200).chain(["close"]) {
            let event = Event::Received { peer, message: text.to_owned() };
            virtual_peer.say(virtual_peer.now(), text.len(), event).await.expect("the owner lives");
        }
        std::future::pending::<()>().await
    });
    let mut count = 0;
    let end = loop {
        match outgoing.next().await {
            Some(OutgoingItem::Message(_)) => count += 1,
            end => break end,
        }
        if count % 1000 == 0 {
            tokio::task::yield_now().await;
        }
    };
    assert!(matches!(end, Some(OutgoingItem::End(Disconnect::Here))), "{end:?}");
    assert_eq!(count, 200 * 10_000 + 1);
}

#[tokio::test]
async fn an_virtual_peer_speaks_for_a_peer_without_a_connection() {
    let mut master = Running::master().await;
    let remote = SocketAddr::from(([127, 0, 0, 1], 9));
    let open =
        || master.virtual_peers.open(Role::Driver, "a driver".to_owned(), remote).expect("the owner lives");
    let ((one, mut to_one), (other, _to_other)) = (open(), open());
    assert_eq!((one.peer(), other.peer()), (PeerId(1), PeerId(2)));
    for text in ["flood", "close", "too late"] {
        let event = Event::Received { peer: one.peer(), message: text.to_owned() };
        one.say(one.now(), text.len(), event).await.expect("the owner lives");
    }
    for number in 0..10_000 {
        let Some(OutgoingItem::Message(boxed)) = to_one.next().await else {
            panic!("{number} does not come")
        };
        assert_eq!(boxed.open::<Text>().0, number.to_string());
    }
    let Some(OutgoingItem::Message(boxed)) = to_one.next().await else { panic!("it does not say bye") };
    assert_eq!(boxed.open::<Text>().0, "bye");
    assert!(matches!(to_one.next().await, Some(OutgoingItem::End(Disconnect::Here))));
    assert!(to_one.next().await.is_none());
    one.end(Disconnect::Here);
    drop(other);
    let expected = [message(1, "flood"), message(1, "close"), Event::Disconnected(PeerId(1))];
    for event in expected.into_iter().chain([Event::Disconnected(PeerId(2))]) {
        assert_eq!(master.next().await, event);
    }
}

#[tokio::test]
async fn a_connection_of_another_protocol_is_passed_on_with_all_that_it_says() {
    let mut master = Running::master().await;
    let mut client = TcpStream::connect(master.address.to_string()).await.expect("it listens");
    client.write_all(b"GET /").await.expect("it is read");
    let mut connection = master.connections.recv().await.expect("it is passed on");
    let mut said = [0; 5];
    connection.stream.read_exact(&mut said).await.expect("nothing was read before");
    assert_eq!(&said, b"GET /");
    connection.stream.write_all(b"404").await.expect("it is read");
    drop(connection);
    let mut heard = Vec::new();
    client.read_to_end(&mut heard).await.expect("it is answered");
    assert_eq!(heard, b"404", "nothing was written before");
}

#[tokio::test]
async fn who_hears_nobody_hangs_up_on_drivers_first_and_on_a_few_at_a_time() {
    const WORKERS: usize = 250;
    let listener = Listener::bind(&Address::new("127.0.0.1", 0)).await.expect("there is a free port");
    let address = Address::new("127.0.0.1", listener.local().port());
    let context = Context::new(Role::Standby, "a standby", QueueLimits::default(), Clock::start());
    let accepted_roles =
        [Role::Worker, Role::Driver].map(|role| AcceptedRole { role, decode: |_, _| Ok(()) });
    context.peers.serve(listener, accepted_roles.into());
    let (over, is_over) = oneshot::channel::<()>();
    let hearing = tokio::spawn(context.hear_nobody(|_| (), async { drop(is_over.await) }));
    let (ended, mut ends) = mpsc::unbounded_channel();
    for number in 0..=WORKERS {
        // Not the last one, which may be unknown yet when the lease is over.
        let role = if number == WORKERS / 2 { Role::Driver } else { Role::Worker };
        let opened = dial::open(&address, &Introduction::new(role, "a hand"), Role::Master).await;
        let mut hand = Hand(opened.expect("everybody is let in").0);
        let ended = ended.clone();
        tokio::spawn(async move {
            assert_eq!(hand.receive().await, None, "nothing is said");
            ended.send(role).expect("the test counts");
        });
    }
    over.send(()).expect("it listens");
    let mut order = Vec::new();
    for _ in 0..=WORKERS {
        let end = timeout(Duration::from_secs(30), ends.recv()).await;
        order.push(end.expect("it hangs up in time").expect("the test holds a sender"));
    }
    let driver = order.iter().position(|role| *role == Role::Driver).expect("it is one of them");
    assert!(driver < 100, "{driver} Workers before the driver");
    hearing.await.expect("it does not panic");
    assert!(TcpStream::connect(address.to_string()).await.is_err(), "nobody is let in any more");
}

#[tokio::test]
async fn a_peer_that_dials_is_answered_with_the_lower_version() {
    let puppet = Running::master().await;
    let (Version(oldest), Version(current)) = (Version::OLDEST, Version::CURRENT);
    for (offered, answered) in [(oldest, oldest), (current, current), (200, current)] {
        let mut stream = TcpStream::connect(puppet.address.to_string()).await.expect("the puppet listens");
        stream.write_all(&wire::preamble(Version(offered))).await.expect("the puppet reads");
        let mut preamble = [0; 8];
        stream.read_exact(&mut preamble).await.expect("the puppet answers");
        assert_eq!(preamble, wire::preamble(Version(answered)), "{offered}");
    }
    // A peer that is too old gets the version of this build, and the end of the connection.
    let mut stream = TcpStream::connect(puppet.address.to_string()).await.expect("the puppet listens");
    stream.write_all(&wire::preamble(Version(oldest - 1))).await.expect("the puppet reads");
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await.expect("the puppet hangs up");
    assert_eq!(all[..8], PREAMBLE);
}

#[tokio::test]
async fn a_question_that_a_peer_is_too_old_for_fails_and_says_so() {
    let puppet = Running::master().await;
    let mut inquiry = Inquiry::open(&puppet.address, Role::Master, "a test").await.expect("it is a Master");
    let error = inquiry.ask::<_, String>(&News).await.expect_err("the puppet is too old");
    let (current, needed) = (Version::CURRENT, Version(Version::CURRENT.0 + 1));
    let said =
        format!("speaks version {current} of the protocol, and this needs version {needed}: upgrade it");
    assert!(error.to_string().ends_with(&said), "{error}");
}

#[tokio::test]
async fn a_message_that_a_peer_is_too_old_for_is_left_out() {
    let mut puppet = Running::master().await;
    let mut hand = Hand::connect(&puppet.address).await;
    for word in ["news", "say"] {
        hand.send(&[word]).await;
        assert_eq!(puppet.next().await, message(1, word));
    }
    assert_eq!(hand.receive().await.as_deref(), Some("said"));
}
