//! `firesteel yarn kill`: ends applications.

use firesteel_host::plain;
use std::io::Write as _;

use clap::Args as ClapArgs;
use firesteel_yarn::messages::records::ApplicationId;
use firesteel_yarn_mode::states::{is_over, state};

use super::{ClusterArgs, ask, codes, report};
use crate::cli::ask::user_at_host;
use crate::cli::exit::{Exit, Failure};
use crate::cli::help;

const EXAMPLES: &str = "  firesteel yarn kill application_1700000000123_0007";

/// Which applications end.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("yarn kill", EXAMPLES), after_long_help = codes(EXAMPLES))]
pub(super) struct Kill {
    /// Ids of the applications
    #[arg(value_name = "APP", required = true)]
    apps: Vec<ApplicationId>,
    #[command(flatten)]
    site: ClusterArgs,
}

/// Ends the applications one by one, and prints the result of each.
pub(super) fn run(args: &Kill) -> Result<Exit, Failure> {
    let site = args.site.site()?;
    let mut exit = Exit::Done;
    for app in &args.apps {
        let done = report(&site, *app).and_then(|report| {
            let state_before = report.yarn_application_state();
            if is_over(state_before) {
                return Err(Failure::of(
                    Exit::Failure,
                    format!("{app} was over already: {}", state(state_before)),
                ));
            }
            let why = format!("killed by {}", user_at_host());
            ask(&site, |client| async move { client.kill(*app, &why).await })
        });
        match done {
            Ok(()) => {
                // The reader may be gone. The applications are ended all the same.
                let _ = writeln!(plain::stdout(), "killed {app}");
            }
            Err(failure) if failure.exit() == Exit::Failure => {
                exit = Exit::Failure;
                let _ = writeln!(plain::stderr(), "firesteel: {}", plain::clean(failure.sentence()));
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(exit)
}
