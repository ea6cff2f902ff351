//! A scripted server on its own port. The script determines the answer to each call, on any connection; the server
//! records the calls.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;
use firesteel_yarn::ipc::frame::{self, FrameReader, Part};
use firesteel_yarn::messages::application::GetNewApplicationResponse;
use firesteel_yarn::messages::records::ApplicationId;
use firesteel_yarn::messages::rpc::{
    IpcConnectionContext, RequestHeader, RpcRequestHeader, RpcResponseHeader, RpcSasl, RpcStatus, SaslAuth,
    SaslState,
};
use firesteel_yarn::messages::security::Token;
use md5::{Digest as _, Md5};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const CONTEXT: i32 = -3;
const PING: i32 = -4;

/// The server's reaction to a call.
#[derive(Clone, Debug)]
pub(crate) enum ServerAction {
    /// Answers it with an application's number.
    Answer(i32),
    /// Answers with an exception of this class.
    Object(&'static str),
    /// Answers with an exception, and ends the connection.
    ObjectForGood(&'static str),
    /// Ends the connection without an answer.
    Hang,
    /// Does not answer yet.
    Keep,
    /// Answers this call and all kept ones with an exception.
    ObjectToAll(&'static str),
}

pub(crate) struct Server {
    pub(crate) address: String,
    state: Arc<State>,
}

struct State {
    script: Mutex<VecDeque<ServerAction>>,
    heard: Mutex<Vec<String>>,
    /// The tokens of which it requires a proof.
    tokens: Vec<Token>,
}

impl Server {
    /// A server that reacts to its calls in this order, and repeats the last reaction.
    pub(crate) async fn of_users(script: &[ServerAction]) -> Self {
        Self::start(script, &[]).await
    }

    /// Like `of_users`, with a proof of one of these tokens at the beginning of each connection.
    pub(crate) async fn of_tokens(script: &[ServerAction], tokens: &[Token]) -> Self {
        Self::start(script, tokens).await
    }

    async fn start(script: &[ServerAction], tokens: &[Token]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
        let address = listener.local_addr().expect("it is bound").to_string();
        let state = Arc::new(State {
            script: Mutex::new(script.iter().cloned().collect()),
            heard: Mutex::default(),
            tokens: tokens.to_vec(),
        });
        let served = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let conversation = Conversation {
                    stream,
                    frames: FrameReader::default(),
                    out: BytesMut::new(),
                    kept: Vec::new(),
                    state: served.clone(),
                };
                tokio::spawn(conversation.serve());
            }
        });
        Self { address, state }
    }

    /// The recorded calls and pings: caller and method, by connection and call.
    pub(crate) fn heard(&self) -> Vec<String> {
        lock(&self.state.heard).clone()
    }
}

/// An address without a listener.
pub(crate) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
    listener.local_addr().expect("it is bound").to_string()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Conversation {
    stream: TcpStream,
    frames: FrameReader,
    out: BytesMut,
    /// Calls that have no answer yet.
    kept: Vec<u32>,
    state: Arc<State>,
}

impl Conversation {
    /// Serves until either end closes the connection.
    async fn serve(mut self) {
        let mut opening = [0; 7];
        if self.stream.read_exact(&mut opening).await.is_err() {
            return;
        }
        let mut caller = None;
        if !self.state.tokens.is_empty() {
            caller = Some(self.prove().await);
        }
        while let Ok(Some(mut frame)) = self.frames.next(&mut self.stream).await {
            let header: RpcRequestHeader = frame::take(&mut frame).expect("it has a header");
            match header.call_id {
                CONTEXT => {
                    let context: IpcConnectionContext = frame::take(&mut frame).expect("it says who calls");
                    let user = context.user_info.and_then(|user| user.effective_user);
                    caller = caller.or(user);
                }
                PING => lock(&self.state.heard).push("ping".to_owned()),
                number => {
                    let method: RequestHeader = frame::take(&mut frame).expect("it says what it calls");
                    let caller = caller.as_deref().unwrap_or("nobody");
                    lock(&self.state.heard).push(format!("{} by {caller}", method.method_name));
                    let goes_on = self.perform(number).await;
                    self.send().await;
                    if goes_on.is_none() {
                        return;
                    }
                }
            }
        }
    }

