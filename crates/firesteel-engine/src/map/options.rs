//! The user's options of a map run, other than its command.

/// The byte that ends a record. The last record does not need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    Newline,
    /// A NUL byte, as `find -print0` writes it.
    Nul,
}

impl Separator {
    /// The separator as a byte.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Self::Newline => b'\n',
            Self::Nul => 0,
        }
    }
}

/// The order in which outputs are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputOrder {
    /// In the order of the input.
    Input,
    /// As soon as each item ends.
    Completion,
}
