//! An application's side of the Master: what every machine that owns an application needs.
//!
//! It finds a Master, registers its application with it, stays with it, and says why no executor comes. A
//! [`Registration`](registration::Registration) and a [`Starvation`](starvation::Starvation) are parts of such a
//! machine; what they want done they return, and the machine does it in its own words.

pub(crate) mod registration;
pub(crate) mod starvation;

pub use registration::Patience;
