use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::account::Account;

/// A directory with these executable files.
fn files(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::write(&path, text).expect("it can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    directory
}

async fn output(command: Command) -> Result<String, NotStarted> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (child, _) = spawn(command, &name, |command| {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        Ok(())
    })?;
    let output = child.wait_with_output().await.expect("it ends");
    Ok(String::from_utf8(output.stdout).expect("it is text"))
}

fn failure(step: StartStep, error: &str) -> NotStarted {
    StartFailure { step, error: error.to_owned() }.into()
}

#[tokio::test]
async fn an_executable_text_without_an_interpreter_is_run_by_the_shell_as_execvp_does() {
    let at = files(&[("job", "echo \"$WORD $1 $0\"\n"), ("empty", "")]);
    let path = at.path().join("job");
    for program in ["./job", "job"] {
        let mut command = Command::new(program);
        command.arg("1").env("WORD", "ran").env("PATH", at.path()).current_dir(at.path());
        let found = output(command).await.expect("it is run");
        assert!(found.starts_with("ran 1 ") && found.ends_with("/job\n"), "{program}: {found}");
    }
    assert_eq!(output(Command::new(at.path().join("empty"))).await, Ok(String::new()));
    let mut relative = Command::new("./job");
    relative.current_dir(at.path());
    assert_eq!(file_of(&relative), Some(at.path().join("./job")));
    assert_eq!(file_of(&Command::new(&path)), Some(path));
}

#[tokio::test]
async fn a_program_of_another_machine_is_not_given_to_the_shell() {
    let at = files(&[("arm", "\u{7f}ELF\u{2}\u{1}\u{1}\0\0\0")]);
    let path = at.path().join("arm");
    let expected = format!("{}: Exec format error (os error 8)", path.display());
    assert_eq!(output(Command::new(&path)).await, Err(failure(StartStep::Lookup, &expected)));
}

#[tokio::test]
async fn a_missing_interpreter_is_named_and_is_no_missing_program() {
    let at = files(&[
        ("tool", "#!/opt/conda/bin/python -u\nprint(1)\n"),
        ("dos", "#!/bin/sh\r\necho\r\n"),
        ("directory", "#!/tmp\n"),
        ("sound", "#!/bin/sh\necho sound\n"),
    ]);
    fs::write(at.path().join("mode"), "#!/bin/sh\n").expect("it can be written");
    for (name, expected) in [
        ("tool", Err("its interpreter /opt/conda/bin/python is not found")),
        ("dos", Err("its interpreter /bin/sh\\r is not found: its first line ends with a carriage return")),
        ("directory", Err("its interpreter /tmp cannot be run")),
        ("nowhere", Err("not found")),
        ("mode", Err("Permission denied (os error 13)")),
        ("sound", Ok("sound\n")),
    ] {
        let program = format!("./{name}");
        let mut command = Command::new(&program);
        command.current_dir(at.path());
        let expected = expected
            .map(str::to_owned)
            .map_err(|error| failure(StartStep::Lookup, &format!("{program}: {error}")));
        assert_eq!(output(command).await, expected, "{name}");
    }
}

#[test]
fn a_directory_that_may_not_be_entered_is_named() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let closed = scratch.path().join("closed");
    fs::create_dir(&closed).expect("there is room");
    for (path, mode) in [(scratch.path(), 0o711), (&closed, 0o000)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    let path = closed.to_str().expect("it is text");
    let denied = io::Error::from(Errno::EACCES);
    let expected = failure(StartStep::Directory, &format!("{path}: {denied}"));
    let mut command = Command::new("sh");
    command.current_dir(&closed);
    let try_it = || (enter(path), not_started(&command, "sh", &denied));
    // Root enters all.
    let found = match Account::find("nobody") {
        Ok(nobody) => nobody.act(try_it),
        Err(_) => try_it(),
    };
    assert_eq!(found, (Err(expected.clone()), expected));
}

#[tokio::test]
async fn a_program_that_is_being_written_is_a_shortage() {
    let at = files(&[("busy", "#!/bin/sh\n")]);
    let path = at.path().join("busy");
    let writer = fs::OpenOptions::new().append(true).open(&path).expect("it can be written");
    let found = output(Command::new(&path)).await.expect_err("it is being written");
    assert_eq!(found.fault, Fault::Shortage, "{found:?}");
    drop(writer);
    assert_eq!(output(Command::new(&path)).await, Ok(String::new()));
}

#[test]
fn what_passes_is_a_shortage_and_nothing_else() {
    for (error, expected) in [
        (Errno::EAGAIN, Fault::Shortage),
        (Errno::EMFILE, Fault::Shortage),
        (Errno::ENFILE, Fault::Shortage),
        (Errno::ENOMEM, Fault::Shortage),
        (Errno::ETXTBSY, Fault::Shortage),
        (Errno::ENOSPC, Fault::Command),
        (Errno::EACCES, Fault::Command),
        (Errno::EIO, Fault::Command),
    ] {
        let error = io::Error::from(error);
        assert_eq!(failed(StartStep::Output, "stdout", &error).fault, expected, "{error}");
        assert_eq!(not_started(&Command::new("x"), "x", &error).fault, expected, "{error}");
    }
}
