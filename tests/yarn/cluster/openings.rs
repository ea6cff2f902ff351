//! Greetings that a real ResourceManager refuses, and how its errors are read.

use std::time::Duration;

use bytes::BytesMut;
use firesteel_testkit::yarn::YarnCluster;
use firesteel_testkit::yarn::shared::YARN;
use firesteel_yarn::YarnClient;
use firesteel_yarn::ipc::frame::{self, FrameReader, Part};
use firesteel_yarn::ipc::{
    CallError, ClientId, Connection, Greeting, Identity, IpcError, Kind, Protocol, Timeouts,
};
use firesteel_yarn::messages::cluster::{GetClusterMetricsRequest, GetClusterMetricsResponse};
use firesteel_yarn::messages::master::{AllocateRequest, AllocateResponse};
use firesteel_yarn::messages::rpc::{
    IpcConnectionContext, RequestHeader, RpcKind, RpcOperation, RpcRequestHeader, RpcResponseHeader, RpcSasl,
    UserInformation,
};
use firesteel_yarn::messages::security::Token;
use firesteel_yarn::sasl::{Negotiation, Step};
use libtest_mimic::Trial;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::net::TcpStream;

use super::unmanaged::{alice, on_cluster, submitted};

const CLIENT: ClientId = ClientId([7; 16]);

pub(crate) fn trials() -> Vec<Trial> {
    YARN.trials(&[
        ("cluster::what_a_resource_manager_objects_to_is_read_as_what_it_is", || {
            on_cluster(async |cluster| objections(cluster).await);
        }),
        ("cluster::calls_and_pings_share_a_connection_to_a_resource_manager", || {
            on_cluster(async |cluster| shared_connection(cluster).await);
        }),
    ])
}

async fn objections(cluster: &YarnCluster) {
    let client: YarnClient = alice(cluster);
    let (application, token) = submitted(&client).await;
    let (users, scheduler) = (cluster.resource_manager.as_str(), cluster.scheduler.as_str());
    let metrics = "getClusterMetrics";

    // Errors that our own client can cause.
    let unknown = call(users, user("alice"), Protocol::ApplicationClient, "noSuchMethod").await;
    assert_eq!(unknown.kind(), Some(Kind::NotSpoken), "{unknown}");
    let simple = call(scheduler, user("alice"), Protocol::ApplicationMaster, "allocate").await;
    says(&simple, Kind::AccessDenied, "SIMPLE authentication is not enabled.  Available:[TOKEN]");
    let wrong = Token { password: vec![0; 20], ..token.clone() };
    let wrong = call(scheduler, Identity::Token(wrong), Protocol::ApplicationMaster, "allocate").await;
    says(&wrong, Kind::AccessDenied, "Mismatched response");
    let stranger = Token { identifier: b"\x0a\x02\x08\x01".to_vec(), ..token.clone() };
    let stranger = call(scheduler, Identity::Token(stranger), Protocol::ApplicationMaster, "allocate").await;
    assert_eq!(stranger.kind(), Some(Kind::InvalidToken), "{stranger}");
    // Users may also use tokens, but not those of ApplicationMasters.
    let no_user = call(users, Identity::Token(token.clone()), Protocol::ApplicationClient, metrics).await;
    assert_eq!(no_user.kind(), Some(Kind::InvalidToken), "{no_user}");

    // Errors that it cannot cause: the bytes are written by hand, and our client reads the answer.
    let call_0 =
        |protocol: &str| frame_of(&[&header(0), &method(metrics, protocol), &GetClusterMetricsRequest {}]);
    let known = Protocol::ApplicationClient.name();
    let opening =
        |version: u8, parts: &[Vec<u8>]| [b"hrpc".to_vec(), vec![version, 0, 0], parts.concat()].concat();
    let context = context(Some("alice"));
    let rows = [
        (opening(9, &[call_0(known)]), Kind::Other, "Connection context not established"),
        (
            opening(9, &[context.clone(), call_0("org.example.NoSuchProtocol")]),
            Kind::NotSpoken,
            "Unknown protocol",
        ),
        (
            opening(9, &[frame_of(&[&RpcRequestHeader { rpc_op: None, ..header(-3) }])]),
            Kind::Other,
            "No rpc op in rpcRequestHeader",
        ),
    ];
    for (bytes, kind, words) in rows {
        says(&by_hand(users, &bytes).await, kind, words);
    }
    let other_version = by_hand(users, &opening(8, &[context])).await;
    assert!(other_version.to_string().contains("it speaks another version"), "{other_version}");

    // A token is proved, or almost, and then something is wrong.
    let mismatch = proved(scheduler, &token, |text| text, Some("bob")).await;
    says(&mismatch, Kind::AccessDenied, "doesn't match what the client claims to be");
    let uri = |text: String| text.replace("\"/default\"", "\"null/default\"");
    says(&proved(scheduler, &token, uri, None).await, Kind::AccessDenied, "Mismatched URI");
    client.kill(application, "it was only asked").await.expect("it is known");
}

