//! Items, arguments, variables and paths that are not UTF-8 arrive byte for byte everywhere.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use firesteel_testkit::{Daemon, firesteel, wait_for};
use serde_json::Value;
use tempfile::TempDir;

/// Names that `find -print0` may print: Latin-1, all bytes above ASCII, a line feed, leading dashes, characters with a
/// meaning for shells, incomplete UTF-8, and characters that stand for bytes in messages.
fn names() -> Vec<Vec<u8>> {
    let all: Vec<u8> = (0x80..=0xff).collect();
    let plain = ["-n", "--master", "new\nline", "$(id) 'quoted' \"twice\" \\", "{", "\u{10feff}", "naïve"];
    let mut names: Vec<Vec<u8>> = plain.iter().map(|name| name.as_bytes().to_vec()).collect();
    names.extend([b"caf\xe9".to_vec(), all, b"\xe6\x9d".to_vec(), b"\xff\xfe\n\xff".to_vec()]);
    names
}

/// The names as a list with this byte after each.
fn list(names: &[Vec<u8>], end: u8) -> Vec<u8> {
    names.iter().flat_map(|name| name.iter().copied().chain([end])).collect()
}

/// Runs a command with this input. Returns its exit code and its outputs.
fn output(command: &mut Command, input: &[u8]) -> (i32, Vec<u8>, String) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary can be started");
    // The list fits into a pipe.
    child.stdin.take().expect("it is piped").write_all(input).expect("it is read");
    let done = child.wait_with_output().expect("it is our child");
    let code = done.status.code().expect("no signal");
    (code, done.stdout, String::from_utf8_lossy(&done.stderr).into_owned())
}

/// A Master and a Worker, in a directory whose name is not UTF-8.
struct Site {
    master: Daemon,
    _worker: Daemon,
    home: PathBuf,
    _directory: TempDir,
}

impl Site {
    fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let home = directory.path().join(OsStr::from_bytes(b"h\xf6me"));
        fs::create_dir(&home).expect("the file system takes any name");
        let master = Daemon::master(&[]);
        let arguments = ["--cores", "2", "--memory", "2g"];
        let worker = Daemon::worker(&master, &home.join(OsStr::from_bytes(b"w\xf6rk")), &arguments);
        master.wait_for_workers(1);
        Self { master, _worker: worker, home, _directory: directory }
    }

    fn command(&self, command: &str) -> Command {
        let mut firesteel = firesteel();
        firesteel.arg("-q").args([command, "--master", self.master.url()]).current_dir(&self.home);
        firesteel.env("XDG_STATE_HOME", self.home.join("state"));
        firesteel
    }
}

const LOCAL: &str = "local-cluster[1,2,1024]";

/// Prints its arguments, each followed by a NUL byte.
const PRINT: [&str; 4] = ["sh", "-c", "for word; do printf '%s\\0' \"$word\"; done", "sh"];

#[test]
fn every_name_of_a_file_is_an_item_on_a_local_cluster_and_on_a_real_one() {
    let site = Site::start();
    let names = names();
    for name in &names {
        fs::write(site.home.join(OsStr::from_bytes(name)), "").expect("the file system takes any name");
    }
    let script = "[ -e \"./$1\" ] && printf '%s\\0' \"$1\"";
    for master in [LOCAL, site.master.url()] {
        let mut map = firesteel();
        map.args(["-q", "map", "--master", master, "-0", "--", "sh", "-c", script, "sh"]);
        let (code, stdout, stderr) = output(map.current_dir(&site.home), &list(&names, 0));
        assert_eq!((code, stdout), (0, list(&names, 0)), "{stderr}");
    }
    // The same words after :::, in place of {}, and in the program's own name.
    let words = names.iter().map(|name| OsStr::from_bytes(name));
    let mut map = site.command("map");
    map.arg("--").args(PRINT).args(["{}", "x{}"]).arg(":::").args(words);
    let (code, stdout, stderr) = output(&mut map, b"");
    let both: Vec<Vec<u8>> =
        names.iter().flat_map(|name| [name.clone(), [b"x", &name[..]].concat()]).collect();
    assert_eq!((code, stdout), (0, list(&both, 0)), "{stderr}");
}

