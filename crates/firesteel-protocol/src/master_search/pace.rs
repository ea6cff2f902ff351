//! How often and how long a Master is sought.

use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// The range of the factor that each pause is multiplied with, so that not all seekers come back at once. Source: Spark
/// Worker, 4.0.1, which draws it once only.
const JITTER: std::ops::Range<f64> = 0.5..1.5;

/// How often rounds begin.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The pause after the first round. It doubles with each round.
    pub first: Duration,
    /// The longest pause of a seeker that was never registered.
    pub longest: Duration,
    /// The longest pause of one that was: a Master that returns should have it soon.
    pub returning: Duration,
    /// The pause after a Master that stood by has hung up: it leads now, or another one does.
    pub soon: Duration,
}

/// When a seeker that was never registered gives up. One that was seeks without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    After(Duration),
    /// When this number of rounds has failed.
    Rounds(u32),
}

/// This pause, as long as chance has it.
pub(super) fn jittered(pause: Duration, chance: &mut ChaCha8Rng) -> Duration {
    pause.mul_f64(chance.random_range(JITTER))
}
