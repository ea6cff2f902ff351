//! What Masters that share a cluster keep in ZooKeeper: who leads, and the leader's journal.
//!
//! ```text
//!  DIR/firesteel/candidates/candidate-0000000007   a Master's URL; it goes with the Master's session
//!  DIR/firesteel/leader                            the leader's URL; the version of its data is the leader's epoch
//!  DIR/firesteel/journal                           the name of the current generation
//!  DIR/firesteel/journal/GENERATION/0000000000 ..  the pieces of that generation's file
//! ```
//!
//! The candidate with the smallest number leads. It becomes the leader by writing its URL, on the condition that its candidate
//! is still there; this gives it an epoch that is greater than all before. Each later write has the condition that the leader's
//! node still has this version. So a Master that leads no longer cannot write, whatever it believes; and since nobody is told
//! of a decision before it is written, it cannot act.
//!
//! What needs no write ends with the leader's [tenure](firesteel_host::tenure): two thirds of the session's timeout after the
//! last transaction that a majority of the servers took, by the monotonic clock of the leader. ZooKeeper gives a session up after its whole timeout.
//!
//! - `ensemble`: the servers, a session with them, and the names of the nodes
//! - `candidate`: a Master that may become the leader
//! - `reign`: a Master that leads, and its tenure
//! - `znodes`: the journal of a Master that leads

mod candidate;
mod ensemble;
mod reign;
mod znodes;

pub use candidate::{Candidate, Standing};
pub use ensemble::{Ensemble, ZooKeeperError};
pub use reign::Reign;
pub use znodes::{Znodes, read};
