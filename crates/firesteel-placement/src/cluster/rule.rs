//! What can be passed to a cluster as a rule.

use super::view::View;
use crate::index::Share;
use crate::policy::Chooser;
use crate::{Demand, Expression, Policy, Rule, Strategy};

/// A rule by which Workers are chosen: a [`Policy`], an [`Expression`], either of both as a [`Rule`], a [`Strategy`] of
/// Spark's, or a rule of your own ([`by_score`](super::by_score)).
///
/// Only this crate has rules of this trait. As `dyn PlacementRule`, rules of different types fit into one list; the
/// call is one per placement, not one per Worker.
pub trait PlacementRule: Sealed {
    /// The Workers of the executors.
    #[doc(hidden)]
    fn choose(&self, demand: &Demand, sight: &mut Sight<'_>) -> Vec<Share>;
}

/// The types that are rules.
pub trait Sealed {}

/// What a rule sees and remembers.
#[derive(Debug)]
pub struct Sight<'a> {
    pub(super) chooser: &'a mut Chooser,
    pub(super) view: View<'a>,
}

impl Sealed for Rule {}

impl PlacementRule for Rule {
    fn choose(&self, demand: &Demand, sight: &mut Sight<'_>) -> Vec<Share> {
        sight.chooser.choose(self, Strategy::default(), demand, &mut sight.view)
    }
}

impl Sealed for Policy {}

impl PlacementRule for Policy {
    fn choose(&self, demand: &Demand, sight: &mut Sight<'_>) -> Vec<Share> {
        Rule::Policy(*self).choose(demand, sight)
    }
}

impl Sealed for Expression {}

impl PlacementRule for Expression {
    fn choose(&self, demand: &Demand, sight: &mut Sight<'_>) -> Vec<Share> {
        Rule::Expression(self.clone()).choose(demand, sight)
    }
}

impl Sealed for Strategy {}

/// Spark's rule with this strategy.
impl PlacementRule for Strategy {
    fn choose(&self, demand: &Demand, sight: &mut Sight<'_>) -> Vec<Share> {
        sight.chooser.choose(&Rule::Policy(Policy::Spark), *self, demand, &mut sight.view)
    }
}
