//! The amounts for which there are shelves.

/// Amounts below this, the cores of ordinary machines, are looked up; others are searched for.
const SMALL: usize = 256;
/// No amount has that position.
const NONE: u8 = u8::MAX;

/// Different amounts in ascending order, fewer than 255 of them.
#[derive(Debug)]
pub(super) struct Amounts {
    all: Vec<i64>,
    /// Where each small amount stands among all.
    small: [u8; SMALL],
}

impl Amounts {
    pub(super) fn new() -> Self {
        Self { all: Vec::new(), small: [NONE; SMALL] }
    }

    pub(super) fn all(&self) -> &[i64] {
        &self.all
    }

    /// Where it stands.
    #[inline]
    pub(super) fn find(&self, amount: i64) -> Option<usize> {
        match usize::try_from(amount).ok().and_then(|amount| self.small.get(amount)) {
            Some(&NONE) => None,
            Some(position) => Some(usize::from(*position)),
            None => self.all.binary_search(&amount).ok(),
        }
    }

    /// Adds one that is new: where it stands from now on.
    pub(super) fn insert(&mut self, amount: i64) -> usize {
        let position = self.least(amount);
        self.all.insert(position, amount);
        self.number();
        position
    }

    /// Where the first one stands that is no less.
    pub(super) fn least(&self, amount: i64) -> usize {
        self.all.partition_point(|known| *known < amount)
    }

    /// Drops those of which that is not true, by their positions.
    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut positions = 0..;
        self.all.retain(|_| positions.next().is_some_and(&keep));
        self.number();
    }

    fn number(&mut self) {
        self.small.fill(NONE);
        for (position, amount) in (0..).zip(&self.all) {
            if let Some(small) = usize::try_from(*amount).ok().and_then(|amount| self.small.get_mut(amount)) {
                *small = position;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_found_where_they_stand() {
        let mut amounts = Amounts::new();
        for amount in [7, -3, 0, 100_000, 255, 256, i64::MIN, i64::MAX] {
            amounts.insert(amount);
        }
        assert_eq!(amounts.all(), [i64::MIN, -3, 0, 7, 255, 256, 100_000, i64::MAX]);
        amounts.retain(|position| position != 2);
        for (position, amount) in amounts.all().iter().enumerate() {
            assert_eq!((amounts.find(*amount), amounts.least(*amount)), (Some(position), position));
        }
        assert_eq!((amounts.find(0), amounts.find(1), amounts.find(99_999)), (None, None, None));
        assert_eq!((amounts.least(0), amounts.least(i64::MAX)), (2, 6));
    }
}
