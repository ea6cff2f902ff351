//! Every captured vector, byte for byte. Requests equal the Java client's, except for the client's own choices: numbers
//! of calls, the nonce, the order of a digest's fields.

use std::collections::BTreeMap;
use std::fs;

use bytes::{Bytes, BytesMut};
use firesteel_yarn::GrantedContainer;
use firesteel_yarn::credentials::{Credentials, TokenFileFormat};
use firesteel_yarn::ipc::frame::{self, FrameReader, Part};
use firesteel_yarn::ipc::{
    ClientId, Connection, FrameError, Greeting, Identity, IpcError, Protocol, Timeouts,
};
use firesteel_yarn::messages::application::*;
use firesteel_yarn::messages::cluster::*;
use firesteel_yarn::messages::container::*;
use firesteel_yarn::messages::launch::*;
use firesteel_yarn::messages::master::*;
use firesteel_yarn::messages::records::*;
use firesteel_yarn::messages::resource::ANYWHERE;
use firesteel_yarn::messages::rpc::*;
use firesteel_yarn::messages::security::{AmRmTokenIdentifier, Token};
use firesteel_yarn::sasl::{Negotiation, Step};
use prost::Message;

use crate::peer::{CLIENT, Peer};

pub(crate) fn vector(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/yarn/vectors.txt");
    let text = fs::read_to_string(path).expect("the fixture is there");
    let block = text.split("\n\n").find(|block| block.lines().next() == Some(name));
    let digits: String = block.expect("there is such a vector").lines().skip(1).map(str::trim).collect();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("they are hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn application() -> ApplicationId {
    ApplicationId::new(1_700_000_000_123, 7)
}

fn attempt() -> ApplicationAttemptId {
    ApplicationAttemptId::new(application(), 1)
}

fn container() -> ContainerId {
    ContainerId::new(attempt(), 2)
}

/// The token of the captures, from its file.
fn am_rm_token() -> Token {
    let file = Credentials::read(&vector("token-file-0")).expect("it is sound");
    file.tokens["alias"].clone()
}

/// A call's frame.
fn call(protocol: Protocol, number: i32, method: &str, request: &dyn Part) -> Vec<u8> {
    let header = RpcRequestHeader {
        rpc_kind: Some(RpcKind::ProtocolBuffer.into()),
        rpc_op: Some(RpcOperation::FinalPacket.into()),
        call_id: number,
        client_id: CLIENT.to_vec(),
        retry_count: Some(0),
        ..RpcRequestHeader::default()
    };
    let method = RequestHeader {
        method_name: method.to_owned(),
        declaring_class_protocol_name: protocol.name().to_owned(),
        client_protocol_version: 1,
    };
    let mut bytes = BytesMut::new();
    frame::put(&[&header, &method, request], &mut bytes);
    bytes.to_vec()
}

/// The answer in a reply's frame, which must contain nothing else.
fn reply<M: Message + Default>(name: &str) -> M {
    let bytes = vector(name);
    let mut frame = Bytes::from(bytes).split_off(4);
    let header: RpcResponseHeader = frame::take(&mut frame).expect("it has a header");
    assert_eq!((header.status, header.client_id()), (RpcStatus::Success.into(), &CLIENT[..]), "{name}");
    let message = frame::take(&mut frame).expect("it has an answer");
    assert!(frame.is_empty(), "{name}");
    message
}

/// The first bytes of a connection with its first calls, up to the length of a vector.
async fn sent(identity: Identity, length: usize) -> Vec<u8> {
    let (near, far) = tokio::io::duplex(4096);
    let greeting = Greeting { protocol: Protocol::ApplicationClient, identity, client: ClientId(CLIENT) };
    let caller = tokio::spawn(async move {
        let connection = Connection::open(near, &greeting, Timeouts::default()).await.expect("it opens");
        connection.call("getClusterMetrics", &GetClusterMetricsRequest {}).await
    });
    let mut peer = Peer(far);
    let heard = peer.hear(length).await;
    peer.say(&vector("cluster-metrics-reply")).await;
    let metrics: GetClusterMetricsResponse =
        caller.await.expect("it does not panic").expect("it is answered");
    assert_eq!(metrics.cluster_metrics.expect("it is there").num_node_managers(), 3);
    heard
}

#[tokio::test]
async fn a_user_opens_a_connection_and_calls_as_hadoop_does() {
    let expected = vector("simple-open-and-cluster-metrics");
    assert_eq!(sent(Identity::Simple { user: "alice".to_owned() }, expected.len()).await, expected);
}

#[test]
fn calls_of_a_client_are_those_of_hadoop() {
    let protocol = Protocol::ApplicationClient;
    assert_eq!(
        call(protocol, 1, "getNewApplication", &GetNewApplicationRequest {}),
        vector("new-application")
    );
    let response: GetNewApplicationResponse = reply("new-application-reply");
    assert_eq!(response.application_id, Some(application()));
    assert_eq!(response.maximum_capability, Some(Resource::new(8192, 4)));

    let file = LocalResource {
        resource: Some(Url {
            scheme: Some("file".to_owned()),
            port: Some(-1),
            file: Some("/tmp/x.bin".to_owned()),
            ..Url::default()
        }),
        size: Some(123),
        timestamp: Some(1_700_000_000_000),
        r#type: Some(LocalResourceType::File.into()),
        visibility: Some(LocalResourceVisibility::Private.into()),
        ..LocalResource::default()
    };
    let launch = ContainerLaunchContext {
        local_resources: vec![StringLocalResourceMap { key: Some("x.bin".to_owned()), value: Some(file) }],
        tokens: Some(Credentials::default().write(TokenFileFormat::Writable)),
        environment: vec![StringStringMap { key: Some("A".to_owned()), value: Some("B".to_owned()) }],
        command: vec!["echo hi 1><LOG_DIR>/stdout".to_owned()],
        ..ContainerLaunchContext::default()
    };
    let context = ApplicationSubmissionContext {
        application_id: Some(application()),
        application_name: Some("t".to_owned()),
        queue: Some("default".to_owned()),
        am_container_spec: Some(launch),
        max_app_attempts: Some(2),
        resource: Some(Resource::new(1024, 1)),
        application_type: Some("SPARK".to_owned()),
        ..ApplicationSubmissionContext::default()
    };
    let request = SubmitApplicationRequest { application_submission_context: Some(context) };
    assert_eq!(call(protocol, 3, "submitApplication", &request), vector("submit-application"));
    let SubmitApplicationResponse {} = reply("submit-application-reply");
}

#[tokio::test]
async fn a_token_opens_a_connection_as_hadoop_does() {
    let (near, far) = tokio::io::duplex(4096);
    let greeting = Greeting {
        protocol: Protocol::ApplicationMaster,
        identity: Identity::Token(am_rm_token()),
        client: ClientId(CLIENT),
    };
    let opening = tokio::spawn(async move { Connection::open(near, &greeting, Timeouts::default()).await });
    let mut peer = Peer(far);
    let expected = vector("token-open");
    assert_eq!(peer.hear(expected.len()).await, expected);
    peer.say(&vector("sasl-challenge")).await;
    let answered = peer.hear_frame().await;
    assert_eq!(answered.len(), vector("sasl-response").len(), "only the nonce is another one");
    // The nonce differs from the captured one, so the captured proof is not valid.
    peer.say(&vector("sasl-success")).await;
    let error = opening.await.expect("it does not panic").expect_err("the proof is of another nonce");
    assert_eq!(error.to_string(), "it does not prove that it knows the token");
}

/// The RPC part of an authentication frame.
fn sasl_part(name: &str) -> RpcSasl {
    let mut frame = Bytes::from(vector(name)).split_off(4);
    let _: RpcResponseHeader = frame::take(&mut frame).expect("it has a header");
    frame::take(&mut frame).expect("it has a step")
}

#[test]
fn a_challenge_is_answered_with_the_captured_digest_and_its_proof_is_taken() {
    let nonce = "cKio+8VGCxAylrxffnNhwP3GyQyVDliiW0BUmWz8";
    let (mut negotiation, _) = Negotiation::begin(am_rm_token(), nonce.to_owned());
    let Ok(Step::Send(answer)) = negotiation.on(&sasl_part("sasl-challenge")) else {
        panic!("the challenge is answered")
    };
    let mut frame = Bytes::from(vector("sasl-response")).split_off(4);
    let header: RpcRequestHeader = frame::take(&mut frame).expect("it has a header");
    assert_eq!((header.call_id, header.client_id.as_slice()), (-33, &[][..]));
    let captured: RpcSasl = frame::take(&mut frame).expect("it has a step");
    assert_eq!(answer, captured);
    assert_eq!(answer.encode_to_vec(), captured.encode_to_vec());
    assert_eq!(negotiation.on(&sasl_part("sasl-success")), Ok(Step::Done));
}

#[test]
fn calls_of_an_application_master_are_those_of_hadoop() {
    let protocol = Protocol::ApplicationMaster;
    let register = RegisterApplicationMasterRequest {
        host: Some("amhost".to_owned()),
        rpc_port: Some(-1),
        tracking_url: Some(String::new()),
    };
    let captured = vector("register-application-master");
    let context = captured.len() - call(protocol, 5, "registerApplicationMaster", &register).len();
    assert_eq!(call(protocol, 5, "registerApplicationMaster", &register), captured[context..]);
    let registered: RegisterApplicationMasterResponse = reply("register-application-master-reply");
    assert_eq!(registered.queue(), "default");

    let nothing = AllocateRequest {
        blacklist_request: Some(ResourceBlacklistRequest::default()),
        response_id: Some(0),
        progress: Some(0.1),
        ..AllocateRequest::default()
    };
    assert_eq!(call(protocol, 6, "allocate", &nothing), vector("allocate-nothing"));
    let response: AllocateResponse = reply("allocate-nothing-reply");
    assert_eq!((response.response_id(), response.num_cluster_nodes()), (1, 3));

    let ask = |location| ResourceRequest::new(0, location, Resource::new(1408, 1), 1);
    let asking = AllocateRequest {
        ask: vec![ask(ANYWHERE), ask("/default-rack"), ask("/rack1"), ask("127.0.0.1")],
        blacklist_request: Some(ResourceBlacklistRequest {
            blacklist_additions: vec!["badhost".to_owned()],
            blacklist_removals: Vec::new(),
        }),
        response_id: Some(1),
        ..nothing
    };
    assert_eq!(call(protocol, 7, "allocate", &asking), vector("allocate-one"));

    let finish = FinishApplicationMasterRequest {
        diagnostics: Some("done".to_owned()),
        tracking_url: Some("http://h/x".to_owned()),
        final_application_status: Some(FinalApplicationStatus::Succeeded.into()),
    };
    assert_eq!(call(protocol, 11, "finishApplicationMaster", &finish), vector("finish-application-master"));
    let finished: FinishApplicationMasterResponse = reply("finish-application-master-reply");
    assert!(finished.is_unregistered());
}

#[test]
fn a_grant_is_read_with_its_tokens_as_they_came() {
    let response: AllocateResponse = reply("allocate-one-reply");
    let [granted] = &response.allocated_containers[..] else { panic!("one container is granted") };
    assert_eq!(granted.id, Some(container()));
    assert_eq!(granted.node_id, Some(NodeId::new("127.0.0.1", 37685)));
    assert_eq!(granted.resource, Some(Resource::new(1408, 1)));
    let token = granted.container_token.clone().expect("it has a token");
    assert_eq!(token.identifier, vector("container-token-identifier"));
    let [nm_token] = &response.nm_tokens[..] else { panic!("a token for its node comes with it") };
    let nm_token = nm_token.token.clone().expect("it is there");
    assert_eq!(nm_token.identifier, vector("nm-token-identifier"));
    assert_eq!((nm_token.kind.as_str(), nm_token.service.as_str()), ("NMToken", "127.0.0.1:37685"));
}

#[test]
fn a_call_of_a_node_manager_is_that_of_hadoop() {
    let response: AllocateResponse = reply("allocate-one-reply");
    let start = StartContainersRequest {
        start_container_request: vec![StartContainerRequest {
            container_launch_context: Some(ContainerLaunchContext {
                command: vec!["sleep 1".to_owned()],
                ..ContainerLaunchContext::default()
            }),
            container_token: response.allocated_containers[0].container_token.clone(),
        }],
    };
    let written = call(Protocol::ContainerManagement, 8, "startContainers", &start);
    assert!(vector("start-containers").ends_with(&written));
    let started: StartContainersResponse = reply("start-containers-reply");
    assert_eq!(started.succeeded_requests, [container()]);
}

#[test]
fn a_grant_is_kept_as_bytes_and_prints_no_password() {
    let response: AllocateResponse = reply("allocate-one-reply");
    let container = response.allocated_containers[0].clone();
    let granted = GrantedContainer { container, token: response.nm_tokens[0].token.clone() };
    assert_eq!(GrantedContainer::from_bytes(&granted.to_bytes()), Ok(granted.clone()));
    let tokens = [granted.token.clone(), granted.container.container_token.clone()];
    let printed = format!("{granted:?}");
    for token in tokens.map(|token| token.expect("it came with the grant")) {
        assert!(!printed.contains(&format!("{:?}", token.password)), "{printed}");
    }
}

/// The error of a client that opens a connection and calls, when it receives these bytes.
async fn heard(identity: Identity, said: &str) -> String {
    let (near, far) = tokio::io::duplex(4096);
    let greeting = Greeting { protocol: Protocol::ApplicationMaster, identity, client: ClientId(CLIENT) };
    let mut peer = Peer(far);
    peer.say(&vector(said)).await;
    drop(peer);
    let error: IpcError = match Connection::open(near, &greeting, Timeouts::default()).await {
        Ok(connection) => {
            let nothing = AllocateRequest::default();
            let answer = connection.call::<AllocateResponse>("allocate", &nothing).await;
            answer.expect_err("it is an error").error
        }
        Err(error) => error,
    };
    error.to_string()
}

#[tokio::test]
async fn errors_are_told_by_their_class_and_without_a_stack_trace() {
    let bob = || Identity::Simple { user: "bob".to_owned() };
    let token = Identity::Token(am_rm_token());
    let rows = [
        (
            bob(),
            "simple-to-token-reply",
            "SIMPLE authentication is not enabled.  Available:[TOKEN] (AccessControlException)",
        ),
        (
            token,
            "wrong-password-reply",
            "DIGEST-MD5: digest response format violation. Mismatched response. (SaslException)",
        ),
        (
            bob(),
            "version-8-reply",
            "it speaks another version: Server IPC version 9 cannot communicate with client version 8",
        ),
    ];
    for (identity, said, expected) in rows {
        assert_eq!(heard(identity, said).await, expected, "{said}");
    }
}

#[tokio::test]
async fn a_server_of_another_version_is_not_taken_for_a_long_frame() {
    let bytes = vector("version-8-reply");
    let mut reader = FrameReader::default();
    let error = reader.next(&mut &*bytes).await.expect_err("it is no frame");
    assert!(matches!(error, FrameError::OtherVersion { .. }), "{error}");
}

#[test]
fn token_files_are_read_and_written_in_both_formats() {
    for (name, format) in
        [("token-file-0", TokenFileFormat::Writable), ("token-file-1", TokenFileFormat::Protobuf)]
    {
        let file = Credentials::read(&vector(name)).expect("it is sound");
        let token = file.token("YARN_AM_RM_TOKEN").expect("it has one");
        assert_eq!(token.attempt(), Some(attempt()), "{name}");
        assert_eq!(token.service, "127.0.0.1:36867", "{name}");
        assert_eq!(file.write(format), vector(name));
        assert!(!format!("{file:?}").contains("password"), "{file:?}");
    }
    assert_eq!(Credentials::default().write(TokenFileFormat::Writable), b"HDTS\0\0\0");
}

/// A real ResourceManager leaves alias and service empty.
#[test]
fn a_token_without_a_name_or_a_service_is_found_by_its_kind() {
    let token = Token { service: String::new(), ..am_rm_token() };
    let written =
        Credentials { tokens: BTreeMap::from([(String::new(), token.clone())]), ..Credentials::default() };
    for format in [TokenFileFormat::Writable, TokenFileFormat::Protobuf] {
        let read = Credentials::read(&written.write(format)).expect("it is sound");
        assert_eq!(read.token("YARN_AM_RM_TOKEN"), Some(&token));
    }
    assert_eq!(
        token.encode_to_vec()[token.encode_to_vec().len() - 2..],
        *b"\x22\0",
        "it is written, though empty"
    );
}

#[test]
fn what_a_token_of_an_application_master_says_is_read_and_written() {
    let bytes = vector("am-rm-token-identifier");
    let read = AmRmTokenIdentifier::decode(&*bytes).expect("it is one");
    assert_eq!((read.app_attempt_id, read.key_id()), (Some(attempt()), 3));
    assert_eq!(read.encode_to_vec(), bytes);
}
