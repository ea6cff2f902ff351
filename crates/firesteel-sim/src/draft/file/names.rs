//! Expands name patterns to names.

/// Expands a pattern to `count` names. The last row of `#` in the pattern is replaced by the number, from 1. All
/// numbers have as many digits as the last number, and at least as many as the row has `#`. A pattern without `#` is a
/// name. If `count` is more than 1, `-#` is then appended.
pub(super) fn expanded(pattern: &str, count: u64) -> Vec<String> {
    let Some(end) = pattern.rfind('#') else {
        return match count {
            1 => vec![pattern.to_owned()],
            _ => expanded(&format!("{pattern}-#"), count),
        };
    };
    let (before, after) = (pattern[..=end].trim_end_matches('#'), &pattern[end + 1..]);
    let digits = count.to_string().len().max(end + 1 - before.len());
    (1..=count).map(|number| format!("{before}{number:0digits$}{after}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_numbers_its_names_so_that_they_sort() {
        assert_eq!(expanded("w", 1), ["w"]);
        assert_eq!(expanded("w", 2), ["w-1", "w-2"]);
        assert_eq!(expanded("rack#-host-##.example", 2), ["rack#-host-01.example", "rack#-host-02.example"]);
        let ten = expanded("w#", 10);
        assert_eq!((ten[0].as_str(), ten[9].as_str()), ("w01", "w10"));
    }
}
