//! The main function of a reaper process.
//!
//! The reaper has no runtime and one thread. Standard input is its connection to the Worker. Standard output and
//! standard error are those of the process that it starts. It leads its own process group and blocks all signals, so it
//! outlives requests to end that are meant for others.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::time::Duration;

use firesteel_host::own_program::OwnProgram;
use firesteel_host::process_group::{ProcessGroup, exit_status};
use firesteel_host::{children, start};
use firesteel_protocol::byte_text;
use firesteel_protocol::process::{ExitStatus, NotStarted, Signal, StartFailure, StartStep};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{self, SigSet, SigmaskHow};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeValLike;

use super::control_group::ControlGroup;
use super::message::{self, Ended, Start, StartedProcess};
use super::restraint;

/// How long killed processes may take to end while the Worker waits for the report.
const LIMIT: Duration = Duration::from_secs(10);

/// The same, after the Worker's end.
const LIMIT_ALONE: Duration = Duration::from_secs(60);

/// Starts the process that the Worker names, waits for its end or the Worker's, and ends all of its descendants.
///
/// # Errors
/// The system lacks what a reaper needs.
pub fn run() -> io::Result<()> {
    children::adopt()?;
    let mut worker = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let inherited = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let ends = SigSet::from(signal::Signal::SIGCHLD);
    let ends = SignalFd::with_flags(&ends, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    // If the Worker has ended already, nothing is started.
    let Ok(mut start) = message::receive::<Start>(&mut worker) else { return Ok(()) };
    if !start.may_gain_privileges {
        restraint::gain_no_privileges()?;
    }
    let (control_group, outside) = match start.control_group.take().map(ControlGroup::entered) {
        None => (None, None),
        Some(Ok(group)) => (Some(group), None),
        Some(Err(error)) => (None, Some(error.to_string())),
    };
    // A child inherits the mask of signals.
    inherited.thread_set_mask()?;
    let spawned = restraint::killed_first(|| match start.reach.take() {
        None => spawn(start),
        Some(reach) => {
            let program = start.program.clone();
            let spawned = restraint::confined(&reach, || spawn(start));
            spawned.unwrap_or_else(|error| {
                let failure = StartFailure { step: StartStep::Program, error: format!("{program}: {error}") };
                Err(failure.into())
            })
        }
    });
    SigSet::all().thread_set_mask()?;
    // While this process was in the control group, the child was started in it.
    let left = control_group.as_ref().map_or(Ok(()), ControlGroup::leave);
    let control_group = control_group.filter(|_| left.is_ok());
    let outside = outside.or(left.err().map(|error| error.to_string()));
    let report = match &spawned {
        Ok((child, _)) => Ok(StartedProcess { pid: child.id(), outside }),
        Err(why) => Err(why.clone()),
    };
    // If the Worker has ended, the wait below ends at once.
    let _ = message::send(&mut worker, &report);
    if let Ok((child, group)) = spawned {
        let ended = wait(child, group, &mut worker, &ends)?;
        let limit = if ended.is_some() { LIMIT } else { LIMIT_ALONE };
        let left = children::end_all(limit, || control_group.iter().for_each(ControlGroup::kill));
        if let Some(status) = ended {
            let is_out_of_memory = control_group.as_ref().is_some_and(ControlGroup::is_out_of_memory);
            let ended = Ended { status, cpu_millis: cpu_millis()?, is_out_of_memory, left };
            let _ = message::send(&mut worker, &ended);
        }
    }
    control_group.iter().for_each(ControlGroup::remove);
    Ok(())
}

fn spawn(start: Start) -> Result<(Child, ProcessGroup), NotStarted> {
    let Start { program, is_own, arguments, variables, directory, account, .. } = start;
    let mut command = if is_own {
        let own = OwnProgram::find().map_err(|error| start::failed(StartStep::Program, &program, &error))?;
        own.command()
    } else {
        Command::new(byte_text::os(&program))
    };
    if let Some(account) = &account {
        account.run(&mut command);
    }
    command
        .args(arguments.iter().map(|word| byte_text::os(word)))
        .envs(variables.iter().map(|(name, value)| (byte_text::os(name), byte_text::os(value))))
        .current_dir(byte_text::path(&directory));
    // What fails is looked for with the rights of the account.
    match account {
        Some(account) => account.act(|| start::spawn_without_runtime(command, &program)),
        None => start::spawn_without_runtime(command, &program),
    }
}

/// Waits until the child ends. Meanwhile passes signals on, and waits for adopted processes that have ended. `None`:
/// the Worker has ended. A signal cannot reach a wrong process: the child's id stays in use until this function has
/// waited for it.
fn wait(
    mut child: Child,
    group: ProcessGroup,
    worker: &mut UnixStream,
    ends: &SignalFd,
) -> io::Result<Option<ExitStatus>> {
    loop {
        while ends.read_signal()?.is_some() {}
        if let Some(status) = child.try_wait()? {
            return Ok(Some(exit_status(Ok(status))));
        }
        children::reap_except(child.id());
        let mut fds =
            [PollFd::new(worker.as_fd(), PollFlags::POLLIN), PollFd::new(ends.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        if fds[0].any().unwrap_or(true) {
            match message::receive::<Signal>(&mut *worker) {
                Ok(signal) => group.signal(signal),
                Err(_) => return Ok(None),
            }
        }
    }
}

/// The processor time of all children that this process has waited for, and of those that they have waited for.
fn cpu_millis() -> io::Result<u64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let millis = usage.user_time().num_milliseconds() + usage.system_time().num_milliseconds();
    Ok(u64::try_from(millis).unwrap_or_default())
}
