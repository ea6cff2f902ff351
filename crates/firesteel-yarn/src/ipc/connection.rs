//! One connection with many concurrent calls. Each response carries the number of its call, so responses may come in
//! any order.
//!
//! A task owns the stream: it writes the requests of callers, and reads responses. The task ends when the stream ends,
//! when a response is late, when no call was made for some time, or when the last handle is dropped. Callers that are
//! still waiting then learn whether their calls were delivered.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::error::{CallError, Delivery, IpcError, RemoteError};
use super::frame::{self, FrameError, FrameReader};
use super::greeting::{ClientId, Greeting, PING_CALL, Protocol, header};
use crate::messages::rpc::{RequestHeader, RpcResponseHeader, RpcStatus};

/// The number of calls that may wait to be written. When the queue is full, further callers wait.
const QUEUE: usize = 16;

/// The number of calls that may wait for their responses. Further calls stay in the queue.
const IN_FLIGHT: usize = 256;

/// The number of bytes that may wait to be written. Above this number, calls stay in the queue.
const UNWRITTEN: usize = 1 << 20;

/// How long to continue reading a broken connection, for messages that arrived before it broke.
const LAST_WORDS: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// The timeout for connecting, and for authenticating.
    pub opening: Duration,
    /// The timeout of the response to a call.
    pub answer: Duration,
    /// How long the server may be silent before it is pinged, while a response is due.
    pub ping: Duration,
    /// How long a connection stays open without any call.
    pub idle: Duration,
}

impl Default for Timeouts {
    /// Hadoop's default timeouts.
    fn default() -> Self {
        Self {
            opening: Duration::from_secs(20),
            answer: Duration::from_secs(120),
            ping: Duration::from_secs(60),
            idle: Duration::from_secs(10),
        }
    }
}

/// A handle of a connection. The connection ends when its last handle is dropped.
#[derive(Clone, Debug)]
pub struct Connection {
    calls: mpsc::Sender<Call>,
    ended: Arc<OnceLock<IpcError>>,
}

/// A call that a caller has passed to the connection's task.
struct Call {
    method: &'static str,
    /// The length of the request, and then the request itself.
    request: Bytes,
    answer: oneshot::Sender<Result<Bytes, CallError>>,
}

impl Connection {
    /// Greets a server over an open stream.
    ///
    /// # Errors
    /// The server refuses the greeting, or does not answer it.
    pub async fn open<S>(mut stream: S, greeting: &Greeting, timeouts: Timeouts) -> Result<Self, IpcError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut frames = FrameReader::default();
        let out = timeout(timeouts.opening, greeting.exchange(&mut stream, &mut frames))
            .await
            .map_err(|_| IpcError::TimedOut(timeouts.opening))??;
        let (calls, queue) = mpsc::channel(QUEUE);
        let (reader, writer) = tokio::io::split(stream);
        let now = Instant::now();
        let ended = Arc::new(OnceLock::new());
        let task = Task {
            ended: ended.clone(),
            reader,
            writer,
            frames,
            out,
            queue,
            in_flight: BTreeMap::new(),
            next_call: 0,
            protocol: greeting.protocol,
            client: greeting.client,
            timeouts,
            heard: now,
            used: now,
        };
        tokio::spawn(task.run());
        Ok(Self { calls, ended })
    }

    /// Whether the connection has ended, so that a call cannot succeed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.calls.is_closed()
    }

    /// Calls a method and waits for its response.
    ///
    /// # Errors
    /// The server sends an error, or the connection ends before the response arrives.
    pub async fn call<A: Message + Default>(
        &self,
        method: &'static str,
        request: &impl Message,
    ) -> Result<A, CallError> {
        let fail = |delivery, error| CallError { method, delivery, error };
        let (answer, answered) = oneshot::channel();
        let request = Bytes::from(request.encode_length_delimited_to_vec());
        if self.calls.send(Call { method, request, answer }).await.is_err() {
            return Err(fail(Delivery::NotDelivered, self.end()));
        }
        // If the task drops a call, it has not sent it.
        let answer = answered.await.unwrap_or_else(|_| Err(fail(Delivery::NotDelivered, self.end())));
        A::decode_length_delimited(answer?)
            .map_err(|error| fail(Delivery::Answered, IpcError::broken(error.into())))
    }

    fn end(&self) -> IpcError {
        self.ended.get().cloned().unwrap_or(IpcError::Closed)
    }
}

/// A call that waits for its response.
struct Waiting {
    method: &'static str,
    answer: oneshot::Sender<Result<Bytes, CallError>>,
    due: Instant,
}

struct Task<S> {
    ended: Arc<OnceLock<IpcError>>,
    reader: ReadHalf<S>,
    writer: WriteHalf<S>,
    frames: FrameReader,
    out: BytesMut,
    queue: mpsc::Receiver<Call>,
    in_flight: BTreeMap<u32, Waiting>,
    next_call: u32,
    protocol: Protocol,
    client: ClientId,
    timeouts: Timeouts,
    /// The time when the server last sent something, or was last pinged.
    heard: Instant,
    /// The time when a call was last made or answered.
    used: Instant,
}

