//! Accepts connections, reads a request from each, and writes the response. Knows no paths.
//!
//! Limits apply to the number of connections, the length and the duration of a request, and the bytes of unread
//! responses. One connection carries one request, so no connection is idle. At the connection limit, silent connections
//! are closed.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use firesteel_host::daemon;
use firesteel_host::meter::Counter;
use firesteel_host::rate_limiter::RateLimiter;
use firesteel_host::runtime;
use firesteel_protocol::address::Address;
use firesteel_settings::http::{HttpPort, HttpSettings};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue, LOCATION,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use nix::sys::resource::{Resource, getrlimit};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::answer::Answer;

/// The maximum number of connections. It is lower if the limit of open files requires it.
const PLACES: usize = 512;

/// How long a connection may be silent while other connections wait for its permit.
const CROWDED: Duration = Duration::from_millis(250);

/// How long a request may take to arrive completely.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection may last after its request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

const LONGEST_HEAD: usize = 16 << 10;

const MOST_HEADERS: usize = 64;

/// The maximum size of unread responses in total, in KiB. A single response may be longer.
const UNREAD: usize = 64 << 10;

/// The content security policy of pages: style sheets, scripts, pictures and form targets of this server only. So
/// script that an attacker has put into the text of a page does not run.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'self'";

/// Responds to requests of all methods.
pub(crate) trait Responder: Send + Sync + 'static {
    /// The name of what the server serves, for the log.
    const SERVES: &'static str;
    const PORT_SETTING: &'static str;

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
        let url = format!("http://{address}/");
        let end = CancellationToken::new();
        let until = end.clone();
        let failed = |error| HttpError::Io { address: address.clone(), error };
        let serving = async move {
            let accepting = async {
                match tokio::net::TcpListener::from_std(listener) {
                    Ok(listener) => accept(listener, site).await,
                    Err(error) => tracing::error!("cannot serve HTTP: {error}"),
                }
            };
            until.run_until_cancelled(accepting).await;
        };
        runtime::on_own_thread("http", serving).map_err(failed)?;
        tracing::info!("serving {} at {url}", R::SERVES);
        Ok(Some(Self { url, local, _end: end.drop_guard() }))
    }

    /// The URL of the server, `http://host:port/`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }
}

