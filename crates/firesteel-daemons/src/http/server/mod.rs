//! Accepts connections, reads a request from each, and writes the response. Knows no paths.
//!
//! Limits apply to the number of connections, the length and the duration of a request, and the bytes of unread
//! responses. One connection carries one request, so no connection is idle. A connection takes a place at the entrance
//! until its request is known, and then another one, which machines share. Requests of monitors have places of their
//! own, so a server that is full still says that it lives.
//!
//! Connections come from a port of the server's own, or from the port of the daemon's own protocol.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use firesteel_host::daemon;
use firesteel_host::meter::Counter;
use firesteel_host::net::OtherProtocolConnection;
use firesteel_host::places::{Entrance, Machine, Occupant, Share, Shares, machine_of};
use firesteel_host::rate_limiter::RateLimiter;
use firesteel_host::runtime;
use firesteel_protocol::address::Address;
use firesteel_protocol::secret::Secret;
use firesteel_settings::http::{HttpPort, HttpSettings};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue, LOCATION,
    REFERRER_POLICY, SET_COOKIE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use nix::sys::resource::{Resource, getrlimit};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_util::either::Either;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::answer::{Answer, HTML};
use super::password::{Passwords, Sender};
use super::sessions::Sessions;
use super::sign_in::{self, Form, Visitor};
use crate::tls::{Tls, TlsError};

mod arrivals;
#[cfg(test)]
mod tests;

use arrivals::{Arrivals, bind, encrypted};

/// The maximum number of connections whose request is not known yet. It is lower if the limit of open files requires
/// it.
const ENTERING: usize = 256;

/// The maximum number of connections with a request. It is lower if the limit of open files requires it.
const PLACES: usize = 256;

/// The maximum number of connections with a request of a monitor.
const MONITORS: usize = 32;

/// How long a request may take to arrive completely.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection may last after its request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

const LONGEST_HEAD: usize = 16 << 10;

const MOST_HEADERS: usize = 64;

/// The maximum size of unread responses in total, in KiB. A single response may be longer.
const UNREAD: usize = 64 << 10;

/// The answer to a request without a right password.
const NO_PASSWORD: &str = "This needs a password, which firesteel secret password FILE prints, or a token. Any name of a \
                           user will do.";

/// The content security policy of pages: style sheets, scripts, pictures and form targets of this server only, and the
/// style of the page on which readers sign in. So script that an attacker has put into the text of a page does not run.
pub(super) const POLICY: &str = "default-src 'none'; \
                      style-src 'self' 'sha256-Y1i/HaXMiu5vdd+wX8gFBikGnFVeX5m8zJJh30pXlBM='; \
                      script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'";

/// Responds to requests of all methods.
pub(crate) trait Responder: Send + Sync + 'static {
    /// The name of what the server serves, for the log.
    const SERVES: &'static str;
    const PORT_SETTING: &'static str;
    /// Whether people read what the server serves, who sign in on a page.
    const HAS_READERS: bool = false;

    /// Whether this path tells nothing but whether the daemon works. It needs no password.
    fn is_probe(&self, _path: &str) -> bool {
        false
    }

    /// The passwords for this path. `None`: those of the server.
    fn passwords(&self, _path: &str) -> Option<&Passwords> {
        None
    }

    /// Whether the connection of this request ends without a response, after the whole request was read.
    fn is_unanswered(&self, _path: &str) -> bool {
        false
    }

    /// Whether this path is for monitors, which must get an answer while the server is full.
    fn is_for_monitors(&self, _path: &str) -> bool {
        false
    }

    /// The response to a request, whose extensions have the [`Sender`](super::password::Sender).
    fn respond(
        &self,
        request: Request<Incoming>,
        from: IpAddr,
        meter: &HttpMeter,
    ) -> impl Future<Output = Answer> + Send;
}

#[derive(Debug, Default)]
pub(crate) struct HttpMeter {
    accepted: Counter,
    ended: Counter,
    /// Connections that ended without a request.
    pub(super) silent: Counter,
    /// The number of responses by the first digit of their status. The first entry counts 1xx.
    pub(super) answers: [Counter; 5],
}