async fn shared_connection(cluster: &YarnCluster) {
    let connection = connect(&cluster.resource_manager, user("alice"), Protocol::ApplicationClient).await;
    let connection = connection.expect("it opens");
    let ask =
        || connection.call::<GetClusterMetricsResponse>("getClusterMetrics", &GetClusterMetricsRequest {});
    let (one, two, three) = tokio::join!(ask(), ask(), ask());
    for answer in [one, two, three] {
        assert!(answer.expect("it is answered").cluster_metrics.is_some());
    }
    // A ping has no answer and does no harm.
    let mut stream = TcpStream::connect(&cluster.resource_manager).await.expect("it listens");
    let ping = frame_of(&[&RpcRequestHeader { retry_count: Some(-1), ..header(-4) }]);
    let call = frame_of(&[
        &header(5),
        &method("getClusterMetrics", Protocol::ApplicationClient.name()),
        &GetClusterMetricsRequest {},
    ]);
    let bytes = [b"hrpc\x09\0\0".to_vec(), context(Some("alice")), ping.clone(), ping, call].concat();
    stream.write_all(&bytes).await.expect("it is heard");
    let mut answer = FrameReader::default().next(&mut stream).await.expect("it is sound").expect("it comes");
    let header: RpcResponseHeader = frame::take(&mut answer).expect("it has a header");
    assert_eq!((header.call_id, header.status), (5, 0));
}

fn user(name: &str) -> Identity {
    Identity::Simple { user: name.to_owned() }
}

#[track_caller]
fn says(failure: &CallError, kind: Kind, words: &str) {
    assert_eq!(failure.kind(), Some(kind), "{failure}");
    assert!(failure.to_string().contains(words), "{failure}");
    assert!(!failure.to_string().contains("\tat "), "it has no stack trace: {failure}");
}

async fn connect(address: &str, identity: Identity, protocol: Protocol) -> Result<Connection, IpcError> {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let greeting = Greeting { protocol, identity, client: CLIENT };
    Connection::open(stream, &greeting, timeouts()).await
}

fn timeouts() -> Timeouts {
    Timeouts { answer: Duration::from_secs(20), ..Timeouts::default() }
}

/// How a call fails.
async fn call(address: &str, identity: Identity, protocol: Protocol, method: &'static str) -> CallError {
    let fail = |error| CallError { method, delivery: firesteel_yarn::ipc::Delivery::NotDelivered, error };
    match connect(address, identity, protocol).await {
        Ok(connection) => {
            let request = AllocateRequest::default();
            let called = connection.call::<AllocateResponse>(method, &request).await;
            called.expect_err("it is refused")
        }
        Err(error) => fail(error),
    }
}

/// The error of our client when it reads a server's answer to these bytes.
async fn by_hand(address: &str, bytes: &[u8]) -> CallError {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(bytes).await.expect("it is heard");
    read(stream).await
}

