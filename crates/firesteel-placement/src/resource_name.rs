//! Names of custom resources: a name alone, or a name with a kind.
//!
//! A Worker says `gpu:A100=0,1` of addresses that are of a kind, and a Worker with two kinds names both. An executor that
//! asks for `gpu:A100` is given addresses of this kind only, one that asks for `gpu` addresses of any kind. A kind may be
//! refined: `gpu:A100:80GB` is an `A100`.

/// Separates the name of a resource from its kind.
const KIND: char = ':';

/// The name without the kind: `gpu` for `gpu:A100`.
#[must_use]
pub fn without_kind(name: &str) -> &str {
    name.split_once(KIND).map_or(name, |(plain, _)| plain)
}

/// The kind, if the name has one: `A100` for `gpu:A100`.
#[must_use]
pub fn kind(name: &str) -> Option<&str> {
    name.split_once(KIND).map(|(_, kind)| kind)
}

/// Whether addresses with the name `has` serve an executor that asks for `asked`: both names are equal, or `has` adds a
/// kind.
#[inline]
#[must_use]
pub fn serves(has: &str, asked: &str) -> bool {
    has.strip_prefix(asked).is_some_and(|rest| rest.is_empty() || rest.starts_with(KIND))
}

/// The first two of these names that the same addresses may serve, so that one executor must not ask for both: `gpu` and
/// `gpu:A100`. The names are in order.
#[must_use]
pub fn overlapping<'a>(names: impl Iterator<Item = &'a String> + Clone) -> Option<(&'a str, &'a str)> {
    let mut rest = names;
    while let Some(one) = rest.next() {
        if let Some(other) = rest.clone().find(|other| serves(other, one)) {
            return Some((one, other));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_kind_is_served_by_all_kinds() {
        for (has, asked, expected) in [
            ("gpu", "gpu", true),
            ("gpu:A100", "gpu", true),
            ("gpu:A100", "gpu:A100", true),
            ("gpu:A100:80GB", "gpu:A100", true),
            ("gpu", "gpu:A100", false),
            ("gpu:A1000", "gpu:A100", false),
            ("gpus", "gpu", false),
            ("gpu-x", "gpu", false),
        ] {
            assert_eq!(serves(has, asked), expected, "{has} for {asked}");
        }
        assert_eq!((without_kind("gpu:A100"), kind("gpu:A100")), ("gpu", Some("A100")));
        assert_eq!((without_kind("gpu"), kind("gpu")), ("gpu", None));
    }

    #[test]
    fn names_overlap_if_one_serves_the_other() {
        let found = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            overlapping(names.iter()).map(|(one, other)| (one.to_owned(), other.to_owned()))
        };
        assert_eq!(found(&["gpu", "nic"]), None);
        assert_eq!(found(&["gpu:A100", "gpu:T4"]), None);
        assert_eq!(found(&["gpu", "gpu-x", "gpu:A100"]), Some(("gpu".to_owned(), "gpu:A100".to_owned())));
    }
}
