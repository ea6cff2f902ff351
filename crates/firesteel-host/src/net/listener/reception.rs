//! Accepting connections: who may connect, and in which role.

use std::net::SocketAddr;
use std::sync::Arc;

use firesteel_protocol::fair_queue::Urgency;
use firesteel_protocol::wire::{MAX_FRAME, PreambleError, Role};
use tokio::io::{self, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::ConversationServer;
use super::limits::{ConnectionLimits, LimitReached};
use crate::net::conversation::Conversation;
use crate::net::handshake::{HandshakeError, PeerKind, Side, shake_hands};
use crate::net::other_protocol::{OtherProtocolConnection, OtherProtocolRoute};
use crate::net::peers::{AcceptedPeer, Shared, urgency_of};
use crate::net::socket;
use crate::net::{AcceptedRole, FIRST_MESSAGE_TIMEOUT, HANDSHAKE_TIMEOUT, Listener};
use crate::places::{Occupant, machine_of};
use crate::rate_limiter::RateLimiter;

#[derive(Debug)]
struct Acceptor<E> {
    accepted_roles: Vec<AcceptedRole<E>>,
    server: Option<ConversationServer>,
    other_protocols: Vec<OtherProtocolRoute>,
    /// The runtime for connections that are not urgent. `None`: the runtime that accepts.
    home: Option<Handle>,
    connection_limits: ConnectionLimits,
    lines: Lines,
}

/// Limits on log lines that any program that can reach the port can cause.
#[derive(Debug)]
struct Lines {
    /// Lines about peers that speak another protocol, or send nothing.
    foreign: RateLimiter,
    /// Lines about parts of Firesteel that cannot join the cluster.
    incompatible: RateLimiter,
    /// Lines about peers that are admitted without a secret for a time.
    strangers: RateLimiter,
    /// Lines about peers that get no permit.
    full: RateLimiter,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            foreign: RateLimiter::per_minute(10),
            incompatible: RateLimiter::per_minute(10),
            strangers: RateLimiter::per_minute(60),
            full: RateLimiter::per_minute(1),
        }
    }
}

impl<E> Acceptor<E> {
    fn roles(&self) -> Vec<Role> {
        let server = self.server.iter().map(|server| server.role);
        self.accepted_roles.iter().map(|accepted| accepted.role).chain(server).collect()
    }

    /// Passes a connection of another protocol on to the task that serves it.
    async fn receive(
        &self,
        room: &OtherProtocolRoute,
        stream: TcpStream,
        remote: SocketAddr,
        occupant: Occupant,
    ) {
        let Self { home, connection_limits, lines, .. } = self;
        let permit = match connection_limits.take(Role::Driver, machine_of(stream.local_addr(), remote)) {
            Ok(permit) => permit,
            Err(full) => return log_full(remote, Role::Driver, full, lines),
        };
        drop(occupant);
        match configured(stream, home.as_ref()) {
            // If the receiver is gone, the connection ends here.
            Ok(stream) => {
                drop(room.connections.send(OtherProtocolConnection { stream, remote, permit }).await)
            }
            Err(error) => log_failed(remote, &error.into(), lines),
        }
    }
}

