//! `firesteel secret`: makes the files with which the parts of a cluster prove who they are.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand, ValueEnum, ValueHint};
use firesteel_daemons::secret::credentials::{Credentials, CredentialsError, Rotation};
use firesteel_host::net::{Purpose, UserName};
use firesteel_host::plain;

use super::exit::{self, Exit, Failure};

const CODES: &str = "Examples:
  firesteel secret new credentials
  firesteel secret grant user credentials for-users

Exit codes: 0 done; 1 a file cannot be read or written; 2 wrong usage.";

/// The options of `firesteel secret`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  firesteel secret new /etc/firesteel/credentials
  firesteel secret grant worker /etc/firesteel/credentials worker-credentials
  firesteel secret grant user --name ann /etc/firesteel/credentials ~ann/credentials

Masters use the file of new. Workers and people use a granted file, which does not allow more than it is for. All of them name \
their file in firesteel.credentials.file, or in FIRESTEEL_CREDENTIALS_FILE. Only its owner may be able to read a file.

With --name a user has secrets of his own: applications belong to this user, whatever the client says, and revoke takes them back. \
Bring the file of the cluster to the Masters after each of the two. A user with a name ends nothing of others' and \
reads none of their logs, unless the Master's spark.modify.acls, spark.admin.acls or, for logs, spark.ui.view.acls names him. Without --name all users are alike.

To replace the secret of a running cluster, rotate the file with add, then switch, then drop. After each step grant the files \
again, and bring all of them to their machines, in the place of the earlier ones. Programs read their file every two seconds.

Exit codes: 0 done; 1 a file cannot be read or written; 2 wrong usage.")]
pub(super) struct Args {
    #[command(subcommand)]
    command: SecretCommand,
}

#[derive(Debug, Subcommand)]
enum SecretCommand {
    /// Make a file with a new secret of a cluster
    #[command(after_help = CODES)]
    New(NewFile),
    /// Make a file for Workers, users, administrators or a monitor from the file of a cluster
    #[command(after_help = CODES)]
    Grant(Grant),
    /// Take the secrets of a user back: the file of the cluster no longer names the user
    #[command(after_help = CODES)]
    Revoke(Revoke),
    /// Print what the secrets of a file are for, and fingerprints that tell whether two files have the same secret
    #[command(after_help = CODES)]
    Show(File),
    /// Print the password of pages, JSON and metrics, of REST, or the secret of Spark's applications
    #[command(after_help = CODES)]
    Password(Password),
    /// Replace the secret of a cluster, step by step
    #[command(after_help = CODES)]
    Rotate(Rotate),
}

#[derive(Debug, ClapArgs)]
struct NewFile {
    /// The file to make, which must not exist
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
}

#[derive(Debug, ClapArgs)]
struct File {
    /// File with credentials
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
}

#[derive(Debug, ClapArgs)]
struct Grant {
    /// Who uses the new file
    #[arg(value_name = "WHO")]
    holder: Holder,
    /// File of the cluster
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// The file to make, which must not exist
    #[arg(value_name = "NEW_FILE", value_hint = ValueHint::FilePath)]
    new_file: PathBuf,
    /// Grant it to the user with this name, to whom applications then belong; adds the name to the file of the cluster
    #[arg(long, value_name = "NAME", value_parser = user)]
    name: Option<UserName>,
}

fn user(text: &str) -> Result<UserName, String> {
    let sound = "a name has letters, digits, '.', '-' and '_', and no more than 32 of them";
    UserName::new(text).ok_or_else(|| sound.to_owned())
}

#[derive(Debug, ClapArgs)]
struct Revoke {
    /// The user's name
    #[arg(value_name = "NAME", value_parser = user)]
    name: UserName,
    #[command(flatten)]
    file: File,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Holder {
    /// Workers: register with a Master, and run what it assigns
    Worker,
    /// Users: submit and watch applications, kill their own, and read logs
    User,
    /// Administrators: what users may, kill what belongs to others, and decommission Workers
    Admin,
    /// Monitors: read pages, JSON and metrics
    Monitor,
}

impl Holder {
    fn purposes(self) -> &'static [Purpose] {
        match self {
            Self::Worker => &Purpose::OF_WORKERS,
            Self::User => &[Purpose::Submit, Purpose::Pages, Purpose::Rest, Purpose::Spark],
            Self::Admin => &[Purpose::Admin, Purpose::Pages, Purpose::Spark],
            Self::Monitor => &[Purpose::Pages],
        }
    }
}

