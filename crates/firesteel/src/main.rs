//! The `firesteel` command: turns the command line into settings, and results into tables and exit codes.

mod cli;
mod version;

/// The allocator. With musl's own allocator, a simulation would take twice the processor time.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
