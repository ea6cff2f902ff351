//! Waiting times of applications.

use std::time::Duration;

use crate::trace::TraceApplication;

/// Waiting times, shortest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits(Vec<Duration>);

impl Waits {
    pub(super) fn of(waits: impl Iterator<Item = Duration>) -> Self {
        let mut waits: Vec<_> = waits.collect();
        waits.sort_unstable();
        Self(waits)
    }

    /// All waiting times, shortest first.
    #[must_use]
    pub fn all(&self) -> &[Duration] {
        &self.0
    }

    /// The mean in seconds. 0 if there are no waiting times.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.0.iter().map(Duration::as_secs_f64).sum::<f64>() / self.0.len().max(1) as f64
    }

    /// The quantile in seconds, by nearest rank: 0.5 is the median, 1.0 the longest. 0 if there are no waiting times.
    #[must_use]
    pub fn quantile(&self, part: f64) -> f64 {
        let rank = (self.0.len() as f64 * part).ceil() as usize;
        self.0.get(rank.max(1) - 1).map_or(0.0, Duration::as_secs_f64)
    }

    /// The waiting times of several replays together.
    #[must_use]
    pub fn merged(all: &[&Self]) -> Self {
        Self::of(all.iter().flat_map(|waits| waits.0.iter().copied()))
    }
}

/// Classes of applications by the cores that they request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SizeClass {
    /// Under 16 cores.
    Small,
    /// 16 to 127 cores.
    Medium,
    /// 128 cores and more.
    Large,
}

impl SizeClass {
    pub const ALL: [Self; 3] = [Self::Small, Self::Medium, Self::Large];

    #[must_use]
    pub fn of(application: &TraceApplication) -> Self {
        let cores = u64::try_from(application.request.cores().0).unwrap_or(0);
        match cores.saturating_mul(application.executors) {
            0..16 => Self::Small,
            16..128 => Self::Medium,
            128.. => Self::Large,
        }
    }

    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Small => "under 16 cores",
            Self::Medium => "16 to 127 cores",
            Self::Large => "128 cores and more",
        }
    }
}
