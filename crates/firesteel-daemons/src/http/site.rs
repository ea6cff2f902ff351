//! A site: the pages and data that are served to browsers and monitors.

use std::net::IpAddr;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};

use super::answer::Answer;
use super::question::Question;
use super::server::{HttpMeter, Responder};

/// The maximum length of a submitted form, in bytes.
pub(super) const LONGEST_FORM: usize = 64 << 10;

/// The responses of a daemon.
pub(crate) trait Site: Send + Sync + 'static {
    fn answer(&self, question: &Question, meter: &HttpMeter) -> impl Future<Output = Answer> + Send;

    /// Whether this path accepts forms. Requests to other paths cannot change anything.
    fn takes_forms(&self, path: &str) -> bool;
}

/// Responds to GET and HEAD requests, and to forms where the site accepts them.
impl<S: Site> Responder for S {
    const SERVES: &'static str = "pages, JSON, health and metrics";
    const PORT_SETTING: &'static str = "--webui-port (0: any free one; none: no HTTP)";

    /// The response to a request. The body is read only at paths that accept forms.
    async fn respond(&self, request: Request<Incoming>, from: IpAddr, meter: &HttpMeter) -> Answer {
        let is_read = [Method::GET, Method::HEAD].contains(request.method());
        let is_form = request.method() == Method::POST && self.takes_forms(request.uri().path());
        let (head, body) = request.into_parts();
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
