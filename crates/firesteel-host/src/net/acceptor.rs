//! The thread that accepts connections, and serves those for which a person waits.
//!
//! A daemon with thousands of busy connections has thousands of tasks that are ready to run. A question of a client
//! would wait for them at each of its steps: to be accepted, to be read, to be answered. On a thread of its own it waits
//! for the system's scheduler only.

use std::future::Future;
use std::{io, thread};

use tokio::runtime;
use tokio_util::task::TaskTracker;

/// Runs this future on a thread with a runtime of its own, which stays until all tasks of the tracker have ended.
///
/// # Errors
/// The system gives no thread, or no means to wait for sockets.
pub(super) fn start(
    accepting: impl Future<Output = ()> + Send + 'static,
    tasks: TaskTracker,
) -> io::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let serving = move || {
        runtime.block_on(async {
            accepting.await;
            tasks.wait().await;
        });
    };
    thread::Builder::new().name("acceptor".to_owned()).spawn(serving)?;
    Ok(())
}