/// The ways in which a connection ends without an error.
enum End {
    NobodyCalls,
    Idle,
    Error(IpcError),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Task<S> {
    async fn run(mut self) {
        let end = self.serve().await;
        let error = match end {
            End::NobodyCalls | End::Idle => IpcError::Closed,
            End::Error(error) => error,
        };
        // From here on a caller finds the queue closed. A call that is still in the queue is dropped
        // unwritten. Both get this error.
        self.ended.set(error.clone()).expect("it ends once");
        self.queue.close();
        for waiting in std::mem::take(&mut self.in_flight).into_values() {
            let failure =
                CallError { method: waiting.method, delivery: Delivery::Unknown, error: error.clone() };
            // A caller that gave up does not wait for the failure.
            let _ = waiting.answer.send(Err(failure));
        }
    }

    async fn serve(&mut self) -> End {
        loop {
            let wake = self.wake();
            let room = self.in_flight.len() < IN_FLIGHT && self.out.len() < UNWRITTEN;
            tokio::select! {
                frame = self.frames.next(&mut self.reader) => match frame {
                    Ok(Some(frame)) => if let Err(error) = self.on_frame(frame) {
                        return End::Error(error);
                    },
                    Ok(None) => return End::Error(IpcError::Closed),
                    Err(error) => return End::Error(IpcError::broken(error)),
                },
                written = self.writer.write_buf(&mut self.out), if !self.out.is_empty() => match written {
                    Ok(0) => return End::Error(IpcError::Closed),
                    Ok(_) => {}
                    Err(error) => return self.last_words(error.into()).await,
                },
                call = self.queue.recv(), if room => match call {
                    Some(call) => self.on_call(call),
                    None => return End::NobodyCalls,
                },
                () = sleep_until(wake) => if let Some(end) = self.on_time() {
                    return end;
                },
            }
        }
    }

    /// Reads the messages that arrived before the connection broke. A server may explain in them why it closes the
    /// connection.
    async fn last_words(&mut self, error: FrameError) -> End {
        let last = timeout(LAST_WORDS, async {
            loop {
                match self.frames.next(&mut self.reader).await {
                    Ok(Some(frame)) => self.on_frame(frame)?,
                    Ok(None) | Err(FrameError::Io(_)) => return Ok(()),
                    Err(error) => return Err(IpcError::broken(error)),
                }
            }
        });
        match last.await {
            Ok(Err(objection)) => End::Error(objection),
            Ok(Ok(())) | Err(_) => End::Error(IpcError::broken(error)),
        }
    }

    /// The time at which the timeouts are checked again.
    fn wake(&self) -> Instant {
        match self.in_flight.values().map(|waiting| waiting.due).min() {
            Some(due) => due.min(self.heard + self.timeouts.ping),
            None => self.used + self.timeouts.idle,
        }
    }

    fn on_time(&mut self) -> Option<End> {
        let now = Instant::now();
        if self.in_flight.is_empty() {
            return (now >= self.used + self.timeouts.idle).then_some(End::Idle);
        }
        if self.in_flight.values().any(|waiting| waiting.due <= now) {
            return Some(End::Error(IpcError::TimedOut(self.timeouts.answer)));
        }
        if now >= self.heard + self.timeouts.ping {
            frame::put(&[&header(PING_CALL, -1, &self.client.0)], &mut self.out);
            self.heard = now;
        }
        None
    }

    fn on_call(&mut self, call: Call) {
        let now = Instant::now();
        if self.in_flight.is_empty() {
            self.heard = now;
        }
        self.used = now;
        let number = self.next_call;
        self.next_call = (number + 1) & (u32::MAX >> 1);
        let signed = i32::try_from(number).expect("it has 31 bits");
        let method = RequestHeader {
            method_name: call.method.to_owned(),
            declaring_class_protocol_name: self.protocol.name().to_owned(),
            client_protocol_version: 1,
        };
        frame::put(&[&header(signed, 0, &self.client.0), &method, &Encoded(call.request)], &mut self.out);
        let due = now + self.timeouts.answer;
        self.in_flight.insert(number, Waiting { method: call.method, answer: call.answer, due });
    }

    fn on_frame(&mut self, mut frame: Bytes) -> Result<(), IpcError> {
        self.heard = Instant::now();
        let header: RpcResponseHeader =
            frame::take(&mut frame).map_err(|error| IpcError::broken(error.into()))?;
        let number = header.call_id;
        let answer = match RpcStatus::try_from(header.status) {
            Ok(RpcStatus::Success) => Ok(frame),
            Ok(RpcStatus::Error) => Err(IpcError::Remote(RemoteError::of(header))),
            Ok(RpcStatus::Fatal) | Err(_) => return Err(IpcError::Remote(RemoteError::of(header))),
        };
        // A response without a waiting call repeats an earlier response.
        if let Some(Waiting { method, answer: waiting, .. }) = self.in_flight.remove(&number) {
            self.used = self.heard;
            let answer = answer.map_err(|error| CallError { method, delivery: Delivery::Answered, error });
            let _ = waiting.send(answer);
        }
        Ok(())
    }
}

/// A part of a frame that already includes its length.
struct Encoded(Bytes);

impl frame::Part for Encoded {
    fn put(&self, target: &mut BytesMut) {
        target.extend_from_slice(&self.0);
    }
}
