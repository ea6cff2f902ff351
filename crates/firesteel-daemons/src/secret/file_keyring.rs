//! The keyring of a program with a file of credentials, whose keys change with the file.

use std::ffi::CString;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use firesteel_host::net::{Keyring, Keys, Purpose, Replacer, Transition, UserName};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::time::millis;
use firesteel_protocol::{Timestamp, byte_text};
use firesteel_settings::access_lists::AccessLists;
use firesteel_settings::{Properties, keys};
use nix::unistd::{Group, User, getgrouplist};

use super::credentials::{Credentials, CredentialsError};

/// How often a program reads the file that it uses.
const BETWEEN_READS: Duration = Duration::from_secs(2);

/// After this number of reads the groups of the users are looked up again.
const READS_OF_GROUPS: u32 = 30;

/// The names of a user's groups, from the system's lists. A user whom the system does not know has none.
fn groups_of(user: &UserName) -> Vec<String> {
    let Ok(Some(known)) = User::from_name(user.as_str()) else { return Vec::new() };
    let name = CString::new(user.as_str()).expect("a name has no zero byte");
    let groups = getgrouplist(&name, known.gid).unwrap_or_default();
    let names = groups.into_iter().filter_map(|group| Group::from_gid(group).ok().flatten());
    names.map(|group| group.name).collect()
}

/// The keys of the file that these properties name. `None`: they name none, and connections are in the clear. A thread
/// reads the file again whenever it has changed, as long as somebody uses the keys. Until `optional_until` peers that
/// show no secret are admitted, too.
///
/// # Errors
/// The file cannot be used.
pub fn keyring_of(
    properties: &Properties,
    optional_until: Option<Timestamp>,
) -> Result<Option<Keyring>, CredentialsError> {
    let Some(path) = properties.get(keys::CREDENTIALS_FILE) else { return Ok(None) };
    let path = byte_text::path(path);
    let path = std::path::absolute(&path).unwrap_or(path);
    let credentials = Credentials::open(&path)?;
    let transition = optional_until.filter(|until| *until > now()).map(Transition::new);
    // Applications that have had it under Spark's Master keep it.
    let of_spark = properties.get(keys::AUTHENTICATE_SECRET).map(Secret::new);
    let lists = AccessLists::of(properties);
    let has_groups = lists.name_groups();
    let keys_of = move |credentials: &Credentials| {
        let keys = of_spark.iter().fold(credentials.keys(), |keys, secret| keys.with(Purpose::Spark, secret));
        keys.with_rights(|user| {
            let groups = if has_groups { groups_of(user) } else { Vec::new() };
            lists.rights(user.as_str(), &groups)
        })
    };
    let keyring = Keyring::new(keys_of(&credentials)).with_transition(transition.clone());
    let replacer = keyring.replacer();
    let following = thread::Builder::new().name("credentials".to_owned());
    let following = following
        .spawn(move || follow(&path, credentials, (&keys_of, has_groups), transition.as_ref(), &replacer));
    if let Err(error) = following {
        tracing::warn!(
            "changes of {} will not be noticed: cannot start a thread: {error}",
            keys::CREDENTIALS_FILE
        );
        if let Some(transition) = keyring.transition() {
            transition.end();
        }
    }
    Ok(Some(keyring))
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(millis(since))
}

/// Replaces the keys whenever the file has others, and from time to time if they depend on groups of the system's.
/// While the file cannot be used, the keys stay as they are. Ends the transition when its time is over.
fn follow(
    path: &Path,
    mut credentials: Credentials,
    (keys_of, has_groups): (&impl Fn(&Credentials) -> Keys, bool),
    mut transition: Option<&Transition>,
    replacer: &Replacer,
) {
    let (mut failed, mut reads) = (None, 0);
    while replacer.is_in_use() {
        thread::sleep(BETWEEN_READS);
        if let Some(over) = transition.take_if(|transition| transition.until() <= now()) {
            over.end();
            tracing::info!("from now on everybody who connects needs a secret");
        }
        reads = (reads + 1) % READS_OF_GROUPS;
        match Credentials::open(path) {
            Ok(read) if read == credentials => {
                failed = None;
                if has_groups && reads == 0 {
                    let _ = replacer.replace(keys_of(&credentials));
                }
            }
            Ok(read) => {
                let shown = read.shown().map(|(scope, fingerprint)| format!("{scope} {fingerprint}"));
                let shown = shown.collect::<Vec<_>>().join(", ");
                if replacer.replace(keys_of(&read)) {
                    tracing::info!("read new credentials from {}: {shown}", path.display());
                }
                (credentials, failed) = (read, None);
            }
            Err(error) => {
                let words = error.to_string();
                if failed.as_ref() != Some(&words) {
                    tracing::warn!("the credentials stay as they were: {words}");
                    failed = Some(words);
                }
            }
        }
    }
}
