//! Searches the known name that was perhaps meant by a misspelt name.

use strsim::osa_distance;

/// The maximum number of slips between a name and the known name that was perhaps meant.
const SLIPS: usize = 2;

/// The known name that was perhaps meant: the nearest known name, at most two slips away. A slip is a missing, extra or
/// different letter, or two swapped letters; case does not matter. If several names are equally near, the first one
/// counts.
#[must_use]
pub fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A short name is similar to every name.
    near_within(SLIPS.min(name.len() / 4), name, known)
}

/// Like [`near`], but with at most this number of slips, for a small set of known names.
#[must_use]
pub fn near_within<'a>(most: usize, name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let slips = known.into_iter().map(|known| (osa_distance(&name, &known.to_lowercase()), known));
    slips.filter(|(slips, _)| *slips <= most).min_by_key(|(slips, _)| *slips).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_letters_too_many_too_few_wrong_or_swapped() {
        for (name, slips) in [
            ("memory", Some(0)),
            ("memry", Some(1)),
            ("memmory", Some(1)),
            ("mamory", Some(1)),
            ("meomry", Some(1)),
            ("Memory", Some(0)),
            ("mmry", Some(2)),
            ("a", None),
        ] {
            let least = (0..=SLIPS).find(|most| near_within(*most, name, ["memory"]).is_some());
            assert_eq!(least, slips, "{name}");
        }
    }

    #[test]
    fn the_nearest_name_is_meant_and_a_short_one_means_nothing() {
        let known = ["--num-executors", "--executor-cores", "--env"];
        assert_eq!(near("--num-executers", known), Some("--num-executors"));
        assert_eq!(near("--executor-core", known), Some("--executor-cores"));
        assert_eq!(near("--jobs", known), None);
        assert_eq!(near("-e", known), None);
    }
}
