//! Requests that ask a process to end: signals, and the end of standard input.

use std::fs;
use std::io::{self, Read};

use crate::service_manager;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

pub use firesteel_protocol::EndRequest;

#[derive(Debug)]
pub struct EndRequests {
    /// The stream of SIGTERM. `None` if another process handles this signal for the daemon; the next two fields can be
    /// `None` for the same reason.
    terminate: Option<Signal>,
    interrupt: Option<Signal>,
    /// The stream of SIGHUP. Also `None` if the process was started with SIGHUP ignored, as by `nohup`.
    hang_up: Option<Signal>,
    stdin: Option<mpsc::Receiver<()>>,
    passed_on: Option<mpsc::Receiver<EndRequest>>,
}

impl EndRequests {
    /// Catches SIGTERM, SIGINT and SIGHUP from now on. If SIGHUP is already ignored, it stays ignored.
    ///
    /// # Errors
    /// The system does not allow signals to be caught.
    pub fn install() -> io::Result<Self> {
        Ok(Self {
            terminate: Some(signal(SignalKind::terminate())?),
            interrupt: Some(signal(SignalKind::interrupt())?),
            hang_up: if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup())?) },
            stdin: None,
            passed_on: None,
        })
    }

    /// A stream without any request, for a daemon that only its own process ends.
    #[must_use]
    pub fn none() -> Self {
        Self { terminate: None, interrupt: None, hang_up: None, stdin: None, passed_on: None }
    }

    /// A stream of requests that another task receives and passes on.
    #[must_use]
    pub fn passed_on(requests: mpsc::Receiver<EndRequest>) -> Self {
        Self { passed_on: Some(requests), ..Self::none() }
    }

    /// Also treats the end of standard input as a request. Discards data read from it.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn and_end_of_stdin(mut self) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel(1);
        self.stdin = Some(receiver);
        // A thread of its own, because the runtime would wait for a read that never returns.
        std::thread::Builder::new().spawn(move || {
            let mut scrap = [0; 4096];
            let mut stdin = io::stdin().lock();
            loop {
                match stdin.read(&mut scrap) {
                    Ok(1..) => {}
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => break,
                }
            }
            // The daemon may have ended already.
            let _ = sender.blocking_send(());
        })?;
        Ok(self)
    }

    /// Waits for the next request. The end of standard input is reported only once, because a second request makes the
    /// daemon end at once.
    pub async fn next(&mut self) -> EndRequest {
        let stdin_closed = async {
            match &mut self.stdin {
                Some(closed) => closed.recv().await,
                None => std::future::pending().await,
            }
        };
        let passed_on = async {
            match &mut self.passed_on {
                Some(requests) => requests.recv().await,
                None => std::future::pending().await,
            }
        };
        let request = tokio::select! {
            Some(request) = passed_on => request,
            () = raised(&mut self.terminate) => EndRequest::Terminate,
            () = raised(&mut self.interrupt) => EndRequest::Interrupt,
            () = raised(&mut self.hang_up) => EndRequest::HangUp,
            _ = stdin_closed => {
                self.stdin = None;
                EndRequest::StdinClosed
            }
        };
        service_manager::stopping();
        request
    }
}

async fn raised(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            let _ = signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

fn ignores_hang_up() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| ignored(&status, SignalKind::hangup()))
}

/// Whether the signal is ignored, by the mask in `/proc/<pid>/status`: `SigIgn: 0000000000000001`.
fn ignored(status: &str, kind: SignalKind) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn the_mask_says_what_is_ignored() {
        for (status, expected) in [
            ("Name:\tfiresteel\nSigIgn:\t0000000000000001\n", true),
            ("SigIgn:\t0000000000001003\n", true),
            ("SigIgn:\t0000000000001002\nSigCgt:\t0000000000000001\n", false),
            ("", false),
        ] {
            assert_eq!(ignored(status, SignalKind::hangup()), expected, "{status:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_standard_input_is_one_request() {
        let (sender, closed) = mpsc::channel(1);
        sender.send(()).await.expect("there is room");
        drop(sender);
        let mut requests = EndRequests::install().expect("signals can be caught");
        requests.stdin = Some(closed);
        assert_eq!(requests.next().await, EndRequest::StdinClosed);
        let second = timeout(Duration::from_secs(3600), requests.next()).await;
        assert!(second.is_err(), "{second:?}");
    }
}
