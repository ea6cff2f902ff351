//! Properties of rolled logs, tested with random output and clocks from seeds.

use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey};
use firesteel_protocol::messages::{LogAuthor, LogRequest, LogStart};
use firesteel_worker::LogRead;
use tempfile::TempDir;

use super::*;
use crate::worker::directories::work_directory::WorkDirectory;
use crate::worker::log::reader::LogReader;
use crate::worker::log::removed_bytes::RemovedBytesTable;
use firesteel_settings::rolling::Period;

/// The random generator splitmix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }
}

/// An executor's log with its writer and reader.
struct Rig {
    _scratch: TempDir,
    directory: PathBuf,
    executor: ExecutorKey,
    reader: LogReader,
    removed_bytes: Arc<RemovedBytesTable>,
}

impl Rig {
    fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let work = WorkDirectory::open(scratch.path()).expect("it can be used");
        let executor = ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(0) };
        let directory = work.of_executor(&executor);
        fs::create_dir_all(&directory).expect("it can be made");
        let removed_bytes = Arc::<RemovedBytesTable>::default();
        let reader = LogReader::new(work, Arc::clone(&removed_bytes));
        Self { _scratch: scratch, directory, executor, reader, removed_bytes }
    }

    fn roller(&self, rolling: Rolling, now: Timestamp) -> Roller {
        let file = File::create(self.directory.join("stdout")).expect("it can be made");
        let removed = self.removed_bytes.open(LogAuthor::Executor(self.executor.clone()), Stream::Stdout);
        Roller::open(&self.directory, Stream::Stdout, file, rolling, removed, now).expect("it can be opened")
    }

    fn piece(&self, from: LogStart) -> (u64, Vec<u8>, u64) {
        let request = LogRequest { executor: self.executor.clone(), stream: Stream::Stdout, from };
        match self.reader.read(&request.into()) {
            LogRead::Piece { start, bytes, length } => (start, bytes.to_vec(), length),
            other => panic!("{other:?}"),
        }
    }

    /// The position at which the log begins, and all its bytes.
    fn whole(&self) -> (u64, Vec<u8>) {
        let (begin, mut bytes, mut length) = self.piece(LogStart::Offset(0));
        while begin + (bytes.len() as u64) < length {
            let (start, more, now) = self.piece(LogStart::Offset(begin + bytes.len() as u64));
            assert_eq!(start, begin + bytes.len() as u64);
            bytes.extend(more);
            length = now;
        }
        (begin, bytes)
    }

    fn files(&self) -> Vec<segments::Segment> {
        segments::list(&self.directory, Stream::Stdout).expect("it can be read")
    }
}

fn rolled(chance: &mut Chance) -> Rolling {
    Rolling {
        strategy: match chance.below(4) {
            0 => Strategy::BySize(1 + chance.below(500)),
            1 => Strategy::BySize(1_000),
            2 => Strategy::ByTime(Period::Seconds(60)),
            _ => Strategy::ByTime(Period::Hourly),
        },
        retained: [None, None, Some(1), Some(3)][usize::try_from(chance.below(4)).expect("it is small")],
        compression: if chance.below(2) == 0 { Compression::Off } else { Compression::Gzip },
    }
}

#[test]
fn no_byte_is_lost_or_moved_and_every_bound_holds() {
    for seed in 0..300 {
        let mut chance = Chance(seed);
        let (rig, rolling) = (Rig::new(), rolled(&mut chance));
        let mut now = Timestamp::from_millis(1_795_209_755_042);
        let mut roller = rig.roller(rolling, now);
        let mut written: Vec<u8> = Vec::new();
        for _ in 0..chance.below(60) {
            // The clock is set back now and then.
            now = match chance.below(10) {
                0 => now - std::time::Duration::from_secs(chance.below(4_000)),
                _ => now + std::time::Duration::from_millis(chance.below(90_000)),
            };
            let piece: Vec<u8> = (0..chance.below(400)).map(|_| b"ab\n"[chance.below(3) as usize]).collect();
            let done = roller.write(now, &piece);
            assert!(done.dropped.is_none() && done.trouble.is_none(), "seed {seed}: {done:?}");
            written.extend(&piece);

            let (begin, bytes) = rig.whole();
            let begin = usize::try_from(begin).expect("it is small");
            assert_eq!(bytes, written[begin..], "seed {seed}: {rolling:?}");
            assert!(begin == 0 || rolling.retained.is_some(), "seed {seed}: {rolling:?}");
            let files = rig.files();
            let most = rolling.retained.map_or(usize::MAX, |retained| retained as usize + 1);
            assert!(files.len() <= most, "seed {seed}: {} files, {rolling:?}", files.len());
            if let Strategy::BySize(most) = rolling.strategy {
                let fits = |length: u64| length <= most.max(400);
                assert!(files.iter().all(|file| fits(file.length)), "seed {seed}: {files:?}");
            }
        }
        // Read any part of it, by lines and by bytes.
        let (begin, bytes) = rig.whole();
        for lines in [0, 1, 2, 7, 100_000] {
            let expected = last_lines(&bytes, lines);
            let (start, piece, _) = rig.piece(LogStart::LastLines(lines as u64));
            assert_eq!(start, begin + (bytes.len() - expected.len()) as u64, "seed {seed}: {lines} lines");
            assert!(expected.starts_with(&piece), "seed {seed}: {lines} lines");
        }
        let few = chance.below(500);
        let (start, ..) = rig.piece(LogStart::LastBytes(few));
        assert_eq!(start, begin + (bytes.len() as u64).saturating_sub(few), "seed {seed}: {few} bytes");
    }
}

