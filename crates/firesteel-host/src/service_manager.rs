//! The service manager that started a daemon, such as systemd. The daemon reports when it is ready, what it is doing,
//! and that its loop still runs. Without a service manager, nothing is sent.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::{Instant, sleep_until};

/// Reports that the daemon is ready, and describes what it does in a few words for `systemctl status`.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Reports what the daemon is doing now.
pub fn status(status: &str) {
    tell(&[NotifyState::Status(status)]);
}

pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!("cannot speak to the service manager: {error}");
    }
}

/// Reports periodically that a loop still runs. If the service manager gets no report within its timeout
/// (`WatchdogSec=`), it kills and restarts the daemon.
#[derive(Debug)]
pub struct Watchdog {
    /// Half of the service manager's timeout. `None` if the service manager does not watch this process.
    every: Option<Duration>,
    next: Instant,
}

impl Watchdog {
    /// A watchdog whose first report is due at once, if this process is watched.
    #[must_use]
    pub fn start() -> Self {
        Self { every: sd_notify::watchdog_enabled().map(|time| time / 2), next: Instant::now() }
    }

    /// Waits until a report is due. Never returns if this process is not watched.
    pub async fn due(&self) {
        match self.every {
            Some(_) => sleep_until(self.next).await,
            None => std::future::pending().await,
        }
    }

    /// Reports that the loop still runs, if a report is due.
    pub fn turn(&mut self) {
        if let Some(every) = self.every
            && self.next <= Instant::now()
        {
            tell(&[NotifyState::Watchdog]);
            self.next = Instant::now() + every;
        }
    }

    /// Reports that the runtime still runs, as long as this future is polled.
    pub async fn keep(mut self) -> std::convert::Infallible {
        loop {
            self.due().await;
            self.turn();
        }
    }
}
