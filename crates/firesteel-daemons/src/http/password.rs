//! The password of a server's pages: who may send requests.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use firesteel_host::net::{Granted, Keyring, Purpose, UserName};
use firesteel_protocol::messages::Rights;
use firesteel_settings::http::HttpSettings;
use firesteel_settings::token_key::TokenKey;
use hyper::header::AUTHORIZATION;
use hyper::http::HeaderMap;

use crate::secret::token;

/// Who sends a request, as the password shows.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    /// The user to whom the password was granted. `None`: it was granted to nobody in particular.
    pub(super) user: Option<UserName>,
    pub(super) rights: Rights,
}

/// The passwords and tokens that a server accepts.
#[derive(Clone, Debug)]
pub(crate) struct Passwords {
    keyring: Option<(Keyring, Purpose)>,
    token_key: Option<TokenKey>,
}

impl Passwords {
    /// A server that answers everybody.
    #[cfg(test)]
    pub(crate) const NONE: Self = Self { keyring: None, token_key: None };

    /// The passwords of a cluster for this purpose, and the tokens that these settings admit. Without keys and tokens,
    /// everybody is answered.
    pub(crate) fn of(keyring: Option<&Keyring>, purpose: Purpose, settings: &HttpSettings) -> Self {
        let keyring = keyring.map(|keyring| (keyring.clone(), purpose));
        Self { keyring, token_key: settings.token_key.clone() }
    }

    /// Who sends a request with these headers. `None`: they have no right password, as `Authorization: Bearer
    /// PASSWORD`, or as `Basic` with any name of a user.
    pub(super) fn sender(&self, headers: &HeaderMap) -> Option<Sender> {
        if !self.are_needed() {
            return Some(Sender { user: None, rights: Rights::Admin });
        }
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        self.of_password(&value.to_str().ok().and_then(password)?)
    }

    /// Who has this password or token. `None`: it is not right, or none is needed.
    pub(super) fn of_password(&self, shown: &str) -> Option<Sender> {
        let granted = self.keyring.as_ref().and_then(|(keyring, purpose)| keyring.password(*purpose, shown));
        if let Some(Granted { user, rights, .. }) = granted {
            return Some(Sender { user, rights });
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let is_right = token::is_right(shown, self.token_key.as_ref()?, now);
        // A token proves no name, and allows what a password of nobody in particular does.
        let rights = match &self.keyring {
            Some((_, purpose)) => purpose.rights_of_all(),
            None => Rights::Admin,
        };
        is_right.then_some(Sender { user: None, rights })
    }

    pub(super) fn are_needed(&self) -> bool {
        self.keyring.is_some() || self.token_key.is_some()
    }
}

/// The password in the value of a header.
fn password(value: &str) -> Option<String> {
    let (scheme, shown) = value.trim().split_once(' ')?;
    let shown = shown.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(shown.to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let both = String::from_utf8(BASE64_STANDARD.decode(shown).ok()?).ok()?;
    both.split_once(':').map(|(_, password)| password.to_owned())
}

#[cfg(test)]
mod tests {
    use firesteel_host::net::Keys;
    use firesteel_protocol::secret::Secret;
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn a_request_needs_one_of_the_passwords_if_there_are_keys() {
        let none = Passwords::of(None, Purpose::Pages, &HttpSettings::OFF);
        let old = Keys::default().with(Purpose::Pages, &Secret::new("old"));
        let both = old.with(Purpose::Pages, &Secret::new("new")).with(Purpose::Rest, &Secret::new("rest"));
        let of = |keys| Passwords::of(Some(&Keyring::new(keys)), Purpose::Pages, &HttpSettings::OFF);
        let (pages, nobody) = (of(both), of(Keys::default()));
        let basic = |text: &str| format!("Basic {}", BASE64_STANDARD.encode(text));
        for (value, is_right) in [
            ("Bearer old".to_owned(), true),
            ("bearer  new ".to_owned(), true),
            (basic("ann:old"), true),
            (basic(":new"), true),
            (basic("a:b:new"), false),
            (basic("old"), false),
            ("Basic old".to_owned(), false),
            ("Bearer rest".to_owned(), false),
            ("Bearer".to_owned(), false),
            ("Bearer ".to_owned(), false),
            ("old".to_owned(), false),
            ("Digest old".to_owned(), false),
            ("Bearer Old".to_owned(), false),
        ] {
            let headers =
                HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(&value).expect("it is text"))]);
            assert_eq!(pages.sender(&headers).is_some(), is_right, "{value}");
            assert!(none.sender(&headers).is_some() && nobody.sender(&headers).is_none(), "{value}");
        }
        assert!(none.sender(&HeaderMap::new()).is_some() && pages.sender(&HeaderMap::new()).is_none());
        let mut twice = HeaderMap::new();
        twice.append(AUTHORIZATION, HeaderValue::from_static("Bearer old"));
        twice.append(AUTHORIZATION, HeaderValue::from_static("Bearer new"));
        assert!(pages.sender(&twice).is_none(), "of two, it is not clear which one counts");
    }
}