/// The error of our client when it reads this stream.
async fn read(mut stream: TcpStream) -> CallError {
    let (near, far): (DuplexStream, DuplexStream) = tokio::io::duplex(1 << 16);
    let greeting =
        Greeting { protocol: Protocol::ApplicationClient, identity: user("alice"), client: CLIENT };
    let connection = Connection::open(near, &greeting, timeouts()).await.expect("it waits for nothing");
    let (mut said, mut heard) = tokio::io::split(far);
    let pump = tokio::spawn(async move {
        // The call must be in progress before its answer comes.
        let mut greeting = [0; 64];
        said.read_exact(&mut greeting).await.expect("our client says more than that");
        let mut answer = [0; 4096];
        while let Ok(length) = stream.read(&mut answer).await
            && length > 0
        {
            heard.write_all(&answer[..length]).await.expect("our client listens");
        }
    });
    let called =
        connection.call::<GetClusterMetricsResponse>("getClusterMetrics", &GetClusterMetricsRequest {});
    let failure = called.await.expect_err("it is refused");
    pump.abort();
    failure
}

/// Proves a token with an answer that `tamper` may change, names a user, and calls a method.
async fn proved(
    address: &str,
    token: &Token,
    tamper: impl Fn(String) -> String,
    claimed: Option<&str>,
) -> CallError {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let sasl = RpcRequestHeader { client_id: Vec::new(), retry_count: Some(-1), ..header(-33) };
    let (mut negotiation, mut said) = Negotiation::begin(token.clone(), "bm9uY2U=".to_owned());
    stream.write_all(b"hrpc\x09\0\xdf").await.expect("it is heard");
    let mut frames = FrameReader::default();
    loop {
        stream.write_all(&frame_of(&[&sasl, &said])).await.expect("it is heard");
        let tampered = said.token.is_some() && tamper("\"/default\"".to_owned()) != "\"/default\"";
        if tampered {
            return read(stream).await;
        }
        let mut frame = frames.next(&mut stream).await.expect("it is sound").expect("it comes");
        let _: RpcResponseHeader = frame::take(&mut frame).expect("it has a header");
        let heard: RpcSasl = frame::take(&mut frame).expect("it has a step");
        match negotiation.on(&heard).expect("they come together") {
            Step::Send(next) => {
                let text = next.token.clone().and_then(|text| String::from_utf8(text).ok()).map(&tamper);
                said = RpcSasl { token: text.map(String::into_bytes), ..next };
            }
            Step::Done => break,
        }
    }
    let call = frame_of(&[
        &header(0),
        &method("allocate", Protocol::ApplicationMaster.name()),
        &AllocateRequest::default(),
    ]);
    stream.write_all(&[context(claimed), call].concat()).await.expect("it is heard");
    read(stream).await
}

fn header(call: i32) -> RpcRequestHeader {
    RpcRequestHeader {
        rpc_kind: Some(RpcKind::ProtocolBuffer.into()),
        rpc_op: Some(RpcOperation::FinalPacket.into()),
        call_id: call,
        client_id: CLIENT.0.to_vec(),
        retry_count: Some(0),
        ..RpcRequestHeader::default()
    }
}

fn method(name: &str, protocol: &str) -> RequestHeader {
    RequestHeader {
        method_name: name.to_owned(),
        declaring_class_protocol_name: protocol.to_owned(),
        client_protocol_version: 1,
    }
}

fn context(user: Option<&str>) -> Vec<u8> {
    let user_info = UserInformation { effective_user: user.map(str::to_owned), real_user: None };
    let context = IpcConnectionContext {
        user_info: Some(user_info),
        protocol: Some(Protocol::ApplicationClient.name().to_owned()),
    };
    frame_of(&[&RpcRequestHeader { retry_count: Some(-1), ..header(-3) }, &context])
}

fn frame_of(parts: &[&dyn Part]) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    frame::put(parts, &mut bytes);
    bytes.to_vec()
}
