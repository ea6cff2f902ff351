//! Placement questions from a file, one per line, and their answers.
//!
//! A line is a JSON object of one of two kinds: a [`PlacementCall`] (one application, Workers in a given order: how
//! many cores does each give?) or a [`SchedulePass`] (all applications, all Workers: which executors are launched, and
//! where?). A [`Question`] is one of the two. `fixtures/conformance/README.md` describes both kinds. Unknown fields are
//! ignored. The recorded answer is optional, and so are resources and executors.
//!
//! This module opens no files: it reads any [`BufRead`](std::io::BufRead) and writes to any [`Write`](std::io::Write).

mod answer;
mod call;
mod line;
mod pass;
mod question;

pub use answer::PassError;
pub use call::{CallAnswer, CallWorker, PlacementCall};
pub use line::{LineError, answers, calls, passes, questions, write_line};
pub use pass::{
    AppAfter, HeldExecutors, Launch, PassAddresses, PassAnswer, PassApp, PassAppState, PassProfile,
    PassWorker, PassWorkerState, SchedulePass,
};
pub use question::{Answer, Question};