#[derive(Debug, ClapArgs)]
struct Password {
    #[command(flatten)]
    file: File,
    /// Print the password for submissions by REST instead
    #[arg(long)]
    rest: bool,
    /// Print the secret of Spark's applications instead, for spark.authenticate.secret
    #[arg(long, conflicts_with = "rest")]
    spark: bool,
    /// Print the password of administrators instead, which is right for pages, their forms and REST
    #[arg(long, conflicts_with_all = ["rest", "spark"])]
    admin: bool,
}

#[derive(Debug, ClapArgs)]
struct Rotate {
    /// The step
    #[arg(value_name = "STEP")]
    step: Step,
    #[command(flatten)]
    file: File,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Step {
    /// Also accept a new secret
    Add,
    /// Use the new secret, and also accept the old one
    Switch,
    /// Accept only the secret in use
    Drop,
}

impl From<Step> for Rotation {
    fn from(step: Step) -> Self {
        match step {
            Step::Add => Self::Add,
            Step::Switch => Self::Switch,
            Step::Drop => Self::Drop,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let done = match &args.command {
        SecretCommand::New(NewFile { file }) => Credentials::draw().create(file),
        SecretCommand::Grant(Grant { holder, file, new_file, name }) => {
            if name.is_some() && !matches!(holder, Holder::User) {
                return Err(Failure::of(Exit::Usage, "only a user has a name: leave --name out".to_owned()));
            }
            grant(*holder, file, new_file, name.as_ref())
        }
        SecretCommand::Revoke(Revoke { name, file: File { file } }) => {
            let revoked = Credentials::open(file).and_then(|cluster| cluster.without_user(file, name));
            revoked.and_then(|cluster| cluster.replace(file))
        }
        SecretCommand::Show(File { file }) => {
            let credentials = Credentials::open(file).map_err(|error| failure(&error))?;
            return exit::written(print(&credentials));
        }
        SecretCommand::Password(Password { file: File { file }, rest, spark, admin }) => {
            let keys = Credentials::open(file).map_err(|error| failure(&error))?.keys();
            let purpose = match (rest, spark, admin) {
                (true, ..) => Purpose::Rest,
                (_, true, _) => Purpose::Spark,
                (.., true) => Purpose::Admin,
                _ => Purpose::Pages,
            };
            let Some(password) = keys.secret(purpose) else {
                let words = format!("{} has no password for {purpose}", file.display());
                return Err(Failure::of(Exit::Failure, words));
            };
            return exit::written(writeln!(plain::stdout(), "{}", password.reveal()));
        }
        SecretCommand::Rotate(Rotate { step, file: File { file } }) => {
            let rotated = Credentials::open(file).and_then(|cluster| cluster.rotated(file, (*step).into()));
            rotated.and_then(|rotated| rotated.replace(file))
        }
    };
    done.map(|()| Exit::Done).map_err(|error| failure(&error))
}

fn grant(
    holder: Holder,
    file: &Path,
    new_file: &Path,
    name: Option<&UserName>,
) -> Result<(), CredentialsError> {
    let cluster = Credentials::open(file)?;
    cluster.granted(file, holder.purposes(), name)?.create(new_file)?;
    match name {
        Some(name) if cluster.users().all(|user| user != name) => {
            cluster.and_user(name.clone()).replace(file)
        }
        _ => Ok(()),
    }
}

fn print(credentials: &Credentials) -> io::Result<()> {
    let mut stdout = plain::stdout();
    for (number, (scope, fingerprint)) in credentials.shown().enumerate() {
        let is_first = credentials.shown().position(|(other, _)| other == scope) == Some(number);
        let state = if is_first { "in use" } else { "also accepted" };
        writeln!(stdout, "{scope:<8} {fingerprint}  {state}")?;
    }
    for user in credentials.users() {
        writeln!(stdout, "user     {user}")?;
    }
    Ok(())
}

fn failure(error: &CredentialsError) -> Failure {
    Failure::with(Exit::Failure, error)
}
