//! A site: the pages and data that are served to browsers and monitors.

use std::net::IpAddr;

use firesteel_host::plain;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};

use super::answer::Answer;
use super::names::Names;
use super::question::{Question, called};
use super::server::{HttpMeter, Responder};

/// The paths that answer under any name, since they tell nothing but whether the daemon works.
const PROBES: [&str; 3] = ["/livez", "/healthz", "/readyz"];

/// The maximum length of a submitted form, in bytes.
pub(super) const LONGEST_FORM: usize = 64 << 10;

/// The responses of a daemon.
pub(crate) trait Site: Send + Sync + 'static {
    fn answer(&self, question: &Question, meter: &HttpMeter) -> impl Future<Output = Answer> + Send;

    /// The host names that requests may use for the daemon.
    fn names(&self) -> &Names;

    /// Whether this path accepts forms. Requests to other paths cannot change anything.
    fn takes_forms(&self, path: &str) -> bool;

    /// Whether this path is for monitors: health and metrics.
    fn is_for_monitors(&self, path: &str) -> bool {
        ["/livez", "/healthz", "/readyz", "/metrics"].contains(&path)
    }
}

/// Responds to GET and HEAD requests, and to forms where the site accepts them.
impl<S: Site> Responder for S {
    const SERVES: &'static str = "pages, JSON, health and metrics";
    const PORT_SETTING: &'static str = "--webui-port (0: any free one; none: no HTTP)";
    const HAS_READERS: bool = true;

    fn is_probe(&self, path: &str) -> bool {
        PROBES.contains(&path.trim_end_matches('/'))
    }

    fn is_for_monitors(&self, path: &str) -> bool {
        Site::is_for_monitors(self, path)
    }

    /// The response to a request. The body is read only at paths that accept forms.
    async fn respond(&self, request: Request<Incoming>, from: IpAddr, meter: &HttpMeter) -> Answer {
        let is_read = [Method::GET, Method::HEAD].contains(request.method());
        let is_form = request.method() == Method::POST && self.takes_forms(request.uri().path());
        let (head, body) = request.into_parts();
        let refused = match self.is_probe(head.uri.path()) {
            true => None,
            false => self.names().refuse(&called(&head)),
        };
        if let Some(words) = refused {
            return Answer::line(StatusCode::MISDIRECTED_REQUEST, &plain::clean(&words));
        }
        let form = match is_form {
            true => Limited::new(body, LONGEST_FORM).collect().await.map(|form| Some(form.to_bytes())),
            false => Ok(None),
        };
        match form {
            Ok(form) if is_read || is_form => {
                self.answer(&Question::of(&head, form.as_deref(), from), meter).await
            }
            Ok(_) => Answer::line(StatusCode::METHOD_NOT_ALLOWED, "Only GET and HEAD are served here."),
            Err(error) => {
                let line = format!("The form cannot be read: {error}. It may have {LONGEST_FORM} bytes.");
                Answer::line(StatusCode::BAD_REQUEST, &line)
            }
        }
    }
}
