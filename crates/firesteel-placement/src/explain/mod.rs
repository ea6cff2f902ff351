//! Why a demand is not met, and what would change that.
//!
//! - [`shortfall`]: how many executors are missing, and why, in numbers and as a sentence
//! - [`outlook`]: the smallest changes that would let one more executor fit
//! - [`advice`]: the changes that would bring the most executors

pub mod advice;
pub mod outlook;
pub mod shortfall;
