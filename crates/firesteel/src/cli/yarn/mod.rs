//! `firesteel yarn`: shows and ends any application on a YARN cluster. `request` and `program`
//! prepare applications that `map`, `launch` and `shell` submit there; the other modules are the
//! subcommands.

mod apps;
mod kill;
mod logs;
pub(super) mod program;
pub(super) mod request;
mod status;

use clap::{Args as ClapArgs, Subcommand};
use firesteel_settings::reference;
use firesteel_settings::variables::Environment;
use firesteel_yarn::YarnClient;
use firesteel_yarn::ipc::{CallError, Kind};
use firesteel_yarn::messages::application::ApplicationReport;
use firesteel_yarn::messages::records::ApplicationId;
use firesteel_yarn_mode::site::{RetryLimit, Site};

use super::block_on;
use super::exit::{Exit, Failure};
use super::help;
use super::options::conf::Conf;

/// The options of `firesteel yarn`, which asks a YARN cluster.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("yarn", EXAMPLES), after_long_help = format!("{}\n\n{}", codes(EXAMPLES), reference::help_on_yarn()))]
pub(super) struct Args {
    #[command(subcommand)]
    command: YarnCommand,
}

#[derive(Debug, Subcommand)]
enum YarnCommand {
    /// List applications that are not over, or those in the states of --state
    Apps(apps::Apps),
    /// Show one application
    Status(status::Status),
    /// Kill applications
    Kill(kill::Kill),
    /// Show what the containers of a running application wrote
    Logs(logs::Logs),
}

const EXAMPLES: &str = "  firesteel yarn apps
  firesteel yarn status application_1700000000123_0007
  firesteel yarn kill application_1700000000123_0007
  firesteel yarn logs application_1700000000123_0007 --stderr";

/// The help below the options of each command.
fn codes(examples: &str) -> String {
    format!(
        "The cluster is that of yarn-site.xml and core-site.xml in $HADOOP_CONF_DIR or $YARN_CONF_DIR. Properties that \
         begin with spark.hadoop. override those files: --conf spark.hadoop.yarn.resourcemanager.hostname=HOST. The \
         user is $HADOOP_USER_NAME, or else the user of this process. firesteel help yarn lists the properties for \
         applications on YARN.\n\n{examples}\n\nExit codes: 0 done; 1 failed, or the application is not known; 2 \
         wrong usage; 69 no ResourceManager could be reached; 75 it did not answer in time; 76 what listens there is something else; 78 a settings file or variable is wrong."
    )
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        YarnCommand::Apps(args) => apps::run(args),
        YarnCommand::Status(args) => status::run(args),
        YarnCommand::Kill(args) => kill::run(args),
        YarnCommand::Logs(args) => logs::run(args),
    }
}

/// The options that name the YARN cluster to ask.
#[derive(Debug, ClapArgs)]
struct ClusterArgs {
    #[command(flatten)]
    conf: Conf,
}

impl ClusterArgs {
    fn site(&self) -> Result<Site, Failure> {
        let properties = self.conf.on_yarn()?;
        Site::of(&Environment::of_this_process(), &properties)
            .map_err(|error| Failure::with(Exit::Configuration, &error))
    }
}

/// Runs a closure that sends one or several requests to a cluster.
fn ask<T, F: Future<Output = Result<T, CallError>>>(
    site: &Site,
    call: impl FnOnce(YarnClient) -> F,
) -> Result<T, Failure> {
    let answer = block_on(async {
        let client = site.client(RetryLimit::Short)?;
        call(client).await.map_err(|error| site.explained(error))
    });
    answer?.map_err(|error| Failure::asked(&error))
}

fn report(site: &Site, application: ApplicationId) -> Result<ApplicationReport, Failure> {
    let unknown = || {
        let words = "is not known, or no longer known; firesteel yarn apps --state all lists all known ones";
        Failure::of(Exit::Failure, format!("{application} {words}"))
    };
    let asked = ask(site, |client| async move {
        match client.report(application).await {
            Err(error) if error.kind() == Some(Kind::ApplicationNotFound) => Ok(None),
            answer => answer.map(Some),
        }
    });
    asked?.ok_or_else(unknown)
}
