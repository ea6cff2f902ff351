//! `spark.deploy.zookeeper.url`: the servers of ZooKeeper, in every syntax that ZooKeeper's own clients accept.

use firesteel_protocol::address::Address;
use firesteel_protocol::host;

const PORT: u16 = 2181;

/// The accepted syntax, for error messages.
pub(super) const EXPECTED: &str =
    "HOST[:PORT][,HOST[:PORT]..][/CHROOT], with IPv6 addresses in brackets and port 2181 where none is given";

/// The servers, each with its port, and the node below which the Masters' data is kept: `a:2181,[::1]:2182/masters`.
/// `None`: the text does not have the accepted syntax.
///
/// Source: ZooKeeper's `ConnectStringParser` and `PathUtils.validatePath`, 3.9.3. ZooKeeper accepts some texts that
/// cannot be the name of a machine; these are refused.
pub(super) fn parse(text: &str) -> Option<String> {
    let (servers, chroot) = text.find('/').map_or((text, ""), |at| text.split_at(at));
    let servers = servers.split(',').map(str::trim).filter(|server| !server.is_empty());
    let servers: Vec<String> = servers.map(server).collect::<Option<_>>()?;
    let chroot = if chroot == "/" { "" } else { chroot };
    (!servers.is_empty() && is_path(chroot)).then(|| format!("{}{chroot}", servers.join(",")))
}

fn server(text: &str) -> Option<String> {
    let (host, port) = match text.rsplit_once(']') {
        Some((inside, "")) => (format!("{inside}]"), None),
        Some((inside, port)) => {
            (format!("{inside}]"), Some(port.strip_prefix(':').filter(|port| !port.is_empty())?))
        }
        None => match text.rsplit_once(':') {
            Some((host, "")) => (host.to_owned(), None),
            Some((host, port)) => (host.to_owned(), Some(port)),
            None => (text.to_owned(), None),
        },
    };
    let port = port.map_or(Some(PORT), |port| port.parse().ok().filter(|port| *port > 0))?;
    Some(Address::new(host::plain(&host)?, port).to_string())
}

/// Whether the text is empty, or is the path of a node other than the root.
fn is_path(chroot: &str) -> bool {
    let is_name = |name: &str| !["", ".", ".."].contains(&name) && !name.chars().any(char::is_control);
    chroot.strip_prefix('/').is_none_or(|names| names.split('/').all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a table of expected values, which ZooKeeper's own parser computed.
    #[test]
    fn servers_are_named_in_all_forms_that_zookeeper_takes() {
        for (given, expected) in [
            ("zk1,zk2,zk3", "zk1:2181,zk2:2181,zk3:2181"),
            ("zk1:2181, zk2:2181", "zk1:2181,zk2:2181"),
            ("zk1:2181,", "zk1:2181"),
            (" a , b:1 ", "a:2181,b:1"),
            ("a:1,,b:2", "a:1,b:2"),
            ("a:", "a:2181"),
            ("a:+5", "a:5"),
            ("a:1,b:2/chroot", "a:1,b:2/chroot"),
            ("a:1, /c", "a:1/c"),
            ("a/", "a:2181"),
            ("a:1/x/y", "a:1/x/y"),
            ("a:1/c d", "a:1/c d"),
            ("[::1]", "[::1]:2181"),
            ("[::1]:2182/c", "[::1]:2182/c"),
            ("[FD00:0:0::2]:1,b", "[fd00::2]:1,b:2181"),
            ("[fe80::1%eth0]:1", "[fe80::1%eth0]:1"),
            ("::1:2181", "[::1]:2181"),
        ] {
            assert_eq!(parse(given).as_deref(), Some(expected), "{given}");
            assert_eq!(parse(expected).as_deref(), Some(expected), "{given}: it stays");
        }
    }

    #[test]
    fn what_zookeeper_refuses_or_no_machine_is_called_is_refused() {
        for given in [
            "",
            " ",
            ",",
            "/c",
            "a:1/c/",
            "a//c",
            "a/./b",
            "a/../b",
            "a:x",
            "a:70000",
            "a:-1",
            "[::1",
            "[]:1",
            "[::1]2181",
            "[::1]:",
            "tcp://a:1",
            "a:0",
            "a b",
            "a;b",
            "[A]:1",
            "fd00::2",
            ":2181",
            "a:1/c\u{7}",
        ] {
            assert_eq!(parse(given), None, "{given:?}");
        }
    }
}