#[test]
fn items_that_failed_are_left_byte_for_byte_and_accepted_again() {
    let site = Site::start();
    let names = names();
    let todo = site.home.join(OsStr::from_bytes(b"t\xf6do"));
    let map = |words: &[&str]| {
        let mut map = site.command("map");
        map.args(["-0", "--conf", "spark.task.maxFailures=1", "--failed"]).arg(&todo).args(words);
        map
    };
    let (code, _, stderr) = output(&mut map(&["--", "false"]), &list(&names, 0));
    assert_eq!((code, fs::read(&todo).expect("it was written")), (1, list(&names, 0)), "{stderr}");
    // One command line reads and writes the file, and its JSON lists the items.
    let mut again = map(&["--summary", "json", "--input"]);
    let (code, _, stderr) = output(again.arg(&todo).args(["--", "false"]), b"");
    assert_eq!((code, fs::read(&todo).expect("it was written")), (1, list(&names, 0)), "{stderr}");
    let summary: Value = serde_json::from_str(stderr.lines().last().expect("a line")).expect("it is JSON");
    let items = summary["failures"].as_array().expect("a list").iter();
    let items: Vec<Vec<u8>> = items.map(|failure| bytes(failure["item"].as_str().expect("a text"))).collect();
    assert_eq!(items, names);
    let mut last = map(&["--input"]);
    let (code, stdout, stderr) = output(last.arg(&todo).arg("--").args(PRINT), b"");
    assert_eq!((code, stdout), (0, list(&names, 0)), "{stderr}");
    assert_eq!(fs::read(&todo).expect("it was written"), b"");
    // Lines, and words after :::.
    let lines = vec![b"caf\xe9".to_vec(), b"-\xff".to_vec()];
    let mut map = site.command("map");
    map.args(["--conf", "spark.task.maxFailures=1", "--failed"]).arg(&todo).args(["--", "false", ":::"]);
    let (code, ..) = output(map.args(lines.iter().map(|line| OsStr::from_bytes(line))), b"");
    assert_eq!((code, fs::read(&todo).expect("it was written")), (1, list(&lines, b'\n')));
}

/// The bytes that a text in JSON stands for, see docs/PROTOCOL.md.
fn bytes(text: &str) -> Vec<u8> {
    let byte = |letter: char| u32::from(letter).checked_sub(0x10_fe00).filter(|b| (0x80..=0xff).contains(b));
    let encoded = |letter: char| match byte(letter) {
        Some(byte) => vec![u8::try_from(byte).expect("it was checked")],
        None => letter.to_string().into_bytes(),
    };
    text.chars().flat_map(encoded).collect()
}

