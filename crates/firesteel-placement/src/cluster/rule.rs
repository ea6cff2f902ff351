//! The types that can be passed to a cluster as a rule.

use super::view::View;
use crate::index::Share;
use crate::policy::Chooser;
use crate::{Demand, Expression, Policy, Rule, Strategy};

/// A rule by which Workers are chosen: a [`Policy`], an [`Expression`], a [`Rule`] that contains one of these, a
/// [`Strategy`] of Spark, or a rule of your own ([`by_score`](super::by_score)).
///
/// Only this crate can implement the trait. As `dyn PlacementRule`, rules of different types fit into one list. The
/// dynamic call happens once per placement, not once per Worker.
pub trait PlacementRule: Sealed {
    /// Chooses the Workers of the executors.
    #[doc(hidden)]
    fn choose(&self, demand: &Demand, sight: &mut Sight<'_>) -> Vec<Share>;
}

/// The types that are rules.
pub trait Sealed {}

/// The data that a rule can read, and what it remembers between placements.
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
