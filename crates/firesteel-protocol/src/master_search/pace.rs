//! How often and for how long a seeker searches for a Master.

use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Each pause is multiplied by a random factor from this range, so that seekers do not all return at the same time.
/// Source: Spark Worker, 4.0.1, which draws the factor only once.
const JITTER: std::ops::Range<f64> = 0.5..1.5;

/// How often rounds begin.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The pause after the first round. It doubles with each round.
    pub first: Duration,
    /// The longest pause of a seeker that was never registered.
    pub longest: Duration,
    /// The longest pause of a seeker that was registered before. It is short, so that the seeker finds a returning
    /// Master soon.
    pub returning: Duration,
    /// The pause after a standby Master has closed the connection: either this Master or another one leads now.
    pub soon: Duration,
}

/// When a seeker that was never registered gives up. A seeker that was registered never gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    After(Duration),
    Rounds(u32),
}

/// This pause, multiplied by a random factor from [`JITTER`].
pub(super) fn jittered(pause: Duration, chance: &mut ChaCha8Rng) -> Duration {
    pause.mul_f64(chance.random_range(JITTER))
}
