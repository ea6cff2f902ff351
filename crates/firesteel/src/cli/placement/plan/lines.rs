//! `firesteel plan --jsonl`: answers one question per line.

use firesteel_host::plain;
use firesteel_host::standard;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use firesteel_sim::plan::{self, LineError};

use crate::cli::exit::{self, Exit, Failure};

/// Answers every question of the file.
pub(super) fn run(path: &Path) -> Result<Exit, Failure> {
    if path == Path::new("-") {
        let stdin = standard::stdin()
            .map_err(|error| Failure::of(Exit::Usage, format!("cannot read standard input: {error}")))?;
        return answer("standard input", stdin.lock());
    }
    let name = path.display().to_string();
    let file =
        File::open(path).map_err(|error| Failure::of(Exit::Usage, format!("cannot open {name}: {error}")))?;
    answer(&name, BufReader::new(file))
}

fn answer(name: &str, input: impl BufRead) -> Result<Exit, Failure> {
    let mut output = BufWriter::new(plain::json());
    let result = answer_each(input, &mut output);
    // Prints the answers that came before an error.
    let flushed = output.flush();
    match result {
        Ok(()) => exit::written(flushed),
        Err(Stop::Write(error)) => exit::written(Err(error)),
        Err(Stop::Line(error)) => Err(Failure::of(Exit::Usage, format!("{name}: {error}"))),
    }
}

/// Why answering stopped early.
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
