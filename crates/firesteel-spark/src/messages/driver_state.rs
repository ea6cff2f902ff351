//! The states of a cluster driver, numbered as in Spark's `DriverState`.

/// The state of a cluster driver.
///
/// Source: Spark's DriverState, 3.3 to 4.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the state of that name")]
pub enum DriverState {
    Submitted,
    Running,
    Finished,
    Relaunching,
    Unknown,
    Killed,
    Failed,
    Error,
}

impl DriverState {
    /// The state's number in Spark's enumeration, counted from 0.
    pub(crate) fn number(self) -> i32 {
        self as i32
    }
}
