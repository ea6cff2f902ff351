//! A request, and where it comes from.

use std::net::IpAddr;

use firesteel_host::net::UserName;
use firesteel_protocol::messages::{Requester, Rights};
use hyper::header::{HOST, HeaderName, IF_NONE_MATCH, ORIGIN};
use hyper::http::request::Parts;

use super::password::Sender;
use super::query::Query;

#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(super) path: String,
    pub(super) query: Query,
    pub(super) form: Option<Query>,
    /// The version of a file that the browser has.
    pub(super) has_version: Option<String>,
    /// The origin of the page that sent the form, as the browser reports it.
    pub(super) origin: Origin,
    pub(super) from: IpAddr,
    /// Who sends the request, and with which rights.
    pub(super) by: Requester,
}

/// The origin of the page that sent a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The page came from this server, or the browser does not report its origin.
    Here,
    Elsewhere,
}

/// The header that says how the site of the requesting page is related to this site. Source: the W3C's Fetch Metadata.
pub(super) const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The host names, with ports, that a request uses for its server: in its target, if that has one, and in `Host`.
pub(super) fn called(head: &Parts) -> Vec<String> {
    let in_target = head.uri.authority().map(|authority| authority.as_str().to_owned());
    let in_headers = head.headers.get_all(HOST).iter();
    let in_headers = in_headers.map(|host| String::from_utf8_lossy(host.as_bytes()).into_owned());
    in_target.into_iter().chain(in_headers).collect()
}

impl Question {
    pub(super) fn of(head: &Parts, form: Option<&[u8]>, from: IpAddr) -> Self {
        let sender = head.extensions.get::<Sender>();
        let rights = sender.map_or(Rights::None, |sender| sender.rights);
        let user = sender.and_then(|sender| sender.user.as_ref());
        let user = user.map_or("a reader of the pages", UserName::as_str);
        let header = |name: HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok());
        let is_foreign = match (header(SEC_FETCH_SITE), header(ORIGIN), header(HOST)) {
            (Some(site), ..) => !["same-origin", "none"].contains(&site),
            (None, Some(origin), Some(host)) => {
                origin.split_once("://").is_none_or(|(_, there)| there != host)
            }
            (None, Some(_), None) => true,
            (None, None, _) => false,
        };
        Self {
            path: head.uri.path().to_owned(),
            query: Query::of(head.uri.query().unwrap_or_default()),
            form: form.map(|form| Query::of(&String::from_utf8_lossy(form))),
            has_version: header(IF_NONE_MATCH).map(str::to_owned),
            origin: if is_foreign { Origin::Elsewhere } else { Origin::Here },
            from,
            by: Requester::new(format!("{user}@{from}"), rights),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use hyper::Request;

    use super::*;

    #[test]
    fn a_form_of_another_site_is_recognized() {
        let origin = |headers: &[(&str, &str)]| {
            let mut request = Request::post("/app/kill/?a=b");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let (head, ()) = request.body(()).expect("it is sound").into_parts();
            let question = Question::of(&head, Some(b"id=app-1"), Ipv4Addr::LOCALHOST.into());
            assert_eq!((question.path.as_str(), question.query.get("a")), ("/app/kill/", Some("b")));
            assert_eq!(question.form.as_ref().and_then(|form| form.get("id")), Some("app-1"));
            question.origin
        };
        assert_eq!(origin(&[("host", "h:1")]), Origin::Here);
        assert_eq!(origin(&[("host", "h:1"), ("origin", "http://h:1")]), Origin::Here);
        assert_eq!(origin(&[("host", "h:1"), ("origin", "http://evil")]), Origin::Elsewhere);
        assert_eq!(origin(&[("host", "h:1"), ("origin", "null")]), Origin::Elsewhere);
        assert_eq!(origin(&[("sec-fetch-site", "same-origin"), ("origin", "http://h")]), Origin::Here);
        assert_eq!(origin(&[("sec-fetch-site", "cross-site")]), Origin::Elsewhere);
    }

    #[test]
    fn a_request_calls_the_server_in_its_target_and_in_each_host() {
        let names = |target: &str, hosts: &[&str]| {
            let request =
                hosts.iter().fold(Request::get(target), |request, host| request.header(HOST, *host));
            let (head, ()) = request.body(()).expect("it is sound").into_parts();
            called(&head)
        };
        assert_eq!(names("/", &[]), Vec::<String>::new());
        assert_eq!(names("/", &["A:1", "b"]), ["A:1", "b"]);
        assert_eq!(names("http://evil:80/app/", &["h:1"]), ["evil:80", "h:1"]);
    }
}
