//! `firesteel config`: prints the settings in effect (`show`) and checks them (`check`).

mod check;
mod show;

use std::io::{self, Write};

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use firesteel_settings::Reader;
use serde::Serialize;

use super::choice::{self, Choice, Flag};
use super::exit::{Exit, Failure};
use super::worker;
use check::Check;
use show::Show;

/// The two questions.
#[derive(Debug, ClapArgs)]
#[command(after_help = "  firesteel config check
  firesteel config show --origin

Exit codes: 0 done; 2 wrong usage; 78 a setting keeps a command from starting.")]
pub(super) struct Args {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Subcommand)]
enum Question {
    /// Check every property and variable that is set: read, ignored, unsupported or wrong
    Check(Check),
    /// Show the effective value of every property
    Show(Show),
}

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum For {
    /// A Master
    Master,
    /// A Worker
    Worker,
    /// Commands that submit applications: map, shell, launch
    Application,
}

impl From<For> for Reader {
    fn from(reader: For) -> Self {
        match reader {
            For::Master => Self::Master,
            For::Worker => Self::Worker,
            For::Application => Self::Application,
        }
    }
}

/// Runs the subcommand.
pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    match args.question {
        Question::Check(check) => check.run(),
        Question::Show(show) => show.run(),
    }
}

/// The error in the chosen value of a daemon's flag, if there is one.
fn wrong(flag: &Flag, choice: &Choice) -> Option<String> {
    let failure = match flag.name {
        "--cores" => worker::cores(choice).err(),
        "--memory" => worker::memory(choice).err(),
        "--port" => choice::port(choice).err(),
        "--host" => choice::host(choice).err(),
        _ => None,
    };
    failure.map(|failure| failure.sentence().to_owned())
}

fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer_pretty(&mut stdout, value)?;
    writeln!(stdout)
}