/// Listens on the first of these ports that is free. After 65535 the ports continue from 1024, as in Spark.
async fn bind(
    host: &str,
    first: u16,
    retries: u16,
    setting: &'static str,
) -> Result<(TcpListener, SocketAddr), HttpError> {
    let retries = if first == 0 { 0 } else { retries };
    for retry in 0..=retries {
        let port = nth_port(first, retry);
        let failed = |error| HttpError::Io { address: Address::new(host.to_owned(), port), error };
        let candidates: Vec<SocketAddr> = lookup_host((host, port)).await.map_err(failed)?.collect();
        match TcpListener::bind(&candidates[..]) {
            Ok(listener) => {
                listener.set_nonblocking(true).map_err(failed)?;
                let local = listener.local_addr().map_err(failed)?;
                return Ok((listener, local));
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                tracing::debug!("port {port} for HTTP is in use");
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Err(HttpError::InUse { host: host.to_owned(), first, retries, setting })
}

/// The port to try after this number of retries. Source: Spark Utils.userPort, 4.0.1.
fn nth_port(first: u16, retry: u16) -> u16 {
    let port = u32::from(first) + u32::from(retry);
    let port = if port > u32::from(u16::MAX) { (port - 1024) % (65_536 - 1024) + 1024 } else { port };
    u16::try_from(port).expect("it is below 65536")
}

struct Shared<S> {
    site: Arc<S>,
    meter: HttpMeter,
    /// Notifies silent connections that another connection waits for a permit.
    crowd: Notify,
    unread: Arc<Semaphore>,
}

async fn accept<S: Responder>(listener: tokio::net::TcpListener, site: Arc<S>) {
    let open_files = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
    let places = PLACES.min(usize::try_from(open_files / 16).unwrap_or(PLACES)).max(1);
    let places = Arc::new(Semaphore::new(places));
    let unread = Arc::new(Semaphore::new(UNREAD));
    let shared = Arc::new(Shared { site, meter: HttpMeter::default(), crowd: Notify::new(), unread });
    let errors = RateLimiter::per_minute(1);
    loop {
        let place = loop {
            match timeout(CROWDED / 4, Arc::clone(&places).acquire_owned()).await {
                Ok(place) => break place,
                Err(_) => shared.crowd.notify_waiters(),
            }
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    shared.meter.accepted.add(1);
                    serve(stream, &shared).await;
                    shared.meter.ended.add(1);
                    drop(place);
                });
            }
            Err(error) => {
                if let Some(left_out) = errors.next() {
                    tracing::warn!("cannot accept connections for HTTP: {error}; retrying{left_out}");
                }
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve<S: Responder>(stream: TcpStream, shared: &Arc<Shared<S>>) {
    let has_asked = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&has_asked);
    let from = stream.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
    let service = service_fn(move |request| {
        asked.store(true, Ordering::Relaxed);
        respond(request, from, Arc::clone(shared))
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .half_close(true)
        .max_headers(MOST_HEADERS)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let is_silent = || !has_asked.load(Ordering::Relaxed);
    let has_to_leave = async {
        let crowded_out = async {
            sleep(CROWDED).await;
            shared.crowd.notified().await;
        };
        let _ = timeout(REQUEST_TIMEOUT, crowded_out).await;
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

async fn respond<S: Responder>(
    request: Request<Incoming>,
    from: IpAddr,
    shared: Arc<Shared<S>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let answer = shared.site.respond(request, from, &shared.meter).await;
    let kib = (answer.body.len() / 1024).min(UNREAD);
    let room = u32::try_from(kib).expect("it is at most UNREAD");
    let (answer, held) = match Arc::clone(&shared.unread).try_acquire_many_owned(room) {
        Ok(held) => (answer, Some(held)),
        Err(_) => {
            let reason = "crowded: too much of other answers has not been read yet; try again";
            (Answer::unavailable(reason), None)
        }
    };
    let Answer { status, content_type, body, location, version } = answer;
    if let Some(counter) = shared.meter.answers.get(usize::from(status.as_u16() / 100).saturating_sub(1)) {
        counter.add(1);
    }
    let body = Bytes::from_owner(Body { text: body, _held: held });
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
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    Ok(response)
}

/// The text of a response, and the part of the limit on unread bytes that this text takes.
struct Body {
    text: String,
    _held: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::http::question::Question;
    use crate::http::site::{LONGEST_FORM, Site};

    struct Echo;

    impl Site for Echo {
        async fn answer(&self, question: &Question, _: &HttpMeter) -> Answer {
            match (question.path.as_str(), &question.form) {
                ("/long", _) => Answer::json("x".repeat(4 << 20)),
                (path, None) => Answer::line(StatusCode::OK, path),
                (_, Some(form)) => Answer::line(StatusCode::OK, form.get("id").unwrap_or("none")),
            }
        }

        fn takes_forms(&self, path: &str) -> bool {
            path == "/form/"
        }
    }

    async fn started() -> (Server, String) {
        let settings = HttpSettings { port: HttpPort::Chosen(0), retries: 0 };
        let server = Server::start("127.0.0.1", settings, Arc::new(Echo)).await.expect("it starts");
        let server = server.expect("it is wanted");
        let address = server.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
        (server, address)
    }

    async fn asked(address: &str, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let _ = stream.write_all(request).await;
        let mut text = Vec::new();
        // A connection that is reset has been read completely.
        let _ = timeout(Duration::from_secs(20), stream.read_to_end(&mut text)).await.expect("it ends");
        String::from_utf8_lossy(&text).into_owned()
    }

    #[tokio::test]
    async fn requests_are_answered_and_others_refused() {
        let (_server, address) = started().await;
        let get = asked(&address, b"GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n").await;
        assert!(get.starts_with("HTTP/1.1 200 OK\r\n") && get.ends_with("\r\n\r\n/a\n"), "{get}");
        assert!(get.contains("connection: close"), "{get}");
        let head = asked(&address, b"HEAD /long HTTP/1.0\r\n\r\n").await;
        assert!(head.contains("content-length: 4194304\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        let long = asked(&address, b"GET /long HTTP/1.0\r\n\r\n").await;
        assert!(long.len() > 4 << 20);
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "X"] {
            let request = format!("{method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}");
            let refused = asked(&address, request.as_bytes()).await;
            assert!(refused.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"), "{refused}");
            assert!(refused.contains("allow: GET, HEAD\r\n"), "{refused}");
        }
    }

    #[tokio::test]
    async fn forms_are_read_where_they_are_taken_and_may_not_be_long() {
        let (_server, address) = started().await;
        let post = |form: &str| {
            let length = form.len();
            format!("POST /form/ HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{form}")
        };
        let answer = asked(&address, post("a=b&id=app-1").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\napp-1\n"), "{answer}");
        assert!(answer.contains("content-security-policy: default-src 'none';"), "{answer}");
        let long = asked(&address, post(&"x".repeat(LONGEST_FORM + 1)).as_bytes()).await;
        assert!(long.is_empty() || long.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{long}");
    }

    #[tokio::test]
    async fn garbage_gets_no_answer_but_an_error() {
        let (_server, address) = started().await;
        let many: String = (0..100).map(|number| format!("h{number}: x\r\n")).collect();
        let many = format!("GET / HTTP/1.1\r\n{many}\r\n");
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000));
        let garbage: [&[u8]; 6] = [
            b"\0\0\0\0",
            b"\xf5FSTL\r\n\x05",
            b"GET\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            many.as_bytes(),
            long.as_bytes(),
        ];
        for bytes in garbage {
            let mut stream = TcpStream::connect(&address).await.expect("it listens");
            let _ = stream.write_all(bytes).await;
            let _ = stream.shutdown().await;
            let mut text = Vec::new();
            let _ = timeout(Duration::from_secs(20), stream.read_to_end(&mut text)).await.expect("it ends");
            let text = String::from_utf8_lossy(&text);
            assert!(
                text.is_empty() || text.starts_with("HTTP/1.1 4") || text.starts_with("HTTP/1.1 5"),
                "{text}"
            );
        }
        assert!(asked(&address, b"GET / HTTP/1.0\r\n\r\n").await.contains(" 200 "));
    }

    #[tokio::test]
    async fn a_thousand_who_say_nothing_leave_room_for_one_who_asks() {
        let (_server, address) = started().await;
        let mut idle = Vec::new();
        for _ in 0..1000 {
            idle.push(TcpStream::connect(&address).await.expect("it listens"));
        }
        let begun = std::time::Instant::now();
        let answer = asked(&address, b"GET /livez HTTP/1.0\r\n\r\n").await;
        assert!(answer.contains(" 200 "), "{answer}");
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn the_next_ports_are_tried_and_a_default_port_may_be_missing() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let first = taken.local_addr().expect("it is bound").port();
        let start =
            |port, retries| Server::start("127.0.0.1", HttpSettings { port, retries }, Arc::new(Echo));
        assert!(start(HttpPort::Default(first), 0).await.expect("it is not needed").is_none());
        assert!(start(HttpPort::Off, 0).await.expect("it is not wanted").is_none());
        let error = start(HttpPort::Chosen(first), 0).await.expect_err("it is needed").to_string();
        assert!(
            error.contains(&format!("port {first} is in use")) && error.contains("--webui-port"),
            "{error}"
        );
        let server = start(HttpPort::Chosen(first), 50).await.expect("one is free").expect("it is wanted");
        assert_ne!(server.url(), format!("http://127.0.0.1:{first}/"));
        assert_eq!((nth_port(8080, 3), nth_port(65_535, 0), nth_port(65_535, 1)), (8083, 65_535, 1024));
    }
}
