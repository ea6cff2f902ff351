//! Reads the state of the cluster's nodes from the ResourceManager's pages.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The time limit for the response with a page.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of active nodes. `None` while the ResourceManager's pages do not answer.
pub(super) fn active_nodes(pages: &str) -> Option<usize> {
    let text = get(pages, "metrics").ok()?;
    let (_, rest) = text.split_once("\"activeNodes\":")?;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Whether the node on this host is active. `None` while the ResourceManager's pages do not answer.
pub(super) fn is_active(pages: &str, host: &str) -> Option<bool> {
    let text = get(pages, "nodes?states=RUNNING").ok()?;
    Some(text.contains(&format!("\"nodeHostName\":\"{host}\"")))
}

/// Gets a page with its headers. This simple HTTP client is sufficient, and the crate has no other.
fn get(pages: &str, path: &str) -> io::Result<String> {
    let address: SocketAddr = pages.parse().map_err(io::Error::other)?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request =
        format!("GET /ws/v1/cluster/{path} HTTP/1.0\r\nHost: {pages}\r\nAccept: application/json\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    match text.lines().next().is_some_and(|status| status.contains(" 200 ")) {
        true => Ok(text),
        false => Err(io::Error::other("another status than 200")),
    }
}
