//! The file with the secret of a local cluster. With this secret, other commands of the same user can connect, such as
//! `firesteel status` with the Master's URL that a session shows.
//!
//! ```text
//! <temporary directory>/firesteel-cluster-XXXXXX/key     the Master's URL, and the secret, a line each
//! ```
//!
//! Only the owner of the file can read it. A file that belongs to another user is ignored.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use firesteel_host::net::Keyring;
use firesteel_protocol::address::Address;
use firesteel_protocol::secret::Secret;
use nix::fcntl::OFlag;
use nix::unistd::geteuid;

use crate::scratch;

pub const FILE: &str = "key";

/// The maximum number of bytes to read from the file.
const LONGEST: u64 = 1024;

/// Writes the file into the directory of a cluster.
///
/// # Errors
/// The file cannot be written.
pub(super) fn keep(directory: &Path, master: &Address, secret: &Secret) -> io::Result<()> {
    let path = directory.join(FILE);
    // A kept directory may contain the file of an earlier cluster.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{}\n{}", master.url(), secret.reveal())
}

/// The keys of the local cluster with one of these Masters, if this user has started the cluster.
#[must_use]
pub fn of(masters: &[Address]) -> Option<Keyring> {
    let parent = std::env::temp_dir();
    let secret = masters.iter().find_map(|master| within(&parent, master))?;
    Some(Keyring::of_local_cluster(&secret))
}

fn within(parent: &Path, master: &Address) -> Option<Secret> {
    // Local clusters listen on loopback.
    if !master.host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback()) {
        return None;
    }
    let entries = fs::read_dir(parent).ok()?.flatten();
    let clusters = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(scratch::CLUSTER));
    clusters.into_iter().find_map(|cluster| read(&cluster.path(), master))
}

/// The secret in a cluster's directory, if the file belongs to this user and names this Master.
fn read(directory: &Path, master: &Address) -> Option<Secret> {
    let is_ours = |about: &fs::Metadata| about.uid() == geteuid().as_raw();
    if !fs::symlink_metadata(directory).is_ok_and(|about| about.is_dir() && is_ours(&about)) {
        return None;
    }
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(directory.join(FILE)).ok()?;
    if !file.metadata().is_ok_and(|about| about.is_file() && is_ours(&about)) {
        return None;
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    let (url, secret) = text.strip_suffix('\n')?.split_once('\n')?;
    (url == master.url() && !secret.is_empty()).then(|| Secret::new(secret))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_secret_is_found_by_the_address_of_its_master_and_only_its_owner_can_read_it() {
        let parent = tempfile::tempdir().expect("a directory");
        let (one, other) = (Address::new("127.0.0.1", 4001), Address::new("127.0.0.1", 4002));
        for (number, master) in [("AAAAAA", &one), ("BBBBBB", &other)] {
            let directory = parent.path().join(format!("{}{number}", scratch::CLUSTER));
            fs::create_dir(&directory).expect("it can be made");
            keep(&directory, master, &Secret::new(number)).expect("it can be written");
            keep(&directory, master, &Secret::new(number)).expect("it can be written again");
            let mode = fs::metadata(directory.join(FILE)).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(within(parent.path(), &one), Some(Secret::new("AAAAAA")));
        assert_eq!(within(parent.path(), &other), Some(Secret::new("BBBBBB")));
        assert_eq!(within(parent.path(), &Address::new("127.0.0.1", 4003)), None);
        assert_eq!(within(parent.path(), &Address::new("node-1", 4001)), None);
    }

    #[test]
    fn what_is_no_file_of_a_cluster_is_not_followed() {
        let parent = tempfile::tempdir().expect("a directory");
        let master = Address::new("127.0.0.1", 4001);
        let real = parent.path().join("real");
        fs::create_dir(&real).expect("it can be made");
        keep(&real, &master, &Secret::new("hush")).expect("it can be written");
        let linked = parent.path().join(format!("{}AAAAAA", scratch::CLUSTER));
        symlink(&real, &linked).expect("a link");
        let links = parent.path().join(format!("{}BBBBBB", scratch::CLUSTER));
        fs::create_dir(&links).expect("it can be made");
        symlink(real.join(FILE), links.join(FILE)).expect("a link");
        assert_eq!(within(parent.path(), &master), None);
        for text in
            ["", "\n", "spark://127.0.0.1:4001", "spark://127.0.0.1:4001\n", "spark://127.0.0.1:4001\n\n"]
        {
            fs::remove_file(links.join(FILE)).expect("it is there");
            fs::write(links.join(FILE), text).expect("it can be written");
            assert_eq!(within(parent.path(), &master), None, "{text:?}");
        }
    }
}
