//! One connection with a scripted peer, in virtual time.

use std::time::Duration;

use firesteel_yarn::ipc::{
    CallError, ClientId, Connection, Delivery, Greeting, Identity, IpcError, Kind, Protocol, Timeouts,
};
use firesteel_yarn::messages::application::{GetNewApplicationRequest, GetNewApplicationResponse};
use firesteel_yarn::messages::records::ApplicationId;
use firesteel_yarn::messages::rpc::RpcStatus;
use tokio::task::JoinHandle;

use crate::peer::{CLIENT, Peer};

type Answer = JoinHandle<Result<GetNewApplicationResponse, CallError>>;

/// Alice's connection, after its greeting was received.
async fn connected() -> (Connection, Peer) {
    connected_with(Timeouts::default()).await
}

/// Like `connected`, with these timeouts.
async fn connected_with(timeouts: Timeouts) -> (Connection, Peer) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let greeting = Greeting {
        protocol: Protocol::ApplicationClient,
        identity: Identity::Simple { user: "alice".to_owned() },
        client: ClientId(CLIENT),
    };
    let connection = Connection::open(near, &greeting, timeouts).await.expect("it opens");
    let mut peer = Peer(far);
    peer.hear(7).await;
    peer.hear_frame().await;
    (connection, peer)
}

/// A call in progress, which the peer has received.
async fn calling(connection: &Connection, peer: &mut Peer) -> Answer {
    let connection = connection.clone();
    let call =
        tokio::spawn(async move { connection.call("getNewApplication", &GetNewApplicationRequest {}).await });
    peer.hear_frame().await;
    call
}

async fn failure(call: Answer) -> CallError {
    call.await.expect("it does not panic").expect_err("it failed")
}

fn numbered(id: i32) -> GetNewApplicationResponse {
    GetNewApplicationResponse { application_id: Some(ApplicationId::new(1, id)), ..Default::default() }
}

#[tokio::test(start_paused = true)]
async fn answers_find_their_calls_in_whatever_order_they_come() {
    let (connection, mut peer) = connected().await;
    let first = calling(&connection, &mut peer).await;
    let second = calling(&connection, &mut peer).await;
    peer.answer(1, &numbered(2)).await;
    peer.answer(77, &numbered(77)).await;
    peer.answer(1, &numbered(78)).await;
    peer.answer(0, &numbered(1)).await;
    for (call, expected) in [(first, 1), (second, 2)] {
        let answer = call.await.expect("it does not panic").expect("it is answered");
        assert_eq!(answer, numbered(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn an_objection_is_one_calls_alone() {
    let (connection, mut peer) = connected().await;
    let refused = calling(&connection, &mut peer).await;
    let taken = calling(&connection, &mut peer).await;
    let class = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException";
    peer.object(0, RpcStatus::Error, class, "no such application\n\tat X.y(X.java:1)\n\tat Z").await;
    peer.answer(1, &numbered(1)).await;
    let failure = failure(refused).await;
    assert_eq!(failure.kind(), Some(Kind::ApplicationNotFound));
    assert_eq!(failure.delivery, Delivery::Answered);
    assert_eq!(failure.to_string(), "getNewApplication: no such application (ApplicationNotFoundException)");
    assert!(taken.await.expect("it does not panic").is_ok());
}

/// Causes: no context, another authentication method, or a wrong user. The number in the reply does not matter.
#[tokio::test(start_paused = true)]
async fn a_fatal_objection_ends_every_call() {
    for number in [0, u32::MAX - 2, u32::MAX] {
        let (connection, mut peer) = connected().await;
        let calls = [calling(&connection, &mut peer).await, calling(&connection, &mut peer).await];
        let class = "org.apache.hadoop.ipc.RpcServerException";
        peer.object(number, RpcStatus::Fatal, class, "Connection context not established").await;
        for call in calls {
            let failure = failure(call).await;
            assert!(matches!(&failure.error, IpcError::Remote(_)), "{failure}");
            assert_eq!(failure.delivery, Delivery::Unknown);
        }
        assert!(connection.is_closed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_leaves_calls_in_doubt_and_takes_no_more() {
    let (connection, mut peer) = connected().await;
    let call = calling(&connection, &mut peer).await;
    drop(peer);
    let failure = failure(call).await;
    assert_eq!(failure.delivery, Delivery::Unknown);
    let again =
        connection.call::<GetNewApplicationResponse>("getNewApplication", &GetNewApplicationRequest {});
    assert_eq!(again.await.expect_err("it is closed").delivery, Delivery::NotDelivered);
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_asked_and_then_given_up() {
    let (connection, mut peer) = connected().await;
    let call = calling(&connection, &mut peer).await;
    let begun = tokio::time::Instant::now();
    let ping = peer.hear_frame().await;
    assert_eq!(begun.elapsed().as_secs(), 60);
    assert_eq!(ping[5..11], [0x08, 2, 0x10, 0, 0x18, 7], "call -4 and nothing else");
    let failure = failure(call).await;
    assert_eq!(begun.elapsed().as_secs(), 120);
    assert_eq!(
        (failure.delivery, failure.to_string().as_str()),
        (Delivery::Unknown, "getNewApplication: there was no answer within 120 s")
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_slow_is_asked_whether_it_is_there_and_its_answer_counts() {
    let timeouts = Timeouts { ping: Duration::from_secs(10), ..Timeouts::default() };
    let (connection, mut peer) = connected_with(timeouts).await;
    let call = calling(&connection, &mut peer).await;
    for _ in 0..3 {
        let ping = peer.hear_frame().await;
        assert_eq!(ping[5..11], [0x08, 2, 0x10, 0, 0x18, 7], "call -4 and nothing else");
    }
    peer.answer(0, &numbered(1)).await;
    assert_eq!(call.await.expect("it does not panic").expect("it is answered"), numbered(1));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_nobody_uses_is_closed() {
    let (connection, mut peer) = connected().await;
    let call = calling(&connection, &mut peer).await;
    peer.answer(0, &numbered(1)).await;
    assert!(call.await.expect("it does not panic").is_ok());
    tokio::time::advance(Duration::from_secs(9)).await;
    assert!(!connection.is_closed());
    tokio::time::advance(Duration::from_secs(2)).await;
    tokio::task::yield_now().await;
    assert!(connection.is_closed());
}

#[tokio::test(start_paused = true)]
async fn what_is_no_answer_ends_the_connection() {
    let garbage: [&[u8]; 4] = [b"HTTP/1.1 404", b"\0\0\0\x01\xff", b"\x7f\xff\xff\xff", b"\0\0\0\x00"];
    for bytes in garbage {
        let (connection, mut peer) = connected().await;
        let call = calling(&connection, &mut peer).await;
        peer.say(bytes).await;
        let failure = failure(call).await;
        assert_eq!(failure.delivery, Delivery::Unknown, "{failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_ends_its_call() {
    let (connection, mut peer) = connected().await;
    let call = calling(&connection, &mut peer).await;
    // The header of call 0, and a message of five bytes of which only one is present.
    peer.say(b"\0\0\0\x07\x04\x08\0\x10\0\x05\x0a").await;
    let failure = failure(call).await;
    assert_eq!(failure.delivery, Delivery::Answered, "{failure}");
    assert!(!connection.is_closed());
}