impl<E: Send + 'static> Shared<E> {
    /// Accepts connections until the daemon ends. The runtime `home`, if there is one, serves connections that are not
    /// urgent.
    pub(in crate::net) async fn accept(
        self,
        listener: Listener,
        accepted_roles: Vec<AcceptedRole<E>>,
        home: Option<Handle>,
    ) {
        let (server, other_protocols) = (listener.conversation_server(), listener.other_protocols());
        let connection_limits = ConnectionLimits::of_this_process(self.limits.partial);
        let lines = Lines::default();
        let reception =
            Arc::new(Acceptor { accepted_roles, server, other_protocols, home, connection_limits, lines });
        let accepting = listener.accept_each(&reception.connection_limits, |stream, remote, occupant| {
            self.tasks.spawn(self.clone().accepted(stream, remote, Arc::clone(&reception), occupant));
        });
        self.stop.run_until_cancelled(accepting).await;
    }

    async fn accepted(
        self,
        stream: TcpStream,
        remote: SocketAddr,
        reception: Arc<Acceptor<E>>,
        occupant: Occupant,
    ) {
        let Acceptor { accepted_roles, server, other_protocols, home, connection_limits, lines } =
            &*reception;
        let machine = machine_of(stream.local_addr(), remote);
        let first = match self.stop.run_until_cancelled(first_byte(&stream, &occupant)).await {
            None => return,
            Some(Ok(first)) => first,
            Some(Err(error)) => return log_failed(remote, &error, lines),
        };
        occupant.has_spoken();
        let begins = |room: &&OtherProtocolRoute| first.is_some_and(|first| room.firsts.contains(&first));
        if let Some(room) = other_protocols.iter().find(begins) {
            let receiving = reception.receive(room, stream, remote, occupant);
            self.stop.run_until_cancelled(receiving).await;
            return;
        }
        if first.is_some_and(|first| first.is_ascii_uppercase()) {
            // The first item of an HTTP method. Nothing is sent, because the peer would take our hello for a
            // malformed answer.
            log_failed(remote, &PreambleError::Foreign.into(), lines);
            self.stop.run_until_cancelled(drain(stream, &occupant)).await;
            return;
        }
        let roles = reception.roles();
        let shaking = async {
            tokio::select! {
                introduced = shake_hands(stream, Side::Accepted, &self.introduction, &roles) => introduced,
                () = occupant.has_to_leave() => Err(HandshakeError::CrowdedOut),
            }
        };
        let mut introduced = match self.stop.run_until_cancelled(shaking).await {
            None => return,
            Some(Ok(introduced)) => introduced,
            Some(Err(error)) => return log_failed(remote, &error, lines),
        };
        let role = introduced.hello.role;
        if let Some(transition) = &introduced.transition
            && let Some(left_out) = lines.strangers.next()
        {
            let (name, until) = (&introduced.hello.name, transition.until());
            tracing::warn!(%remote, "{role} {name:?} has no secret, and needs one from {until} on{left_out}");
        }
        let permit = match connection_limits.take(role, machine) {
            Ok(permit) => permit,
            Err(full) => return log_full(remote, role, full, lines),
        };
        drop(occupant);
        introduced.reader.charge(permit.partial());
        if let Some(ConversationServer { conversations, .. }) =
            server.as_ref().filter(|server| server.role == role)
        {
            let conversation = Conversation::new(introduced, remote, permit);
            // If the receiver is gone, the conversation ends here.
            let _ = self.stop.run_until_cancelled(conversations.send(conversation)).await;
            return;
        }
        let decode =
            accepted_roles.iter().find(|accepted| accepted.role == role).map(|accepted| accepted.decode);
        let decode = decode.expect("the handshake lets in nobody else");
        let home = home.as_ref().filter(|_| urgency_of(role) == Urgency::Ordinary);
        let moved = match home {
            Some(home) => introduced.moved_to(home),
            None => Ok(introduced),
        };
        let introduced = match moved {
            Ok(introduced) => introduced,
            Err(error) => return log_failed(remote, &error.into(), lines),
        };
        let first_within = Some(FIRST_MESSAGE_TIMEOUT);
        let accepted_peer = AcceptedPeer { introduced, remote, decode, first_within, permit: Some(permit) };
        let Some(serving) = self.open(self.next_id(), accepted_peer, None) else { return };
        // A task of its own, so that the memory of the handshake is given back.
        match home {
            Some(home) => self.tasks.spawn_on(serving, home),
            None => self.tasks.spawn(serving),
        };
    }
}

/// The first byte that the peer sends, or `None` at the end of the connection. The byte stays in the socket.
async fn first_byte(stream: &TcpStream, occupant: &Occupant) -> Result<Option<u8>, HandshakeError> {
    let mut byte = [0];
    tokio::select! {
        first = timeout(HANDSHAKE_TIMEOUT, stream.peek(&mut byte)) => match first {
            Ok(first) => Ok((first? > 0).then_some(byte[0])),
            Err(_) => Err(HandshakeError::Mute),
        },
        () = occupant.has_to_leave() => Err(HandshakeError::CrowdedOut),
    }
}

/// Ends a connection while its peer is still sending, without losing the response. If the connection were closed at
/// once, the peer's next write would fail, and the peer would not learn that it was refused. Spark's REST client must
/// learn this: it tries the classic gateway only after its whole request was sent.
async fn drain(mut stream: TcpStream, occupant: &Occupant) {
    let reading_all = async {
        stream.shutdown().await?;
        io::copy(&mut stream.take(MAX_FRAME as u64), &mut io::sink()).await
    };
    tokio::select! {
        // The result does not matter.
        _ = timeout(HANDSHAKE_TIMEOUT, reading_all) => {}
        () = occupant.has_to_leave() => {}
    }
}

/// Sets the usual socket options on a connection of another protocol, and moves it to this runtime.
fn configured(stream: TcpStream, home: Option<&Handle>) -> io::Result<TcpStream> {
    socket::configure(&stream)?;
    let Some(home) = home else { return Ok(stream) };
    let stream = stream.into_std()?;
    let _entered = home.enter();
    TcpStream::from_std(stream)
}

/// Logs a failed handshake in one line. Port scanners cause no warnings.
fn log_failed(remote: SocketAddr, error: &HandshakeError, lines: &Lines) {
    match error.peer_kind() {
        PeerKind::Probe => tracing::debug!(%remote, "connection ended before the handshake: {error}"),
        PeerKind::Foreign => {
            if let Some(left_out) = lines.foreign.next() {
                tracing::info!(%remote, "connection closed: {error}{left_out}");
            }
        }
        PeerKind::Incompatible => {
            if let Some(left_out) = lines.incompatible.next() {
                tracing::warn!(%remote, "connection rejected: {error}{left_out}");
            }
        }
    }
}

fn log_full(remote: SocketAddr, role: Role, full: LimitReached, lines: &Lines) {
    if let Some(left_out) = lines.full.next() {
        tracing::warn!(%remote, "a {role} is turned away: {full}{left_out}");
    }
}
