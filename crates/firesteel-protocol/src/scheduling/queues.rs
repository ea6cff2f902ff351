//! The queues that share a Master's cluster.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Queues with their weights, in the order of the setting. If there are no queues, applications are served first in,
/// first out, as in Spark.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Queues(Vec<Queue>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The name of the queue. No other queue has this name.
    pub name: String,
    /// The queue's share in relation to the other weights: 1 to [`Queues::MOST_WEIGHT`].
    pub weight: u32,
}

/// Why a list of queues or a queue's name is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// The text is not `NAME=WEIGHT`. The name consists of letters, digits, `-`, `_` and `.`, and the weight has a
    /// limit.
    #[error("{text:?} is not a queue: write NAME=WEIGHT, with a weight from 1 to {most}", most = Queues::MOST_WEIGHT)]
    Unsound { text: String },
    #[error("there are two queues called {name}")]
    Twice { name: String },
    /// There are more queues than [`Queues::MOST`].
    #[error("there are {count} queues: at most {most}", most = Queues::MOST)]
    TooMany { count: usize },
    #[error("there is no queue {name:?}: {}", if known.is_empty() {
        "this Master has no queues (firesteel.master.queues)".to_owned()
    } else {
        format!("this Master has {known}")
    })]
    Unknown {
        /// The name that the application asked for, cut if it is long.
        name: String,
        /// The names of the existing queues.
        known: String,
    },
}

impl Queues {
    /// The largest weight of a queue.
    pub const MOST_WEIGHT: u32 = 1_000_000;
    /// The maximum number of queues. It is limited because the Master looks at all queues for each executor that it
    /// grants.
    pub const MOST: usize = 1_000;
    /// The number of characters of an unknown name that an error shows.
    const LONGEST_SAID: usize = 100;

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The queues in the order of the setting.
    pub fn iter(&self) -> impl Iterator<Item = &Queue> {
        self.0.iter()
    }

    /// The number of the queue that an application asks for. If the application names no queue, this is the queue
    /// called `default`, or else the first. If there are no queues, this is 0.
    ///
    /// # Errors
    /// No queue has the name that was asked for.
    pub fn find(&self, asked: Option<&str>) -> Result<usize, QueueError> {
        let named = |name: &str| self.0.iter().position(|queue| queue.name == name);
        let Some(name) = asked else { return Ok(named("default").unwrap_or(0)) };
        named(name).ok_or_else(|| {
            let known: Vec<&str> = self.0.iter().map(|queue| queue.name.as_str()).collect();
            let name = name.chars().take(Self::LONGEST_SAID).collect();
            QueueError::Unknown { name, known: known.join(", ") }
        })
    }

    #[must_use]
    pub fn get(&self, number: usize) -> Option<&Queue> {
        self.0.get(number)
    }
}

/// Parsed from `prod=3,dev=1`. An empty text means no queues.
impl FromStr for Queues {
    type Err = QueueError;

    fn from_str(text: &str) -> Result<Self, QueueError> {
        let mut queues: Vec<Queue> = Vec::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let queue = queue(word).ok_or_else(|| QueueError::Unsound { text: word.to_owned() })?;
            if queues.iter().any(|other| other.name == queue.name) {
                return Err(QueueError::Twice { name: queue.name });
            }
            queues.push(queue);
        }
        match queues.len() {
            count if count > Self::MOST => Err(QueueError::TooMany { count }),
            _ => Ok(Self(queues)),
        }
    }
}

impl TryFrom<String> for Queues {
    type Error = QueueError;

    fn try_from(text: String) -> Result<Self, QueueError> {
        text.parse()
    }
}

impl From<Queues> for String {
    fn from(queues: Queues) -> Self {
        queues.to_string()
    }
}

/// Parses one queue. A queue without a weight has weight 1.
fn queue(word: &str) -> Option<Queue> {
    let (name, weight) = word.split_once('=').unwrap_or((word, "1"));
    let is_sound = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let weight = weight.parse().ok().filter(|weight| (1..=Queues::MOST_WEIGHT).contains(weight))?;
    let named = !name.is_empty() && name.len() <= Queues::LONGEST_SAID && name.chars().all(is_sound);
    named.then(|| Queue { name: name.to_owned(), weight })
}

impl fmt::Display for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Queue { name, weight }) in self.0.iter().enumerate() {
            write!(f, "{}{name}={weight}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_read_and_written() {
        for (text, written) in [
            ("", ""),
            ("prod=3,dev=1", "prod=3,dev=1"),
            (" a , b=2,", "a=1,b=2"),
            ("x.y-z_1=1000000", "x.y-z_1=1000000"),
        ] {
            let queues: Queues = text.parse().expect(text);
            assert_eq!(queues.to_string(), written);
            assert_eq!(written.parse(), Ok(queues));
        }
    }

    #[test]
    fn what_is_no_queue_is_told() {
        for (text, said) in [
            ("prod=0", "\"prod=0\" is not a queue: write NAME=WEIGHT, with a weight from 1 to 1000000"),
            ("=3", "\"=3\" is not a queue: write NAME=WEIGHT, with a weight from 1 to 1000000"),
            ("a b=3", "\"a b=3\" is not a queue: write NAME=WEIGHT, with a weight from 1 to 1000000"),
            ("a=1,a=2", "there are two queues called a"),
        ] {
            assert_eq!(text.parse::<Queues>().expect_err(text).to_string(), said);
        }
    }

    #[test]
    fn an_application_is_in_the_queue_that_it_names_or_in_the_default_one() {
        let found = |queues: &str, asked| {
            let queues: Queues = queues.parse().expect("they are queues");
            queues.find(asked).map_err(|error| error.to_string())
        };
        assert_eq!(found("prod=3,dev=1", Some("dev")), Ok(1));
        assert_eq!(found("prod=3,dev=1", None), Ok(0));
        assert_eq!(found("prod=3,default=1", None), Ok(1));
        assert_eq!(found("", None), Ok(0));
        let unknown = "there is no queue \"x\": this Master has prod, dev".to_owned();
        assert_eq!(found("prod=3,dev=1", Some("x")), Err(unknown));
        let none = "there is no queue \"x\": this Master has no queues (firesteel.master.queues)".to_owned();
        assert_eq!(found("", Some("x")), Err(none));
    }
}
