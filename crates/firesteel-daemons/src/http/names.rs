//! The host names that a request may use for a server. Checking them prevents a page of another site from reading this
//! server's responses.
//!
//! A browser lets a page read the responses of the server that the page came from. The browser identifies that server
//! only by name. After the page was loaded, the owner of that name can point it to the address of this server (DNS
//! rebinding). Then the browser sends the page's requests to this server, with that name in `Host`. An attacker cannot
//! do this with an IP address, nor with one of this server's own names.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use firesteel_settings::keys;
use hyper::http::uri::Authority;

/// The host names of a server. IP addresses are always accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// The daemon that has the names, and the setting for further ones.
    daemon: &'static str,
    setting: &'static str,
    /// The accepted names, in lower case and without a dot at the end.
    known: Vec<String>,
}

impl Names {
    /// The names of a Master: `localhost`, the name of this machine, and these names.
    pub(crate) fn of_master<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(("Master", keys::UI_ALLOWED_HOSTS), names)
    }

    /// The names of a Worker: `localhost`, the name of this machine, and these names.
    pub(crate) fn of_worker<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(("Worker", keys::WORKER_UI_ALLOWED_HOSTS), names)
    }

    fn of<'a>(
        (daemon, setting): (&'static str, &'static str),
        names: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let machine = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
        let own = ["localhost".to_owned()].into_iter().chain(machine);
        let all = own.chain(names.into_iter().map(str::to_owned));
        let known = all.map(|name| plain_name(&name)).filter(|name| !name.is_empty()).collect();
        Self { daemon, setting, known }
    }

    /// The reason to refuse a request that uses these names. `None`: the request is accepted. A request may name the
    /// server in its target and in `Host`; both names are checked.
    pub(super) fn refuse(&self, called: &[String]) -> Option<String> {
        if called.is_empty() {
            return Some("The request does not say whom it asks: it needs a header Host.".to_owned());
        }
        let stranger = called.iter().find(|called| !self.is_known(called))?;
        Some(format!(
            "This {daemon} is not known as {stranger}, so the request may come from a page of another site. If readers reach \
             the {daemon} by this name, set {} to its host; if not, open the {daemon}'s page by its own name or address.",
            self.setting,
            daemon = self.daemon
        ))
    }

    fn is_known(&self, called: &str) -> bool {
        let Ok(authority) = Authority::from_str(called) else { return false };
        let host = authority.host();
        let has_user = called.contains('@');
        let six = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_address =
            host.parse::<Ipv4Addr>().is_ok() || six.is_some_and(|six| six.parse::<Ipv6Addr>().is_ok());
        !has_user && (is_address || self.known.contains(&plain_name(host)))
    }
}

/// A name normalized for comparisons: in lower case, without a dot at the end.
fn plain_name(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(called: &[&str]) -> Option<String> {
        let called: Vec<String> = called.iter().map(|&called| called.to_owned()).collect();
        Names::of_master(["node-1.example.org", "proxy.example.org."]).refuse(&called)
    }

    #[test]
    fn a_server_is_known_by_its_addresses_and_its_names_in_any_spelling() {
        for called in [
            "127.0.0.1",
            "10.0.0.7:8080",
            "[::1]",
            "[::1]:8080",
            "[2001:db8::7]:80",
            "localhost",
            "localhost:8080",
            "LOCALHOST.:8080",
            "node-1.example.org:8080",
            "Node-1.Example.ORG",
            "node-1.example.org.",
            "node-1.example.org.:8080",
            "proxy.example.org:443",
        ] {
            assert_eq!(refused(&[called]), None, "{called}");
        }
        let machine = nix::unistd::gethostname().expect("it has a name").into_string().expect("in UTF-8");
        assert_eq!(refused(&[&machine]), None, "{machine}");
    }

    #[test]
    fn other_names_and_odd_ones_are_refused_with_what_to_do() {
        for called in [
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "node-1.example.org.evil.example",
            "evil.example@localhost",
            "localhost@evil.example:80",
            "127.0.0.1.evil.example",
            "127.0.0.1.",
            "0x7f.1",
            "2130706433",
            "::1",
            "[localhost]",
            "localhost..",
            "",
            "local host",
            "localhost,evil.example",
            "node-1",
        ] {
            let words = refused(&[called]).expect(called);
            assert!(words.contains("firesteel.master.ui.allowedHosts"), "{words}");
        }
        assert!(refused(&[]).expect("it names none").contains("Host"));
    }

    #[test]
    fn each_name_of_a_request_has_to_be_known() {
        assert_eq!(refused(&["localhost:8080", "127.0.0.1"]), None);
        assert!(refused(&["localhost:8080", "evil.example"]).expect("the second").contains("evil.example"));
        assert!(refused(&["evil.example", "localhost:8080"]).is_some());
    }
}
