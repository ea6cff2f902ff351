//! Names of custom resources: a name alone, or a name with a kind.
//!
//! A Worker lists addresses of a kind as `gpu:A100=0,1`. A Worker with two kinds lists both. An executor that asks for
//! `gpu:A100` gets only addresses of this kind. For `gpu:A100|H100` it gets addresses of either kind, and for `gpu`
//! addresses of any kind. A kind may be refined: `gpu:A100:80GB` is an `A100`.

/// Separates the name of a resource from its kind.
const KIND: char = ':';
/// Separates several kinds, if an executor accepts any of them.
const OR: char = '|';

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

/// Whether addresses with the name `has` serve an executor that asks for `asked`. They do if the names are equal, if
/// `has` adds a kind, or if `has` has one of several requested kinds.
#[inline]
#[must_use]
pub fn serves(has: &str, asked: &str) -> bool {
    is_or_refines(has, asked) || (asked.contains(OR) && is_one_of(has, asked))
}

#[inline]
fn is_or_refines(has: &str, asked: &str) -> bool {
    has.strip_prefix(asked).is_some_and(|rest| rest.is_empty() || rest.starts_with(KIND))
}

fn is_one_of(has: &str, asked: &str) -> bool {
    match (has.split_once(KIND), asked.split_once(KIND)) {
        (Some((has, kind)), Some((asked, kinds))) => {
            has == asked && kinds.split(OR).any(|asked| is_or_refines(kind, asked))
        }
        (Some(_) | None, None) | (None, Some(_)) => false,
    }
}

/// The first two of these names that the same addresses may serve, such as `gpu` and `gpu:A100`. One executor must not
/// ask for both. The names must be in order. A name with several kinds must be the only name of its resource.
#[must_use]
pub fn overlapping<'a>(names: impl Iterator<Item = &'a String> + Clone) -> Option<(&'a str, &'a str)> {
    let overlap = |one: &str, other: &str| {
        let several = one.contains(OR) || other.contains(OR);
        is_or_refines(other, one) || (several && without_kind(one) == without_kind(other))
    };
    let mut rest = names;
    while let Some(one) = rest.next() {
        if let Some(other) = rest.clone().find(|other| overlap(one, other)) {
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
            ("gpu:A100", "gpu:A100|H100", true),
            ("gpu:H100", "gpu:A100|H100", true),
            ("gpu:H100:80GB", "gpu:A100|H100", true),
            ("gpu:H1000", "gpu:A100|H100", false),
            ("gpu", "gpu:A100|H100", false),
            ("nic:H100", "gpu:A100|H100", false),
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
        assert_eq!(
            found(&["gpu:A100|H100", "gpu:T4"]),
            Some(("gpu:A100|H100".to_owned(), "gpu:T4".to_owned()))
        );
        assert_eq!(found(&["gpu", "gpu-x", "gpu:A100"]), Some(("gpu".to_owned(), "gpu:A100".to_owned())));
    }
}
