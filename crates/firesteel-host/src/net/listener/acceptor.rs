//! The thread that accepts connections and serves urgent ones. On these, a person waits for the answer.
//!
//! A daemon with thousands of busy connections has thousands of tasks that are ready to run. A client's request would
//! wait for these tasks three times: to be accepted, to be read, and to be answered. On a separate thread, the request
//! waits only for the operating system's scheduler.

use std::future::Future;
use std::io;

use tokio_util::task::TaskTracker;

use crate::runtime;

/// Runs this future on a thread with a runtime of its own. The thread stays until all tasks of the tracker have ended.
///
/// # Errors
/// The system gives no thread, or no means to wait for sockets.
pub(in crate::net) fn start(
    accepting: impl Future<Output = ()> + Send + 'static,
    tasks: TaskTracker,
) -> io::Result<()> {
    runtime::on_own_thread("acceptor", async move {
        accepting.await;
        tasks.wait().await;
    })
}
