//! The election of a leading Master, and the leader's journal, both kept in ZooKeeper.
//!
//! ```text
//!  DIR/firesteel/candidates/candidate-0000000007   a Master's URL; removed with the Master's session
//!  DIR/firesteel/leader                            the leader's URL; the version of its data is the leader's epoch
//!  DIR/firesteel/journal                           the name of the current generation
//!  DIR/firesteel/journal/GENERATION/0000000000 ..  the pieces of that generation's file
//! ```
//!
//! The candidate with the smallest number becomes the leader. For this it writes its URL, on the condition that its
//! candidate node still exists. The write gives the leader an epoch that is greater than all earlier epochs. Each later
//! write has the condition that the leader's node still has this version. So a former leader cannot write, even if it
//! believes that it still leads. It cannot act either, because every decision is written before it is announced.
//!
//! The leader's [lease](firesteel_host::lease) ends everything that a leader does without writing. By the leader's
//! monotonic clock, the lease ends two thirds of the session's timeout after the last transaction that a majority of
//! the servers accepted. ZooKeeper ends a session only after its whole timeout.
//!
//! - `ensemble`: the servers, a session with them, and the names of the nodes
//! - `candidate`: a Master that may become the leader
//! - `term`: the term of a Master that leads, and its lease
//! - `znodes`: the leader's journal

mod candidate;
mod ensemble;
mod term;
mod znodes;

pub use candidate::{Candidate, CandidateState};
pub use ensemble::{Ensemble, ZooKeeperError};
pub use term::Term;
pub use znodes::{Znodes, read};
