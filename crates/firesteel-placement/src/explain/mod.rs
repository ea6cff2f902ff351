//! Why a demand is not met, and what would change that.
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

/// Why a demand is not met, and what would change that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What is missing, and why. `None` if nothing is missing, or if an executor still fits, so that a placement is due
    /// first. Its text is one sentence.
    pub shortfall: Option<Shortfall>,
    /// The smallest changes that would let one more executor fit. `None` if executors without cores are asked for.
    pub outlook: Option<Outlook>,
    /// Changes of the demand that would bring more executors at once.
    pub advice: Vec<Advice>,
}
