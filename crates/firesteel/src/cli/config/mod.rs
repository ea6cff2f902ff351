//! `firesteel config`: prints the settings in effect (`show`) and checks them (`check`), also for what they leave open
//! (`security`).

mod check;
mod security;
mod show;

use firesteel_host::plain;
use std::io::{self, Write};

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use firesteel_settings::Reader;
use serde::Serialize;

use super::daemon::worker;
use super::exit::{Exit, Failure};
use super::options::flag_value::{self, Flag, FlagValue};
use check::Check;
use show::Show;

/// The options of `firesteel config`: check or show.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  firesteel config check
  firesteel config show --origin

Exit codes: 0 done; 2 wrong usage; 78 a setting keeps a command from starting.")]
pub(super) struct Args {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Check every property and variable that is set: read, ignored, unsupported or wrong
    Check(Check),
    /// Show the effective value of every property
    Show(Show),
}

/// A program that reads properties, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReaderArg {
    /// A Master
    Master,
    /// A Worker
    Worker,
    /// Commands that submit applications: map, shell, launch
    Application,
}

impl From<ReaderArg> for Reader {
    fn from(reader: ReaderArg) -> Self {
        match reader {
            ReaderArg::Master => Self::Master,
            ReaderArg::Worker => Self::Worker,
            ReaderArg::Application => Self::Application,
        }
    }
}

pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    match args.command {
        ConfigCommand::Check(check) => check.run(),
        ConfigCommand::Show(show) => show.run(),
    }
}

/// The error in the chosen value of a daemon's flag, if there is one.
fn wrong(flag: &Flag, value: &FlagValue) -> Option<String> {
    let failure = match flag.name {
        "--cores" => worker::cores(value).err(),
        "--memory" => worker::memory(value).err(),
        "--port" => flag_value::port(value).err(),
        "--host" => flag_value::host(value).err(),
        _ => None,
    };
    failure.map(|failure| failure.sentence().to_owned())
}

fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut stdout = plain::json();
    serde_json::to_writer_pretty(&mut stdout, value)?;
    writeln!(stdout)
}
