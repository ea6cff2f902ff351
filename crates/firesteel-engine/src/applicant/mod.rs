//! What every machine that owns an application shares: its side of the Master.
//!
//! It finds a Master, registers the application, stays registered, and says why no executor comes.
//! [`Registration`](registration::Registration) and [`Starvation`](starvation::Starvation) are parts of such
//! a machine. They return what is to be done, and the machine turns it into its own effects and notes.

pub(crate) mod peers;
pub(crate) mod registration;
pub(crate) mod starvation;

pub use registration::Patience;
