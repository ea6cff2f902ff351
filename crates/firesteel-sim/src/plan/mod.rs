//! Placement from a file: each line is a question, each answer a line.
//!
//! Two kinds of line are read, both one JSON object: a [`PlacementCall`] (one application over workers in a
//! given order: which cores does each give?) and a [`SchedulePass`] (all applications over all workers: what is
//! launched where?); a [`Question`] is either. `fixtures/placement/README.md` describes both. Fields that are not
//! of the format are ignored. Of the format, what was recorded with a case may be missing, and what an
//! application or worker has none of (resources, executors held).
//!
//! Nothing in here opens a file: input is any [`BufRead`](std::io::BufRead), output any
//! [`Write`](std::io::Write).

mod answer;
mod call;
mod line;
mod pass;
mod question;

pub use answer::PassError;
pub use call::{CallAnswer, CallWorker, PlacementCall};
pub use line::{LineError, answers, calls, passes, questions, write_line};
pub use pass::{
    AppAfter, AppStanding, HeldExecutors, Launch, PassAddresses, PassAnswer, PassApp, PassProfile,
    PassWorker, SchedulePass, WorkerStanding,
};
pub use question::{Answer, Question};
