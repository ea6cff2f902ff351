//! The ids of applications, executors, Workers, tasks and connections. Ids are never reused.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            #[must_use]
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($number:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $number);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

text_id! {
    /// An application: `app-yyyyMMddHHmmss-0000`. The Master makes the id.
    AppId
}
text_id! {
    /// A Worker: `worker-yyyyMMddHHmmss-host-port`. The Worker makes the id at its start and keeps it until it ends.
    WorkerId
}
text_id! {
    /// A cluster driver: `driver-yyyyMMddHHmmss-0000`. The Master makes the id.
    DriverId
}
text_id! {
    /// A container, in the cluster manager's notation: `container_1795209755042_0001_01_000002`.
    ContainerId
}
number_id! {
    /// An executor's number within its application, starting at 0.
    ExecutorId(u32)
}
number_id! {
    /// A resource profile's number within its application. 0 is the default profile.
    ProfileId(u32)
}
number_id! {
    /// A task's number within its application. Later tasks have higher numbers. Firesteel's own commands start at 1, so
    /// that the numbers equal those of input lines and items.
    TaskId(u64)
}
number_id! {
    /// The number of one fetch of an application's files. The Worker assigns it.
    FetchId(u64)
}
number_id! {
    /// The number of a connection. The daemon that owns the connection assigns the number, and the state machine sees
    /// only this number. A peer that reconnects gets another number.
    PeerId(u64)
}

impl TaskId {
    pub const FIRST: Self = Self(1);
}

impl ProfileId {
    pub const DEFAULT: Self = Self(0);
}

/// The id of an executor: its application's id and its number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ExecutorKey {
    pub app: AppId,
    pub executor: ExecutorId,
}

/// Formats the key as `app-20261120212235-0000/3`.
impl fmt::Display for ExecutorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.app, self.executor)
    }
}

impl fmt::Debug for ExecutorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptId {
    pub task: TaskId,
    /// The attempt's number within the task, starting at 0.
    pub attempt: u32,
}

/// Formats the first attempt at task 17 as `17.0`.
impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.task, self.attempt)
    }
}

/// Whether a text can be an id: 1 to 200 ASCII letters, digits, `-`, `_` or `.`, but no `.` at the beginning. Ids
/// become names of directories, so any other id from a peer is refused.
#[must_use]
pub fn is_sound(text: &str) -> bool {
    (1..=200).contains(&text.len())
        && !text.starts_with('.')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_leave_a_directory_are_not_sound() {
        for bad in ["", ".", "..", "../x", "a/b", "a b", "a\n", "é", &"x".repeat(201)] {
            assert!(!is_sound(bad), "{bad:?}");
        }
        for good in ["app-20261120212235-0000", "worker-20261120212235-10.0.0.7-7078", "w-2026-[::1]-1"] {
            assert_eq!(is_sound(good), !good.contains('['), "{good:?}");
        }
    }

    #[test]
    fn keys_read_like_paths() {
        let key = ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(3) };
        assert_eq!(key.to_string(), "app-1/3");
        assert_eq!(AttemptId { task: TaskId(17), attempt: 0 }.to_string(), "17.0");
    }
}
