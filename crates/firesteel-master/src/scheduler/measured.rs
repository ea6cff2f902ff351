//! The rules that measure Workers one by one.

use firesteel_placement::Offer;
use firesteel_placement::index::Slot;
use firesteel_placement::policy::{Expression, Formula, Lesson, Measure};

/// A rule that has a [`Measure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measured<'e> {
    BestFit,
    LeastFragmentation,
    LearnedFragmentation,
    Expression(&'e Expression),
}

impl<'e> Measured<'e> {
    /// Its measure, with these learned statistics. `whole` returns a Worker's total amounts.
    pub(super) fn measure(
        self,
        lesson: &'e Lesson,
        whole: &'e dyn Fn(Slot) -> Option<Offer<'e>>,
    ) -> Measure<'e> {
        match self {
            Self::BestFit => Measure::LeftOver,
            Self::LeastFragmentation => Measure::Unusable,
            Self::LearnedFragmentation => Measure::Learned(lesson),
            Self::Expression(expression) => Measure::Expression(Formula { expression, whole }),
        }
    }
}
