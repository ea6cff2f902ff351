//! The `firesteel` command: turns the command line into settings, and results into tables and exit codes.

mod cli;
mod version;

/// A simulation takes twice the processor time with musl's own allocator.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
