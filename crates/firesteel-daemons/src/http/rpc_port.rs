//! HTTP at the port of a daemon's own protocol: JSON, health, and at a Master, Spark's REST protocol.
//!
//! Clients know this port best: it is in `spark://host:port`. So `spark-submit --status` asks here with every URL of
//! Masters, while Spark's Master answers only at its REST port. What needs a password at its own port needs it here.

use std::net::IpAddr;
use std::sync::Arc;

use firesteel_settings::http::{HttpPort, HttpSettings};
use firesteel_settings::keys;
use firesteel_spark::rest::{self, answers};
use hyper::body::Incoming;
use hyper::{Request, StatusCode};

use super::answer::Answer;
use super::password::Passwords;
use super::rest::{RestSite, written};
use super::server::{HttpMeter, Responder};
use super::site::Site;

/// The first bytes of HTTP methods.
pub(crate) const FIRSTS: &[u8] = b"CDGHOPT";

/// The paths that are answered here, besides those of Spark's REST protocol.
const PATHS: [&str; 3] = ["/json/", "/livez", "/readyz"];

/// What the port of a daemon's own protocol answers.
#[derive(Debug)]
pub(crate) struct RpcPortSite<S> {
    site: Arc<S>,
    /// Why JSON is not answered here.
    no_json: Option<String>,
    rest: RestAtRpcPort,
}

/// Spark's REST protocol at the port of the daemon's own protocol.
#[derive(Debug)]
pub(crate) enum RestAtRpcPort {
    /// The daemon is a Worker.
    Never,
    /// It is not served here, for this reason.
    Off(String),
    On(Arc<RestSite>, Passwords),
}

impl RestAtRpcPort {
    /// REST at a Master's port, under the rules of the REST port. A REST port on a host of its own is for those who
    /// reach that host.
    pub(crate) fn of_master(
        settings: &HttpSettings,
        has_own_host: bool,
        (site, passwords): (Arc<RestSite>, Passwords),
    ) -> Self {
        if settings.port == HttpPort::Off {
            return Self::Off(format!("This Master serves no REST: set {}=true there", keys::REST_ENABLED));
        }
        if has_own_host {
            return Self::Off(format!("This Master serves REST only at its REST port ({})", keys::REST_HOST));
        }
        Self::On(site, passwords)
    }
}

impl<S: Site> RpcPortSite<S> {
    /// The answers of `site`, whose own port has these settings and this URL.
    pub(crate) fn new(site: Arc<S>, settings: &HttpSettings, url: Option<&str>, rest: RestAtRpcPort) -> Self {
        let no_json = match (&settings.tls, url) {
            _ if settings.port == HttpPort::Off => Some("This daemon serves no JSON".to_owned()),
            (Some(_), Some(url)) => Some(format!("This daemon serves JSON by HTTPS only, at {url}json/")),
            (Some(_), None) => Some("This daemon serves JSON by HTTPS only".to_owned()),
            (None, _) => None,
        };
        Self { site, no_json, rest }
    }

    async fn rest(&self, request: Request<Incoming>, from: IpAddr, meter: &HttpMeter) -> Answer {
        match &self.rest {
            RestAtRpcPort::On(rest, _) => rest.respond(request, from, meter).await,
            RestAtRpcPort::Off(why) => written(&answers::forbidden(why)),
            RestAtRpcPort::Never => Answer::not_found(&PATHS),
        }
    }
}

impl<S: Site> Responder for RpcPortSite<S> {
    const SERVES: &'static str = "JSON, health and REST";
    const PORT_SETTING: &'static str = "--port";

    fn is_probe(&self, path: &str) -> bool {
        self.site.is_probe(path) || rest::is_path(path) && !matches!(self.rest, RestAtRpcPort::On(..))
    }

    fn is_for_monitors(&self, path: &str) -> bool {
        Site::is_for_monitors(&*self.site, path)
    }

    fn passwords(&self, path: &str) -> Option<&Passwords> {
        match &self.rest {
            RestAtRpcPort::On(_, passwords) if rest::is_path(path) => Some(passwords),
            RestAtRpcPort::Never | RestAtRpcPort::Off(_) | RestAtRpcPort::On(..) => None,
        }
    }

    /// A submission that REST does not take gets no response, since Spark's `spark-submit` then submits it by Spark's
    /// RPC.
    fn is_unanswered(&self, path: &str) -> bool {
        matches!(self.rest, RestAtRpcPort::Off(_)) && rest::is_submission(path)
    }

    async fn respond(&self, request: Request<Incoming>, from: IpAddr, meter: &HttpMeter) -> Answer {
        let path = request.uri().path();
        if rest::is_path(path) {
            return self.rest(request, from, meter).await;
        }
        match &self.no_json {
            _ if self.site.is_probe(path) => self.site.respond(request, from, meter).await,
            _ if path.split('/').nth(1) != Some("json") => Answer::not_found(&PATHS),
            Some(why) => Answer::line(StatusCode::FORBIDDEN, why),
            None => self.site.respond(request, from, meter).await,
        }
    }
}