fn last_lines(bytes: &[u8], lines: usize) -> &[u8] {
    let all: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let skipped: usize = all[..all.len().saturating_sub(lines)].iter().map(|line| line.len()).sum();
    &bytes[skipped..]
}

const BY_SIZE: Rolling =
    Rolling { strategy: Strategy::BySize(10), retained: None, compression: Compression::Gzip };

#[test]
fn a_log_goes_on_behind_what_another_worker_left() {
    let rig = Rig::new();
    let now = Timestamp::from_millis(1_795_209_755_042);
    let mut first = rig.roller(BY_SIZE, now);
    for piece in ["one one\n", "two two\n", "three\n"] {
        assert!(first.write(now, piece.as_bytes()).trouble.is_none());
    }
    fs::rename(rig.directory.join("stdout"), rig.directory.join("stdout--2026-11-20--21-22-35--0043"))
        .expect("it can be renamed");
    let mut second = rig.roller(BY_SIZE, now);
    for piece in ["four four\n", "five\n"] {
        assert!(second.write(now, piece.as_bytes()).trouble.is_none());
    }
    assert_eq!(rig.whole(), (0, b"one one\ntwo two\nthree\nfour four\nfive\n".to_vec()));
}

#[test]
fn a_log_whose_directory_takes_no_new_file_goes_on_in_the_old_one() {
    let rig = Rig::new();
    let now = Timestamp::from_millis(1_795_209_755_042);
    let mut roller = rig.roller(BY_SIZE, now);
    assert!(roller.write(now, b"one one\n").trouble.is_none());
    // Not even root can remove a directory with entries as if it were a file.
    fs::create_dir_all(rig.directory.join(".stdout.new/in the way")).expect("it can be made");
    let done = roller.write(now, b"two two\n");
    assert!(done.dropped.is_none() && done.trouble.is_some(), "{done:?}");
    assert_eq!(rig.whole(), (0, b"one one\ntwo two\n".to_vec()));
    fs::remove_dir_all(rig.directory.join(".stdout.new")).expect("it can be removed");
    assert!(roller.write(now, b"three\n").trouble.is_none());
    assert_eq!(rig.files().len(), 2);
    assert_eq!(rig.whole(), (0, b"one one\ntwo two\nthree\n".to_vec()));
}

#[test]
fn output_that_cannot_be_written_is_dropped_and_counted() {
    let rig = Rig::new();
    let now = Timestamp::from_millis(1_795_209_755_042);
    let file = OpenOptions::new().write(true).open("/dev/full").expect("there is one");
    let removed = rig.removed_bytes.open(LogAuthor::Executor(rig.executor.clone()), Stream::Stdout);
    let mut roller =
        Roller::open(&rig.directory, Stream::Stdout, file, BY_SIZE, removed, now).expect("it can be opened");
    let (count, error) = roller.write(now, b"nowhere").dropped.expect("there is no room");
    assert_eq!(count, 7);
    assert!(error.to_string().contains("No space left on device"), "{error}");
}

#[test]
fn a_log_whose_active_file_is_removed_or_replaced_goes_on_in_a_new_one() {
    type Tamper = fn(&Path);
    let tamperings: [(&str, Tamper); 3] = [
        ("removed", |active| fs::remove_file(active).expect("it is there")),
        ("renamed", |active| {
            fs::rename(active, active.with_extension("1")).expect("it is there");
            fs::write(active, "of another program").expect("there is room");
        }),
        ("a link", |active| {
            fs::rename(active, active.with_extension("1")).expect("it is there");
            std::os::unix::fs::symlink(active.with_extension("1"), active).expect("its name is free");
        }),
    ];
    for (name, tamper) in tamperings {
        let (rig, now) = (Rig::new(), Timestamp::from_millis(1_795_209_755_042));
        let strategy = Strategy::BySize(1_000);
        let rolling = Rolling { strategy, retained: None, compression: Compression::Off };
        let mut roller = rig.roller(rolling, now);
        assert!(roller.write(now, b"before").trouble.is_none(), "{name}");
        tamper(&rig.directory.join("stdout"));
        let written = roller.write(now, b"after");
        let trouble = written.trouble.expect(name).to_string();
        assert!(trouble.contains("it was removed or replaced: continuing in a new file"), "{trouble}");
        assert!(written.dropped.is_none(), "{name}");
        assert_eq!(rig.whole(), (6, b"after".to_vec()), "{name}");
        assert!(roller.write(now, b"!").trouble.is_none(), "{name}");
    }
}

#[test]
fn a_link_in_the_place_of_a_rolled_file_is_not_read() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let [secret, link, compressed] =
        ["secret", "stdout--1", "stdout--1.gz"].map(|name| scratch.path().join(name));
    fs::write(&secret, "the words of root").expect("there is room");
    std::os::unix::fs::symlink(&secret, &link).expect("the name is free");
    deflate(&link, &compressed).expect_err("it is a link");
    assert!(!compressed.exists());
}
