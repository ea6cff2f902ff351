//! `firesteel plan`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use firesteel_sim::plan::{self, LineError};

use super::exit::{self, Exit, Failure};

/// Where the questions are.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Nothing is started: the answers are what a Master would decide. Each line of FILE is a JSON object, either one \
placement call (one application over workers in a given order) or one scheduling pass (applications over \
workers, first in, first out); each answer is a line, {\"i\":..,\"assigned_cores\":[..]} or \
{\"i\":..,\"launches\":[..],\"apps_after\":[..]}. fixtures/placement/README.md in Firesteel's repository describes the formats. \
The answers before a line that cannot be used stand.

  firesteel plan --jsonl questions.jsonl
  zcat fixtures/placement/schedule-a.jsonl.gz | firesteel plan --jsonl -

Exit codes: 0 done; 1 failed; 2 wrong usage, or a line that cannot be used.")]
pub(super) struct Args {
    /// A file of questions, one a line; - is standard input
    #[arg(long, value_name = "FILE")]
    jsonl: PathBuf,
}

/// Answers every line.
pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.jsonl == Path::new("-") {
        return answer("standard input", io::stdin().lock());
    }
    let name = args.jsonl.display().to_string();
    let file = File::open(&args.jsonl)
        .map_err(|error| Failure::of(Exit::Usage, format!("cannot open {name}: {error}")))?;
    answer(&name, BufReader::new(file))
}

fn answer(name: &str, input: impl BufRead) -> Result<Exit, Failure> {
    let mut output = BufWriter::new(io::stdout().lock());
    let result = answer_each(input, &mut output);
    // What was answered before an error stands.
    let flushed = output.flush();
    match result {
        Ok(()) => exit::written(flushed),
        Err(Stop::Write(error)) => exit::written(Err(error)),
        Err(Stop::Line(error)) => Err(Failure::of(Exit::Usage, format!("{name}: {error}"))),
    }
}

/// Why no more is answered.
enum Stop {
    Line(LineError),
    Write(io::Error),
}

fn answer_each(input: impl BufRead, output: &mut impl Write) -> Result<(), Stop> {
    for answer in plan::answers(input) {
        plan::write_line(output, &answer.map_err(Stop::Line)?).map_err(Stop::Write)?;
    }
    Ok(())
}
