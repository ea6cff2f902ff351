//! How a state machine that owns an application deals with Masters.
//!
//! This part finds a Master, registers the application, keeps the application registered, and reports why no executor
//! comes. [`Registration`](registration::Registration) and [`Starvation`](starvation::Starvation) are parts of such a
//! machine. They return orders, which the machine turns into its own effects and notes.

pub(crate) mod peers;
pub(crate) mod registration;
pub(crate) mod starvation;

pub use registration::ConnectTimeout;
