//! Runtimes for asynchronous tasks. A lack of threads is reported as an error instead of a panic.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;
use std::{io, panic, thread};

use nix::errno::Errno;
use tokio::runtime::{Builder, Runtime};

/// The name of the thread that starts a runtime.
const STARTING: &str = "runtime-start";

/// The maximum number of threads for blocking work.
const MOST_BLOCKING: usize = 64;

static HOOK: Mutex<()> = Mutex::new(());

/// Starts a runtime with this number of threads of this name.
///
/// If the system provides too few threads, Tokio panics. It then waits forever for the threads that it has already
/// started. So a separate thread starts the runtime. If that thread panics, the caller does not wait for it.
///
/// # Errors
/// The system gives too few threads or open files.
pub fn start(name: &str, threads: usize) -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).thread_name(name).enable_all();
    // Threads for blocking work never end. If the machine gives no more of them, work waits for one. Tokio panics if
    // there is none, so there are few.
    builder.thread_keep_alive(Duration::MAX).max_blocking_threads(MOST_BLOCKING);
    let (sender, started) = mpsc::channel();
    let refused = sender.clone();
    let _one = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
    let usual = Arc::new(panic::take_hook());
    let others = Arc::clone(&usual);
    panic::set_hook(Box::new(move |panic| {
        if thread::current().name() == Some(STARTING) {
            let _ = refused.send(Err(Errno::EAGAIN.into()));
        } else {
            others(panic);
        }
    }));
    let starting = thread::Builder::new().name(STARTING.to_owned()).spawn(move || {
        // One more thread, since files need it at once.
        let _ = sender.send(builder.build().inspect(|runtime| drop(runtime.spawn_blocking(|| ()))));
    });
    let runtime = starting.and_then(|_| started.recv().unwrap_or_else(|_| Err(Errno::EAGAIN.into())));
    panic::set_hook(Box::new(move |panic| usual(panic)));
    runtime
}

/// Runs this future on a thread of this name with a runtime of its own.
///
/// # Errors
/// The system gives no thread, or no means to wait for sockets.
pub fn on_own_thread(name: &str, work: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    let (sender, started) = mpsc::channel();
    // The thread makes the runtime, because a task of another runtime must not drop one.
    let serving = move || match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let _ = sender.send(Ok(()));
            runtime.block_on(work);
        }
        Err(error) => drop(sender.send(Err(error))),
    };
    thread::Builder::new().name(name.to_owned()).spawn(serving)?;
    started.recv().unwrap_or_else(|_| Err(Errno::EAGAIN.into()))
}
