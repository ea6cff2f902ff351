//! Hosts: a name, an IPv4 address or an IPv6 address, in one form for each use.
//!
//! | use | form | example |
//! |---|---|---|
//! | fields of messages, comparisons, sockets | [`plain`]: no brackets, an IPv6 address in its shortest form | `fd00::2` |
//! | URLs, and whatever Spark is told | [`in_url`]: an IPv6 address in brackets | `[fd00::2]` |
//!
//! Firesteel converts a host to the plain form where it reads one: in flags, settings, URLs, files, and registrations
//! of Spark's Workers. Upper and lower case are kept, because Spark and HDFS distinguish them.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The plain form of a host. An IPv6 address may be in brackets. `None`: the text is not a host.
#[must_use]
pub fn plain(text: &str) -> Option<String> {
    let bracketed = text.strip_prefix('[').map(|rest| rest.strip_suffix(']').unwrap_or_default());
    let is_of = |text: &str, marks: &[u8]| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || marks.contains(&b))
    };
    let inner = bracketed.unwrap_or(text);
    if bracketed.is_none() && !inner.contains(':') {
        return is_of(inner, b"-._").then(|| inner.to_owned());
    }
    let (address, scope) =
        inner.split_once('%').map_or((inner, None), |(address, scope)| (address, Some(scope)));
    let address: Ipv6Addr = address.parse().ok()?;
    match scope {
        None => Some(address.to_string()),
        Some(scope) => is_of(scope, b"-._").then(|| format!("{address}%{scope}")),
    }
}

/// The plain form of a host. A text that is not a host is returned as it is.
#[must_use]
pub fn plain_or_as_given(text: &str) -> String {
    plain(text).unwrap_or_else(|| text.to_owned())
}

/// A host as URLs and Spark write it: an IPv6 address in brackets.
///
/// Source: Spark's `Utils.addBracketsIfNeeded`, 4.0.1.
#[must_use]
pub fn in_url(host: &str) -> Cow<'_, str> {
    if host.contains(':') && !host.starts_with('[') {
        Cow::Owned(format!("[{host}]"))
    } else {
        Cow::Borrowed(host)
    }
}

/// Whether Java accepts this plain host in a URL. If not, Spark's executors and drivers cannot connect to the host. The
/// usual reason is a `_` in the name.
///
/// Source: `java.net.URI` of Java 17, by RFC 2396.
#[must_use]
pub fn is_known_to_java(host: &str) -> bool {
    let is_label = |label: &str| {
        let is_inside = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        !label.is_empty() && is_inside && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_address = host.contains(':') || host.parse::<Ipv4Addr>().is_ok();
    let name = host.strip_suffix('.').unwrap_or(host);
    let mut labels = name.split('.');
    // If there are several labels, the last one begins with a letter.
    let is_last_sound =
        name.rsplit_once('.').is_none_or(|(_, last)| last.starts_with(|c: char| c.is_ascii_alphabetic()));
    is_address || (labels.all(is_label) && is_last_sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_one_form_for_each_use() {
        // In each row: the given text, the plain form, the form in URLs and for Spark, and whether Java accepts the
        // host in a URL.
        for (given, plain_form, url, java) in [
            ("node-7", "node-7", "node-7", true),
            ("Node-7.Example.ORG", "Node-7.Example.ORG", "Node-7.Example.ORG", true),
            ("node-7.example.org.", "node-7.example.org.", "node-7.example.org.", true),
            ("rack_1-node", "rack_1-node", "rack_1-node", false),
            ("node.1a", "node.1a", "node.1a", false),
            ("1node", "1node", "1node", true),
            ("node-", "node-", "node-", false),
            ("localhost", "localhost", "localhost", true),
            ("10.0.0.7", "10.0.0.7", "10.0.0.7", true),
            ("::1", "::1", "[::1]", true),
            ("[::1]", "::1", "[::1]", true),
            ("0:0:0:0:0:0:0:1", "::1", "[::1]", true),
            ("FD00:0:0::2", "fd00::2", "[fd00::2]", true),
            ("[fd00:0000:0000:0000:0000:0000:0000:0002]", "fd00::2", "[fd00::2]", true),
            ("::", "::", "[::]", true),
            ("fe80::1%eth0", "fe80::1%eth0", "[fe80::1%eth0]", true),
            ("[FE80::0:1%eth0.7]", "fe80::1%eth0.7", "[fe80::1%eth0.7]", true),
            ("::ffff:10.0.0.7", "::ffff:10.0.0.7", "[::ffff:10.0.0.7]", true),
        ] {
            let found = plain(given);
            assert_eq!(found.as_deref(), Some(plain_form), "{given}");
            assert_eq!(plain(plain_form).as_deref(), Some(plain_form), "{given}: its plain form stays");
            assert_eq!(plain(url).as_deref(), Some(plain_form), "{given}: and comes back from a URL");
            assert_eq!((in_url(plain_form), in_url(url)), (url.into(), url.into()), "{given}");
            assert_eq!(is_known_to_java(plain_form), java, "{given}");
        }
    }

    #[test]
    fn what_is_no_host_is_left_as_it_is() {
        for none in [
            "",
            "[]",
            "[node]",
            "[10.0.0.7]",
            "[::1",
            "::1]",
            "a b",
            "a/b",
            "1:2",
            "fe80::1%",
            "a%eth0",
            "[::1]:7",
        ] {
            assert_eq!(plain(none), None, "{none}");
            assert_eq!(plain_or_as_given(none), none);
        }
    }
}
