//! The words for printing a record piece by piece.

/// How complete a record is to be before its next piece is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What is written so far.
    SoFar,
    /// Everything that the driver has reported is written.
    All,
}

/// What was printed of a record.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session piece")]
pub enum Piece {
    /// Some bytes, and there may be more.
    Printed,
    /// Nothing: there is no more, for now.
    Nothing,
    /// Nothing: the record cannot be read.
    Failed {
        /// Why, for people.
        error: String,
    },
}
