//! The `firesteel` command: words on the command line become settings, results become tables and exit codes.

mod cli;
mod version;

fn main() -> std::process::ExitCode {
    cli::main()
}
