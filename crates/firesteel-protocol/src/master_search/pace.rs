//! How often and how long a Master is sought.

use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Each pause is multiplied with a random factor from this range. So seekers do not all come back at once. Source:
/// Spark Worker, 4.0.1, which draws it once only.
const JITTER: std::ops::Range<f64> = 0.5..1.5;

/// How often rounds begin.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The pause after the first round. It doubles with each round.
    pub first: Duration,
    /// The longest pause of a seeker that was never registered.
    pub longest: Duration,
    /// The longest pause of a seeker that was registered before, which should find a returning Master soon.
    pub returning: Duration,
    /// The pause after a standby Master has closed the connection: it leads now, or another Master does.
    pub soon: Duration,
}

/// When a seeker that was never registered gives up. A seeker that was registered never gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    After(Duration),
    Rounds(u32),
}

/// This pause, multiplied with a random factor from [`JITTER`].
pub(super) fn jittered(pause: Duration, chance: &mut ChaCha8Rng) -> Duration {
    pause.mul_f64(chance.random_range(JITTER))
}
