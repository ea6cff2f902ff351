//! The names and values of a URL's query or of a form.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The maximum number of names that are read. Further names are ignored.
const MOST: usize = 64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses `a=b&c=d`, with `%XX` for other characters.
    pub(super) fn of(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).take(MOST);
        Self(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(name, value)| (decoded(name), decoded(value)))
                .collect(),
        )
    }

    /// The first value of a name. `None` if the name is missing, or the value is empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(other, value)| other == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(other, _)| other == name)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A link with these values changed: `?a=b&c=d`. `None` removes a name.
    pub(super) fn with(&self, changes: &[(&str, Option<&str>)]) -> String {
        let is_changed = |name: &str| changes.iter().any(|(other, _)| *other == name);
        let kept = self.iter().filter(|(name, _)| !is_changed(name));
        let changed = changes.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
        link(kept.chain(changed))
    }
}

/// The characters of a name or value that need no escape in a link.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The pairs as a link: `?a=b&c=d`.
pub(super) fn link<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let encode = |text| utf8_percent_encode(text, PLAIN);
    let pair = |(name, value)| format!("{}={}", encode(name), encode(value));
    format!("?{}", pairs.into_iter().map(pair).collect::<Vec<_>>().join("&"))
}

/// Decodes `%XX`, and `+` as a space. Bytes that are not UTF-8 become U+FFFD.
fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_and_written_again() {
        let query = Query::of("filter=a+b%26%3d%C3%A9&from=10&empty=&flag&filter=later&bad=%zz%f");
        assert_eq!((query.get("filter"), query.number("from")), (Some("a b&=é"), Some(10)));
        assert_eq!((query.get("empty"), query.has("flag"), query.has("none")), (None, true, false));
        assert_eq!(query.get("bad"), Some("%zz%f"));
        assert_eq!(query.all("filter").collect::<Vec<_>>(), ["a b&=é", "later"]);
        let link = Query::of("filter=a+%22<&from=10").with(&[("from", None), ("by", Some("cores"))]);
        assert_eq!(link, "?filter=a%20%22%3C&by=cores");
        assert_eq!(Query::of(&link[1..]).get("filter"), Some("a \"<"));
        assert_eq!(Query::of("").with(&[]), "?");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        assert_eq!(Query::of("a=%ff%00").get("a"), Some("\u{fffd}\0"));
    }
}