#[test]
fn arguments_variables_directories_and_files_arrive_byte_for_byte() {
    let site = Site::start();
    let word = OsString::from_vec(b"caf\xe9\n\xff".to_vec());
    let print = "printf '%s\\0' \"$1\" \"$WORD\" \"$MORE\" \"$PWD\"";
    let command = |kind: &str| {
        let mut command = site.command(kind);
        command.env("MORE", &word).arg("--env").arg(with("WORD=", &word)).args(["--env", "MORE"]);
        command.arg("--chdir").arg(&site.home);
        command
    };
    let home = site.home.as_os_str().as_bytes().to_vec();
    let word_bytes = word.as_bytes().to_vec();
    let expected = list(&[word_bytes.clone(), word_bytes.clone(), word_bytes, home.clone()], 0);
    let (code, stdout, stderr) =
        output(command("map").args(["--", "sh", "-c", print, "sh"]).arg(":::").arg(&word), b"");
    assert_eq!((code, stdout), (0, expected.clone()), "{stderr}");

    let result = site.home.join("result");
    let print_there = format!("{print} > result");
    let mut launch = command("launch");
    launch.args(["--total-executor-cores", "1", "--", "sh", "-c", &print_there, "sh"]).arg(&word);
    let (code, _, stderr) = output(&mut launch, b"");
    assert_eq!((code, fs::read(&result).expect("it was written")), (0, expected), "{stderr}");

    // A cluster driver, and its Worker's directory.
    let mut submit = site.command("submit");
    let there = "printf '%s\\0' \"$1\" \"${PWD%/*}\" > \"$2\"";
    submit
        .args(["--deploy-mode", "cluster", "--wait", "--", "sh", "-c", there, "sh"])
        .arg(&word)
        .arg(&result);
    let (code, _, stderr) = output(&mut submit, b"");
    let work = site.home.join(OsStr::from_bytes(b"w\xf6rk")).into_os_string().into_vec();
    let expected = list(&[word.as_bytes().to_vec(), work], 0);
    assert_eq!((code, fs::read(&result).expect("it was written")), (0, expected), "{stderr}");

    // Files by their names, which have no control characters.
    let word = OsString::from_vec(b"caf\xe9 \xff".to_vec());
    fs::write(site.home.join(&word), "content").expect("the file system takes any name");
    let mut map = site.command("map");
    map.arg("--files").arg(&word).args(["--", "sh", "-c", "cat \"./$1\" \"$FIRESTEEL_FILES_DIR/$1\"", "sh"]);
    let (code, stdout, stderr) = output(map.arg(":::").arg(&word), b"");
    assert_eq!((code, stdout), (0, b"contentcontent".to_vec()), "{stderr}");
}

fn with(beginning: &str, word: &OsStr) -> OsString {
    let mut whole = OsString::from(beginning);
    whole.push(word);
    whole
}

#[test]
fn a_run_goes_on_without_its_command_and_a_killed_one_is_continued_with_the_same_bytes() {
    let site = Site::start();
    let names = names();
    let list_file = site.home.join(OsStr::from_bytes(b"l\xefst"));
    fs::write(&list_file, list(&names, 0)).expect("a file");
    let mut detach = site.command("map");
    detach.args(["--detach", "-0", "--input"]).arg(&list_file).arg("--").args(PRINT);
    let (code, stdout, stderr) = output(&mut detach, b"");
    assert_eq!(code, 0, "{stderr}");
    let app = String::from_utf8(stdout).expect("an id");
    let mut attach = firesteel();
    attach.args(["-q", "attach", app.trim()]).env("XDG_STATE_HOME", site.home.join("state"));
    let (code, stdout, stderr) = output(&mut attach, b"");
    assert_eq!((code, stdout), (0, list(&names, 0)), "{stderr}");

    // The first item is done when the run is killed.
    let todo = site.home.join(OsStr::from_bytes(b"t\xf6do"));
    let wait = "[ \"$1\" = -n ] || exec sleep 1000";
    let mut map = site.command("map");
    map.args(["-0", "--failed"]).arg(&todo).args(["--", "sh", "-c", wait, "sh"]);
    map.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut killed = map.spawn().expect("the binary can be started");
    killed.stdin.take().expect("it is piped").write_all(&list(&names, 0)).expect("it is read");
    let record = with_suffix(&todo, ".unfinished");
    wait_for("the first item to be done", || {
        let record = fs::read(&record).unwrap_or_default();
        record.windows(6).any(|bytes| bytes == b"- 1 1\n").then_some(())
    });
    killed.kill().expect("it runs");
    killed.wait().expect("it is our child");
    let mut again = site.command("map");
    again.args(["-0", "--input"]).arg(&todo).arg("--failed").arg(&todo).arg("--").args(PRINT);
    let (code, stdout, stderr) = output(&mut again, b"");
    assert_eq!((code, stdout), (0, list(&names[1..], 0)), "{stderr}");
    assert!(!record.exists() && fs::read(&todo).expect("it was written").is_empty());
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
