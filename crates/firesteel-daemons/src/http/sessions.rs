//! Readers of pages who have signed in. Each has a cookie in the place of the password.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use firesteel_protocol::secret::Secret;
use hyper::header::{COOKIE, HeaderMap};
use sha2::{Digest, Sha256};

use crate::secret::random;

/// How long a cookie is valid.
const LIFE: Duration = Duration::from_secs(12 * 60 * 60);

/// The most readers who are signed in. The one who signed in first gives way to another one.
const MOST: usize = 1000;

/// The sessions of a server.
#[derive(Debug)]
pub(super) struct Sessions {
    /// The name of the cookie. Servers of one machine share cookies, so it has the port in it.
    cookie: String,
    /// Whether the cookie is for HTTPS only.
    is_secure: bool,
    /// By the digest of the cookie's value, so that the time of a search tells nothing about the values.
    live: Mutex<BTreeMap<[u8; 32], Session>>,
}

#[derive(Debug)]
struct Session {
    /// The password with which the reader signed in. The session is over when it is no longer right.
    password: Secret,
    until: Instant,
}

impl Sessions {
    pub(super) fn new(port: u16, is_secure: bool) -> Self {
        Self { cookie: format!("firesteel-{port}"), is_secure, live: Mutex::default() }
    }

    /// Begins a session. Returns the value of `Set-Cookie`.
    pub(super) fn begin(&self, password: Secret, now: Instant) -> String {
        let value = Secret::of_bytes(random::<32>());
        let mut live = self.live();
        live.retain(|_, session| session.until > now);
        if live.len() >= MOST {
            let first = live.iter().min_by_key(|(_, session)| session.until).map(|(digest, _)| *digest);
            first.and_then(|digest| live.remove(&digest));
        }
        live.insert(digest(value.reveal()), Session { password, until: now + LIFE });
        self.set(value.reveal(), LIFE)
    }

    /// Ends the session of a request with these headers. Returns the value of `Set-Cookie`.
    pub(super) fn end(&self, headers: &HeaderMap) -> String {
        if let Some(value) = self.value(headers) {
            self.live().remove(&digest(value));
        }
        self.set("", Duration::ZERO)
    }

    /// The password of the reader who sends a request with these headers.
    pub(super) fn password(&self, headers: &HeaderMap, now: Instant) -> Option<Secret> {
        let digest = digest(self.value(headers)?);
        let live = self.live();
        let session = live.get(&digest).filter(|session| session.until > now)?;
        Some(session.password.clone())
    }

    /// The value of the cookie in these headers.
    fn value<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let texts = headers.get_all(COOKIE).iter().filter_map(|text| text.to_str().ok());
        let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == self.cookie).map(|(_, value)| value)
    }

    fn set(&self, value: &str, life: Duration) -> String {
        let mut set =
            format!("{}={value}; Path=/; Max-Age={}; HttpOnly; SameSite=Lax", self.cookie, life.as_secs());
        if self.is_secure {
            let _ = write!(set, "; Secure");
        }
        set
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<[u8; 32], Session>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest(value: &str) -> [u8; 32] {
    Sha256::digest(value).into()
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn with_cookie(set: &str) -> HeaderMap {
        let pair = set.split(';').next().expect("a pair");
        let text = format!("other=1; {pair}; firesteel-1=x");
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(&text).expect("it is text"))])
    }

    #[test]
    fn a_cookie_stands_for_the_password_until_its_time_is_over_or_its_reader_leaves() {
        let (sessions, now) = (Sessions::new(8080, false), Instant::now());
        let set = sessions.begin(Secret::new("hush"), now);
        assert!(set.starts_with("firesteel-8080=") && !set.contains("hush"), "{set}");
        assert!(set.ends_with("; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax"), "{set}");
        assert!(Sessions::new(1, true).begin(Secret::new("x"), now).ends_with("; Secure"));
        let headers = with_cookie(&set);
        let known = |now| sessions.password(&headers, now).map(|password| password.reveal().to_owned());
        assert_eq!(known(now).as_deref(), Some("hush"));
        assert_eq!(known(now + LIFE), None);
        assert_eq!(Sessions::new(8081, false).password(&headers, now).map(|_| ()), None);
        for wrong in ["firesteel-8080=", "firesteel-8080=x", "firesteel-8080"] {
            assert!(sessions.password(&with_cookie(wrong), now).is_none(), "{wrong}");
        }
        let gone = sessions.end(&headers);
        assert!(gone.starts_with("firesteel-8080=; ") && gone.contains("Max-Age=0;"), "{gone}");
        assert_eq!(known(now), None);
    }

    #[test]
    fn there_is_a_most_of_sessions_and_the_first_gives_way() {
        let (sessions, now) = (Sessions::new(8080, false), Instant::now());
        let begin = |after: u64| sessions.begin(Secret::new("hush"), now + Duration::from_secs(after));
        let (first, second) = (begin(0), begin(1));
        for after in 2..=MOST as u64 {
            begin(after);
        }
        assert_eq!(sessions.live().len(), MOST);
        assert!(sessions.password(&with_cookie(&first), now).is_none());
        assert!(sessions.password(&with_cookie(&second), now).is_some());
    }
}
