//! The queues that a Master shares its cluster among.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Queues with their weights, in the order in which they were named. None at all: applications are served first in,
/// first out, as Spark's Master does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Queues(Vec<Queue>);

/// A queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its name; no two have the same.
    pub name: String,
    /// What it is owed, beside the others' weights: 1 to [`Queues::MOST_WEIGHT`].
    pub weight: u32,
}

/// What is wrong with a list of queues, or with the name of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// Not `NAME=WEIGHT` with a name of letters, digits, `-`, `_` and `.`, and a weight that is none too large.
    #[error("{text:?} is no queue: write NAME=WEIGHT, with a weight from 1 to {most}", most = Queues::MOST_WEIGHT)]
    Unsound {
        /// The text that was found.
        text: String,
    },
    /// Two queues of one name.
    #[error("there are two queues called {name}")]
    Twice {
        /// The name, as given.
        name: String,
    },
    /// More queues than [`Queues::MOST`].
    #[error("there are {count} queues: at most {most}", most = Queues::MOST)]
    TooMany {
        /// The number found.
        count: usize,
    },
    /// There is no queue of that name.
    #[error("there is no queue {name:?}: {}", if known.is_empty() {
        "this Master has no queues (firesteel.master.queues)".to_owned()
    } else {
        format!("this Master has {known}")
    })]
    Unknown {
        /// The name, cut if it is long.
        name: String,
        /// The names of those that there are.
        known: String,
    },
}

impl Queues {
    /// The greatest weight.
    pub const MOST_WEIGHT: u32 = 1_000_000;
    /// How many queues there may be: each is looked at for every executor that is given.
    pub const MOST: usize = 1_000;
    /// Of a name that is not known so many characters are worth saying.
    const LONGEST_SAID: usize = 100;

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The queues, in the order in which they were named.
    pub fn iter(&self) -> impl Iterator<Item = &Queue> {
        self.0.iter()
    }

    /// The number of the queue of an application that asks for that one. One that asks for none is in the one called
    /// `default`, and where there is no such queue, in the first. Where there are no queues it is in none, number 0.
    ///
    /// # Errors
    /// There is no such queue.
    pub fn find(&self, asked: Option<&str>) -> Result<usize, QueueError> {
        let named = |name: &str| self.0.iter().position(|queue| queue.name == name);
        let Some(name) = asked else { return Ok(named("default").unwrap_or(0)) };
        named(name).ok_or_else(|| {
            let known: Vec<&str> = self.0.iter().map(|queue| queue.name.as_str()).collect();
            let name = name.chars().take(Self::LONGEST_SAID).collect();
            QueueError::Unknown { name, known: known.join(", ") }
        })
    }

    /// The queue of that number, if there are any.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&Queue> {
        self.0.get(number)
    }
}

/// `prod=3,dev=1`. Nothing at all is no queues.
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

/// A queue without a weight has one of 1.
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
            ("prod=0", "\"prod=0\" is no queue: write NAME=WEIGHT, with a weight from 1 to 1000000"),
            ("=3", "\"=3\" is no queue: write NAME=WEIGHT, with a weight from 1 to 1000000"),
            ("a b=3", "\"a b=3\" is no queue: write NAME=WEIGHT, with a weight from 1 to 1000000"),
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
