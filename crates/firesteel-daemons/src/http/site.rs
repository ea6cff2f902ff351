//! A site: what is served to browsers and monitors. It is read, and takes forms where it says so.

use std::net::IpAddr;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};

use super::answer::Answer;
use super::question::Question;
use super::server::{HttpMeter, Responder};

/// The longest form that a request may send, in bytes.
pub(super) const LONGEST_FORM: usize = 64 << 10;

/// What a daemon answers.
pub(crate) trait Site: Send + Sync + 'static {
    /// The answer to a request.
    fn answer(&self, question: &Question, meter: &HttpMeter) -> impl Future<Output = Answer> + Send;

    /// Whether forms are sent to this path. At all other paths nothing can be changed.
    fn takes_forms(&self, path: &str) -> bool;
}

/// A site is read, and takes forms where it says so.
impl<S: Site> Responder for S {
    const SERVES: &'static str = "pages, JSON, health and metrics";
    const PORT_SETTING: &'static str = "--webui-port (0: any free one; none: no HTTP)";

    /// The answer. A body is read only at paths that take forms.
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
