//! The rules by which Workers are measured one by one.

use firesteel_placement::Expression;
use firesteel_placement::Offer;
use firesteel_placement::advanced::index::Slot;
use firesteel_placement::advanced::policy::{Formula, Lesson, Measure};

/// A rule that has a [`Measure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measured<'e> {
    BestFit,
    LeastFragmentation,
    LearnedFragmentation,
    Expression(&'e Expression),
}

impl<'e> Measured<'e> {
    /// Its measure, if this lesson was learned last. `whole` has the amounts of a Worker in all.
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
