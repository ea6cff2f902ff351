//! Tests of the server with requests that are whole, odd, or never come.

use std::net::TcpListener;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::arrivals::nth_port;
use super::*;
use crate::http::names::Names;
use crate::http::question::Question;
use crate::http::site::{LONGEST_FORM, Site};

struct Echo(Names);

impl Echo {
    fn new() -> Arc<Self> {
        Arc::new(Self(Names::of_worker(["x"])))
    }
}

impl Site for Echo {
    async fn answer(&self, question: &Question, _: &HttpMeter) -> Answer {
        match (question.path.as_str(), &question.form) {
            ("/long", _) => Answer::json("x".repeat(4 << 20)),
            (path, None) => Answer::line(StatusCode::OK, path),
            (_, Some(form)) => Answer::line(StatusCode::OK, form.get("id").unwrap_or("none")),
        }
    }

    fn names(&self) -> &Names {
        &self.0
    }

    fn takes_forms(&self, path: &str) -> bool {
        path == "/form/"
    }

    fn is_for_monitors(&self, path: &str) -> bool {
        path == "/livez"
    }
}

async fn started() -> (Server, String) {
    let settings = HttpSettings { port: HttpPort::Chosen(0), retries: 0, tls: None, token_key: None };
    let server = Server::start("127.0.0.1", settings, Passwords::NONE, Echo::new()).await.expect("it starts");
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
    let head = asked(&address, b"HEAD /long HTTP/1.0\r\nHost: x\r\n\r\n").await;
    assert!(head.contains("content-length: 4194304\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    let long = asked(&address, b"GET /long HTTP/1.0\r\nHost: x\r\n\r\n").await;
    assert!(long.len() > 4 << 20);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "X"] {
        let request = format!("{method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}");
        let refused = asked(&address, request.as_bytes()).await;
        assert!(refused.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"), "{refused}");
        assert!(refused.contains("allow: GET, HEAD\r\n"), "{refused}");
    }
}

#[tokio::test]
async fn a_request_by_a_foreign_name_is_answered_only_where_nothing_can_be_read() {
    let (_server, address) = started().await;
    let status = async |path: &str, host: &str| {
        let answer = asked(&address, format!("GET {path} HTTP/1.1\r\n{host}\r\n").as_bytes()).await;
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    for host in ["Host: evil.example\r\n", "Host: evil.example:80\r\n", "Host: \r\n", ""] {
        for path in ["/", "/long", "/logPage/?a=b", "/json/", "/livez/more"] {
            assert_eq!(status(path, host).await, "421", "{path} {host}");
        }
        for path in ["/livez", "/healthz/", "/readyz"] {
            assert_eq!(status(path, host).await, "200", "{path} {host}");
        }
    }
    for host in ["Host: x\r\n", "Host: localhost:1\r\n", "Host: 10.0.0.7\r\n", "Host: [::1]:80\r\n"] {
        assert_eq!(status("/logPage/", host).await, "200", "{host}");
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
    assert!(asked(&address, b"GET / HTTP/1.0\r\nHost: x\r\n\r\n").await.contains(" 200 "));
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

/// Forms whose head has arrived and whose body comes slowly, as many as a program likes.
#[tokio::test]
async fn slow_forms_of_one_machine_leave_monitors_their_places() {
    let (_server, address) = started().await;
    let mut forms = Vec::new();
    for _ in 0..600 {
        let mut form = TcpStream::connect(&address).await.expect("it listens");
        let head = b"POST /form/ HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\na=b";
        form.write_all(head).await.expect("it is connected");
        forms.push(form);
    }
    let begun = std::time::Instant::now();
    let answer = asked(&address, b"GET /livez HTTP/1.0\r\nHost: x\r\n\r\n").await;
    assert!(answer.contains(" 200 "), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let refused = asked(&address, b"GET /a HTTP/1.0\r\nHost: x\r\n\r\n").await;
    assert!(refused.contains(" 503 ") && refused.contains("crowded"), "{refused}");
    drop(forms);
    while !asked(&address, b"GET /a HTTP/1.0\r\nHost: x\r\n\r\n").await.contains(" 200 ") {}
}

#[tokio::test]
async fn the_next_ports_are_tried_and_a_default_port_may_be_missing() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let first = taken.local_addr().expect("it is bound").port();
    let start = |port, retries| {
        Server::start(
            "127.0.0.1",
            HttpSettings { port, retries, tls: None, token_key: None },
            Passwords::NONE,
            Echo::new(),
        )
    };
    assert!(start(HttpPort::Default(first), 0).await.expect("it is not needed").is_none());
    assert!(start(HttpPort::Off, 0).await.expect("it is not wanted").is_none());
    let error = start(HttpPort::Chosen(first), 0).await.expect_err("it is needed").to_string();
    assert!(error.contains(&format!("port {first} is in use")) && error.contains("--webui-port"), "{error}");
    let server = start(HttpPort::Chosen(first), 50).await.expect("one is free").expect("it is wanted");
    assert_ne!(server.url(), format!("http://127.0.0.1:{first}/"));
    assert_eq!((nth_port(8080, 3), nth_port(65_535, 0), nth_port(65_535, 1)), (8083, 65_535, 1024));
}
