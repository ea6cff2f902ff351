//! Two sequences merged into one.

/// Merges two sequences that are sorted by their keys. No key is in both sequences.
pub(crate) fn merged<K: Ord, T>(
    one: impl Iterator<Item = (K, T)>,
    other: impl Iterator<Item = (K, T)>,
) -> impl Iterator<Item = T> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || {
        let next = match (one.peek(), other.peek()) {
            (Some((first, _)), Some((second, _))) if second < first => other.next(),
            (Some(_), _) => one.next(),
            (None, _) => other.next(),
        };
        next.map(|(_, item)| item)
    })
}

#[cfg(test)]
mod tests {
    use super::merged;

    #[test]
    fn both_sequences_come_in_the_order_of_their_keys() {
        let of = |numbers: &[i32]| numbers.iter().map(|number| (*number, *number)).collect::<Vec<_>>();
        for (one, other) in [(&[1, 4, 5][..], &[2, 3, 6][..]), (&[], &[1, 2]), (&[7], &[]), (&[], &[])] {
            let all: Vec<i32> = merged(of(one).into_iter(), of(other).into_iter()).collect();
            let mut sorted = [one, other].concat();
            sorted.sort_unstable();
            assert_eq!(all, sorted);
        }
    }
}
