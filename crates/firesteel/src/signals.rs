//! Who asks a process to end.

use std::fmt;
use std::io::{self, Read};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// A request to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndRequest {
    /// SIGTERM.
    Terminate,
    /// SIGINT: ctrl-c.
    Interrupt,
    /// Standard input has ended: the process that held its other end is gone.
    StdinClosed,
}

impl fmt::Display for EndRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Terminate => "SIGTERM",
            Self::Interrupt => "SIGINT",
            Self::StdinClosed => "standard input is at its end",
        })
    }
}

/// Requests to end, as they come.
#[derive(Debug)]
pub struct EndRequests {
    terminate: Signal,
    interrupt: Signal,
    stdin: Option<mpsc::Receiver<()>>,
}

impl EndRequests {
    /// Catches SIGTERM and SIGINT from now on.
    ///
    /// # Errors
    /// The system does not let signals be caught.
    pub fn install() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            stdin: None,
        })
    }

    /// The end of standard input counts as well. What is read from it is thrown away.
    #[must_use]
    pub fn and_end_of_stdin(mut self) -> Self {
        let (sender, receiver) = mpsc::channel(1);
        self.stdin = Some(receiver);
        // A thread of its own: the runtime would wait for a read that never returns.
        std::thread::spawn(move || {
            let mut scrap = [0; 4096];
            let mut stdin = io::stdin().lock();
            loop {
                match stdin.read(&mut scrap) {
                    Ok(1..) => {}
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => break,
                }
            }
            // The daemon may have ended meanwhile.
            let _ = sender.blocking_send(());
        });
        self
    }

    /// Waits for the next request.
    pub async fn next(&mut self) -> EndRequest {
        let stdin_closed = async {
            match &mut self.stdin {
                Some(closed) => {
                    let _ = closed.recv().await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => EndRequest::Terminate,
            _ = self.interrupt.recv() => EndRequest::Interrupt,
            () = stdin_closed => EndRequest::StdinClosed,
        }
    }
}