    /// Reacts as the script says. `None` if the connection is to end.
    async fn perform(&mut self, call: i32) -> Option<()> {
        let number = u32::try_from(call).expect("calls are counted from 0");
        let header = |status: RpcStatus| RpcResponseHeader {
            call_id: number,
            status: status.into(),
            ..RpcResponseHeader::default()
        };
        let objection = |status, class: &str| RpcResponseHeader {
            exception_class_name: Some(class.to_owned()),
            error_msg: Some("not here".to_owned()),
            ..header(status)
        };
        let answer = |id| GetNewApplicationResponse {
            application_id: Some(ApplicationId::new(1, id)),
            ..GetNewApplicationResponse::default()
        };
        let deed = {
            let mut script = lock(&self.state.script);
            let last = script.len() == 1;
            if last { script.front().cloned() } else { script.pop_front() }
        };
        match deed.expect("a script has an end") {
            ServerAction::Answer(id) => self.put(&[&header(RpcStatus::Success), &answer(id)]),
            ServerAction::Object(class) => self.put(&[&objection(RpcStatus::Error, class)]),
            ServerAction::ObjectForGood(class) => {
                self.put(&[&objection(RpcStatus::Fatal, class)]);
                return None;
            }
            ServerAction::Hang => return None,
            ServerAction::Keep => self.kept.push(number),
            ServerAction::ObjectToAll(class) => {
                for call_id in std::mem::take(&mut self.kept).into_iter().chain([number]) {
                    self.put(&[&RpcResponseHeader { call_id, ..objection(RpcStatus::Error, class) }]);
                }
            }
        }
        Some(())
    }

    fn put(&mut self, parts: &[&dyn Part]) {
        frame::put(parts, &mut self.out);
    }

    /// Sends the queued bytes. A client that has gone does not need them.
    async fn send(&mut self) {
        let _ = self.stream.write_all_buf(&mut self.out).await;
    }

    async fn hear_step(&mut self) -> RpcSasl {
        let mut frame = self.frames.next(&mut self.stream).await.expect("it is sound").expect("it comes");
        let header: RpcRequestHeader = frame::take(&mut frame).expect("it has a header");
        assert_eq!(header.call_id, -33);
        frame::take(&mut frame).expect("it has a step")
    }

    async fn say_step(&mut self, state: SaslState, token: Option<Vec<u8>>, auths: Vec<SaslAuth>) {
        let step = RpcSasl { version: None, state: state.into(), token, auths };
        let header = RpcResponseHeader {
            call_id: u32::MAX - 32,
            status: RpcStatus::Success.into(),
            ..RpcResponseHeader::default()
        };
        self.put(&[&header, &step]);
        self.send().await;
    }

    /// Checks a proof of a token, sends its own, and returns the token's owner.
    async fn prove(&mut self) -> String {
        assert_eq!(self.hear_step().await.state, i32::from(SaslState::Negotiate));
        let offer = SaslAuth {
            method: "TOKEN".to_owned(),
            mechanism: "DIGEST-MD5".to_owned(),
            protocol: Some(String::new()),
            server_id: Some("default".to_owned()),
            challenge: Some(
                br#"realm="default",nonce="n",qop="auth",charset=utf-8,algorithm=md5-sess"#.to_vec(),
            ),
        };
        self.say_step(SaslState::Negotiate, None, vec![offer]).await;
        let said = self.hear_step().await;
        let said = String::from_utf8(said.token.expect("it has a proof")).expect("it is text");
        let field = |name: &str| {
            let fields = said.split(',').filter_map(|field| field.split_once('='));
            let mut values = fields.filter(|(key, _)| *key == name).map(|(_, value)| value.trim_matches('"'));
            values.next().expect("it is there").to_owned()
        };
        let token =
            self.state.tokens.iter().find(|token| STANDARD.encode(&token.identifier) == field("username"));
        let token = token.expect("it is one of those that are known").clone();
        let hash = |bytes: &[u8]| Md5::digest(bytes).to_vec();
        let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let secret = format!("{}:default:{}", field("username"), STANDARD.encode(&token.password));
        let first = [hash(secret.as_bytes()), format!(":n:{}", field("cnonce")).into_bytes()].concat();
        let digest = |way: &str| {
            let (first, second) = (hex(hash(&first)), hex(hash(format!("{way}:/default").as_bytes())));
            hex(hash(format!("{first}:n:00000001:{}:auth:{second}", field("cnonce")).as_bytes()))
        };
        assert_eq!(field("response"), digest("AUTHENTICATE"), "it knows the password");
        let proof = format!("rspauth={}", digest("")).into_bytes();
        self.say_step(SaslState::Success, Some(proof), Vec::new()).await;
        token.kind
    }
}
