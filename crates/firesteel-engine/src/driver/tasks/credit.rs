//! Flow control for the output of an attempt.

/// The output window of one attempt. Each byte of the window is in one of three states: granted to the executor; handed
/// to the driver's owner; or written by the owner, and not granted again yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Credit {
    window: u64,
    granted: u64,
    handed: u64,
    owed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Exceeded {
    /// The number of bytes that the executor was granted.
    pub(in crate::driver) granted: u64,
}

impl Credit {
    /// A credit whose whole window is granted when the task is launched.
    pub(in crate::driver) fn new(window: u64) -> Self {
        Self { window, granted: window, handed: 0, owed: 0 }
    }

    /// The executor sent output, which goes to the driver's owner.
    pub(in crate::driver) fn receive(&mut self, bytes: u64) -> Result<(), Exceeded> {
        let Some(granted) = self.granted.checked_sub(bytes) else {
            return Err(Exceeded { granted: self.granted });
        };
        self.granted = granted;
        self.handed += bytes;
        Ok(())
    }

    /// The driver's owner has written output. Returns the number of bytes to grant now, if any. A message is sent only
    /// for a quarter of the window or more.
    pub(super) fn consume(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes.min(self.handed);
        self.handed -= bytes;
        self.owed += bytes;
        if self.owed == 0 || self.owed < self.window / 4 {
            return None;
        }
        self.granted += self.owed;
        Some(std::mem::take(&mut self.owed))
    }

    /// Checks that the parts add up to the window, and that an executor without credit waits only for the driver's
    /// owner.
    pub(in crate::driver) fn contradiction(&self) -> Option<String> {
        let whole = self.granted + self.handed + self.owed == self.window;
        let alive = self.granted > 0 || self.handed > 0;
        (!whole || !alive).then(|| format!("{self:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_is_given_back_when_a_quarter_of_the_window_is_owed() {
        let mut credit = Credit::new(100);
        assert_eq!(credit.receive(90), Ok(()));
        assert_eq!(credit.consume(24), None);
        assert_eq!(credit.consume(1), Some(25));
        assert_eq!(credit.consume(65), Some(65));
        assert_eq!(credit, Credit::new(100));
    }

    #[test]
    fn more_than_was_granted_is_refused_and_changes_nothing() {
        let mut credit = Credit::new(10);
        assert_eq!(credit.receive(11), Err(Exceeded { granted: 10 }));
        assert_eq!(credit, Credit::new(10));
    }

    #[test]
    fn a_window_of_one_byte_still_moves() {
        let mut credit = Credit::new(1);
        assert_eq!(credit.receive(1), Ok(()));
        assert_eq!(credit.contradiction(), None);
        assert_eq!(credit.consume(u64::MAX), Some(1));
    }
}
