//! The command of an application's executors.

use std::collections::BTreeMap;

use firesteel_protocol::address::Address;
use firesteel_protocol::executor_trouble::{DRIVER_FLAG, SUBCOMMAND};
use firesteel_protocol::process::{Command, Placeholder};
use firesteel_protocol::secret::{EXECUTOR_SECRET, Secret};

/// The argument that makes an executor encrypt its connection.
const ENCRYPTED: &str = "--encrypted";

/// The command that Workers run. It does not contain the secret, because other users of the machine can read the
/// arguments of a process.
pub(crate) fn executor_command(driver: &Address, secret: &Secret, is_encrypted: bool) -> Command {
    let words = [
        (DRIVER_FLAG, driver.to_string()),
        ("--app-id", Placeholder::AppId.word().to_owned()),
        ("--executor-id", Placeholder::ExecutorId.word().to_owned()),
        ("--resource-profile-id", Placeholder::ResourceProfileId.word().to_owned()),
        ("--worker-id", Placeholder::WorkerId.word().to_owned()),
        ("--hostname", Placeholder::Hostname.word().to_owned()),
        ("--cores", Placeholder::Cores.word().to_owned()),
        ("--resources", Placeholder::Resources.word().to_owned()),
    ];
    let flags = words.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
    let encrypted = is_encrypted.then(|| ENCRYPTED.to_owned());
    Command {
        program: Placeholder::Firesteel.word().to_owned(),
        arguments: std::iter::once(SUBCOMMAND.to_owned()).chain(flags).chain(encrypted).collect(),
        environment: BTreeMap::from([(EXECUTOR_SECRET.to_owned(), secret.reveal().to_owned())]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executors_command_has_every_word_that_its_worker_fills_in() {
        let command = executor_command(&Address::new("me", 7100), &Secret::new("hush"), false);
        assert_eq!(
            command.to_string(),
            "{{FIRESTEEL}} executor --driver-url me:7100 --app-id {{APP_ID}} --executor-id {{EXECUTOR_ID}} \
             --resource-profile-id {{RESOURCE_PROFILE_ID}} --worker-id {{WORKER_ID}} --hostname {{HOSTNAME}} --cores {{CORES}} \
             --resources {{RESOURCES}}"
        );
        assert_eq!(
            command.environment.into_iter().collect::<Vec<_>>(),
            [(EXECUTOR_SECRET.into(), "hush".into())]
        );
        let encrypted = executor_command(&Address::new("me", 7100), &Secret::new("hush"), true);
        assert_eq!(encrypted.arguments.last().map(String::as_str), Some(ENCRYPTED));
        assert!(!encrypted.to_string().contains("hush"));
    }
}
