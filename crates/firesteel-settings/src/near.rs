//! The search for the known name that a misspelt name may mean.

/// The maximum number of slips between a name and the name that was meant.
const SLIPS: usize = 2;

/// The known name that was perhaps meant: the nearest one that is at most two slips away. A slip is a missing, extra or
/// different letter, or two swapped letters; case does not matter. The first of several equally near names counts.
#[must_use]
pub fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A short name is similar to every name.
    near_within(SLIPS.min(name.len() / 4), name, known)
}

/// Searches with at most this number of slips, for a small set of known names.
#[must_use]
pub fn near_within<'a>(most: usize, name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let edits = known.into_iter().map(|known| (edits(name, known), known));
    edits.filter(|(edits, _)| *edits <= most).min_by_key(|(edits, _)| *edits).map(|(_, known)| known)
}

/// The number of slips that turn one word into the other.
fn edits(one: &str, other: &str) -> usize {
    let letters = |word: &str| word.to_lowercase().chars().collect::<Vec<char>>();
    let (one, other) = (letters(one), letters(other));
    if one.len().abs_diff(other.len()) > SLIPS {
        return usize::MAX;
    }
    // Three rows of the table of prefixes: the one before the last, the last, and the current one.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let changed = last[j] + usize::from(a != b);
            let mut least = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_letters_too_many_too_few_wrong_or_swapped() {
        for (one, other, count) in [
            ("memory", "memory", 0),
            ("memry", "memory", 1),
            ("memmory", "memory", 1),
            ("mamory", "memory", 1),
            ("meomry", "memory", 1),
            ("Memory", "memory", 0),
            ("mmry", "memory", 2),
            ("a", "memory", usize::MAX),
        ] {
            assert_eq!(edits(one, other), count, "{one}");
            assert_eq!(edits(other, one), count, "{one}");
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