impl HttpMeter {
    pub(super) fn connections(&self) -> u64 {
        let ended = self.ended.get();
        self.accepted.get().saturating_sub(ended)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error(
        "cannot serve HTTP on {host}: port {first} is in use, and so are the {retries} after it: choose another one with \
         {setting}"
    )]
    InUse {
        host: String,
        first: u16,
        retries: u16,
        /// The setting that chooses another port.
        setting: &'static str,
    },
    /// The files of HTTPS cannot be used.
    #[error("cannot serve HTTPS: {0}")]
    Tls(#[from] TlsError),
    /// The server cannot listen on the host or the port, or the system gives no thread.
    #[error("cannot serve HTTP on {address}: {error}")]
    Io {
        address: Address,
        #[source]
        error: io::Error,
    },
}

#[derive(Debug)]
pub(crate) struct Server {
    url: String,
    local: SocketAddr,
    _end: DropGuard,
}

impl Server {
    /// Starts a server on this host. `None` if the settings turn the server off. Also `None` if all ports are in use
    /// and the settings do not ask for a server.
    pub(crate) async fn start<R: Responder>(
        host: &str,
        settings: HttpSettings,
        passwords: Passwords,
        site: Arc<R>,
    ) -> Result<Option<Self>, HttpError> {
        let (first, is_chosen) = match settings.port {
            HttpPort::Off => return Ok(None),
            HttpPort::Default(port) => (port, false),
            HttpPort::Chosen(port) => (port, true),
        };
        let (listener, local) = match bind(host, first, settings.retries, R::PORT_SETTING).await {
            Ok(bound) => bound,
            Err(error @ HttpError::InUse { .. }) if !is_chosen => {
                tracing::warn!("{error}");
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let address = daemon::reachable(host, local.port());
        let tls = settings.tls.map(Tls::of).transpose()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{address}/");
        let end = CancellationToken::new();
        let until = end.clone();
        let failed = |error| HttpError::Io { address: address.clone(), error };
        let serving = async move {
            let accepting = async {
                match tokio::net::TcpListener::from_std(listener) {
                    Ok(listener) => {
                        let shared = Shared::new(site, passwords, tls, local.port());
                        accept(Arrivals::AtPort(listener), shared).await;
                    }
                    Err(error) => tracing::error!("cannot serve HTTP: {error}"),
                }
            };
            until.run_until_cancelled(accepting).await;
        };
        runtime::on_own_thread("http", serving).map_err(failed)?;
        tracing::info!("serving {} at {url}", R::SERVES);
        Ok(Some(Self { url, local, _end: end.drop_guard() }))
    }

    /// Serves connections that have come to the port of the daemon's own protocol, at this address. They arrive through
    /// the returned channel, and are served until it closes.
    pub(crate) fn at_rpc_port<R: Responder>(
        rpc: SocketAddr,
        passwords: Passwords,
        site: R,
    ) -> Result<mpsc::Sender<OtherProtocolConnection>, HttpError> {
        let (sender, arrivals) = Arrivals::at_rpc_port();
        let serving = async move {
            let shared = Shared::new(Arc::new(site), passwords, None, rpc.port());
            accept(arrivals, shared).await;
        };
        let failed = |error| HttpError::Io { address: Address::new(rpc.ip().to_string(), rpc.port()), error };
        runtime::on_own_thread("http-rpc", serving).map_err(failed)?;
        Ok(sender)
    }

    /// The URL of the server, `http://host:port/` or `https://host:port/`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }
}

struct Shared<S> {
    site: Arc<S>,
    passwords: Passwords,
    sessions: Sessions,
    tls: Option<Tls>,
    meter: HttpMeter,
    entrance: Arc<Entrance>,
    places: Arc<Shares>,
    for_monitors: Arc<Shares>,
    unread: Arc<Semaphore>,
}

impl<S: Responder> Shared<S> {
    fn new(site: Arc<S>, passwords: Passwords, tls: Option<Tls>, port: u16) -> Self {
        let open_files = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
        let share = usize::try_from(open_files / 32).unwrap_or(usize::MAX).max(1);
        Self {
            site,
            passwords,
            sessions: Sessions::new(port, tls.is_some()),
            tls,
            meter: HttpMeter::default(),
            entrance: Entrance::new(ENTERING.min(share)),
            places: Shares::new(PLACES.min(share)),
            for_monitors: Shares::new(MONITORS),
            unread: Arc::new(Semaphore::new(UNREAD)),
        }
    }

    /// Who sends a request for this path with these headers, as a password or a cookie shows.
    fn sender(&self, path: &str, headers: &HeaderMap) -> Option<Sender> {
        if let Some(passwords) = self.site.passwords(path) {
            return passwords.sender(headers);
        }
        let by_cookie = || {
            let password = self.sessions.password(headers, Instant::now())?;
            self.passwords.of_password(password.reveal())
        };
        self.passwords.sender(headers).or_else(by_cookie)
    }

    async fn sign_in(&self, request: Request<Incoming>, from: IpAddr, is_signed_in: bool) -> Answer {
        let path = request.uri().path().to_owned();
        if request.method() != Method::POST {
            return sign_in::page(&path, "", if is_signed_in { Visitor::SignedIn } else { Visitor::New });
        }
        let headers = request.headers().clone();
        match sign_in::read(request, from).await {
            Ok(Form::SignIn { password, to }) if self.passwords.of_password(&password).is_some() => {
                let cookie = self.sessions.begin(Secret::new(password), Instant::now());
                Answer { cookie: Some(cookie), ..sign_in::see(&to) }
            }
            Ok(Form::SignIn { to, .. }) => sign_in::page(&path, &to, Visitor::Mistaken),
            Ok(Form::SignOut) => {
                Answer { cookie: Some(self.sessions.end(&headers)), ..sign_in::see("signin/") }
            }
            Err(answer) => answer,
        }
    }
}

async fn accept<S: Responder>(mut arrivals: Arrivals, shared: Shared<S>) {
    let shared = Arc::new(shared);
    let errors = RateLimiter::per_minute(1);
    loop {
        let place = shared.entrance.place().await;
        match arrivals.next().await {
            None => return,
            Some(Ok((stream, remote, permit))) => {
                let shared = Arc::clone(&shared);
                let machine = machine_of(stream.local_addr(), remote);
                let occupant = shared.entrance.enter(place, machine);
                tokio::spawn(async move {
                    shared.meter.accepted.add(1);
                    serve(stream, remote.ip(), (machine, occupant), &shared).await;
                    shared.meter.ended.add(1);
                    drop(permit);
                });
            }
            Some(Err(error)) => {
                if let Some(left_out) = errors.next() {
                    tracing::warn!("cannot accept connections for HTTP: {error}; retrying{left_out}");
                }
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve<S: Responder>(
    stream: TcpStream,
    from: IpAddr,
    (machine, occupant): (Machine, Occupant),
    shared: &Arc<Shared<S>>,
) {
    let has_to_make_room = occupant.has_to_leave();
    // The place at the entrance, until the request is known.
    let entering = Arc::new(Mutex::new(Some(occupant)));
    let asking = Arc::clone(&entering);
    let service = service_fn(move |request: Request<Incoming>| {
        drop(locked(&asking).take());
        respond(request, (from, machine), Arc::clone(shared))
    });
    let connection = async {
        let stream = match &shared.tls {
            None => Either::Left(stream),
            Some(tls) => Either::Right(encrypted(tls, stream).await.map_err(|error| error.to_string())?),
        };
        http1::Builder::new()
            .keep_alive(false)
            .half_close(true)
            .max_headers(MOST_HEADERS)
            .max_buf_size(LONGEST_HEAD)
            .serve_connection(TokioIo::new(stream), service)
            .await
            .map_err(|error| error.to_string())
    };
    let is_silent = || locked(&entering).is_some();
    let has_to_leave = async {
        let _ = timeout(REQUEST_TIMEOUT, has_to_make_room).await;
        if !is_silent() {
            sleep(ANSWER_TIMEOUT).await;
        }
    };
    tokio::select! {
        ended = connection => {
            if let Err(error) = ended {
                tracing::debug!("a connection for HTTP failed: {error}");
            }
        }
        () = has_to_leave => {}
    }
    if is_silent() {
        shared.meter.silent.add(1);
    }
}

fn locked(entering: &Mutex<Option<Occupant>>) -> MutexGuard<'_, Option<Occupant>> {
    entering.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connection of a request ends without a response.
#[derive(Debug, thiserror::Error)]
#[error("the request gets no response")]
struct Unanswered;

async fn respond<S: Responder>(
    mut request: Request<Incoming>,
    (from, machine): (IpAddr, Machine),
    shared: Arc<Shared<S>>,
) -> Result<Response<Full<Bytes>>, Unanswered> {
    if shared.site.is_unanswered(request.uri().path()) {
        while let Some(Ok(_)) = request.body_mut().frame().await {}
        return Err(Unanswered);
    }
    let is_for_monitors = shared.site.is_for_monitors(request.uri().path());
    let sender = shared.sender(request.uri().path(), request.headers());
    let is_admitted = sender.is_some() || shared.site.is_probe(request.uri().path());
    let signs_in = S::HAS_READERS
        && shared.passwords.are_needed()
        && request.uri().path().trim_end_matches('/') == sign_in::PATH;
    if let Some(sender) = sender {
        request.extensions_mut().insert(sender);
    }
    let places = if is_for_monitors { &shared.for_monitors } else { &shared.places };
    let (answer, place) = match places.take(machine, 1) {
        Ok(place) if signs_in => (shared.sign_in(request, from, is_admitted).await, Some(place)),
        Ok(place) if is_admitted => (shared.site.respond(request, from, &shared.meter).await, Some(place)),
        Ok(place) if S::HAS_READERS && sign_in::is_by_browser(&request) => {
            let (path, query) = (request.uri().path(), request.uri().query());
            (sign_in::page(path, &sign_in::wanted(path, query), Visitor::New), Some(place))
        }
        Ok(place) => (Answer::line(StatusCode::UNAUTHORIZED, NO_PASSWORD), Some(place)),
        Err(_) => {
            let reason = "crowded: too many other requests of this machine are being answered; try again";
            (Answer::unavailable(reason), None)
        }
    };
    let kib = (answer.body.len() / 1024).min(UNREAD);
    let room = if is_for_monitors { 0 } else { u32::try_from(kib).expect("it is at most UNREAD") };
    let (answer, held) = match Arc::clone(&shared.unread).try_acquire_many_owned(room) {
        Ok(held) => (answer, Some(held)),
        Err(_) => {
            let reason = "crowded: too much of other answers has not been read yet; try again";
            (Answer::unavailable(reason), None)
        }
    };
    let Answer { status, content_type, body, location, version, cookie } = answer;
    if let Some(counter) = shared.meter.answers.get(usize::from(status.as_u16() / 100).saturating_sub(1)) {
        counter.add(1);
    }
    let body = Bytes::from_owner(Body { text: body, _place: place, _held: held });
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    match version.map(|version| HeaderValue::from_str(&version)) {
        Some(Ok(version)) => {
            headers.insert(ETAG, version);
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        }
        Some(Err(_)) | None => {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-store, must-revalidate"));
        }
    }
    if let Some(Ok(location)) = location.map(|location| HeaderValue::from_str(&location)) {
        headers.insert(LOCATION, location);
    }
    if let Some(Ok(cookie)) = cookie.map(|cookie| HeaderValue::from_str(&cookie)) {
        headers.insert(SET_COOKIE, cookie);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
    // A browser shows its reader the page on which he signs in.
    if status == StatusCode::UNAUTHORIZED && content_type != HTML {
        headers.insert(
            WWW_AUTHENTICATE,
            HeaderValue::from_static("Basic realm=\"Firesteel\", charset=\"UTF-8\""),
        );
    }
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    Ok(response)
}

/// The text of a response, and what it takes until the connection ends: a place, and a part of the limit on unread
/// bytes.
struct Body {
    text: String,
    _place: Option<Share>,
    _held: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}
