//! Copies the output of a detached run while it is written.

use std::fs::File;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use super::{DetachedRun, RunState};

/// The interval at which the files are read.
const TICK: Duration = Duration::from_millis(100);

/// Copies all output of a run, from the beginning until the run's driver has ended. Blocks the calling thread until
/// then.
///
/// # Errors
/// The output cannot be read or written.
pub fn follow(run: &DetachedRun, mut stdout: impl Write, mut stderr: impl Write) -> io::Result<RunState> {
    let (mut output, mut errors) = (File::open(run.stdout())?, File::open(run.stderr())?);
    loop {
        // Checked before reading: a driver that has ended writes nothing more.
        let state = run.state();
        io::copy(&mut output, &mut stdout)?;
        stdout.flush()?;
        io::copy(&mut errors, &mut stderr)?;
        stderr.flush()?;
        if state.is_ended() {
            return Ok(state);
        }
        thread::sleep(TICK);
    }
}
