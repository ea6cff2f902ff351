//! Explanations: why a demand is not met, and what would change that.
//!
//! - [`shortfall`]: how many executors are missing, and why, in numbers and as a sentence
//! - [`outlook`]: the smallest changes that would let one more executor fit
//! - [`advice`]: the changes that would bring the most executors

pub mod advice;
pub mod outlook;
pub mod shortfall;

use advice::Advice;
use outlook::Outlook;
use shortfall::Shortfall;

/// An explanation: why a demand is not met, and what would change that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The missing executors or cores, and the reason. `None` if nothing is missing. Also `None` if an executor still
    /// fits: a placement is due first. `Display` writes one sentence.
    pub shortfall: Option<Shortfall>,
    /// The smallest changes that would let one more executor fit. `None` if the demand's executors have no cores.
    pub outlook: Option<Outlook>,
    /// Changes of the demand that would bring more executors at once.
    pub advice: Vec<Advice>,
}
