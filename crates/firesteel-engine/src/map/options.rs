//! The user's options of a map run, other than its command.

/// The byte that ends a record. It may be missing after the last record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    Newline,
    /// A NUL byte, as `find -print0` writes it.
    Nul,
}

impl Separator {
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Self::Newline => b'\n',
            Self::Nul => 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputOrder {
    Input,
    /// Print each output as soon as its item ends.
    Completion,
}
