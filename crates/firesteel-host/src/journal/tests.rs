//! The promises of a journal, on real files and on storage that fails.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::frame::{END, FRAME, HEAD};
use super::writer::Storage;
use super::*;

/// A directory that is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("firesteel-journal-{name}-{process}-{count}"));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn lock(&self) -> Directory {
        Directory::lock(&self.0).expect("it can be used")
    }

    /// The only file of the journal.
    fn file(&self) -> PathBuf {
        let names =
            fs::read_dir(&self.0).expect("it is there").map(|entry| entry.expect("it is there").path());
        let mut files: Vec<PathBuf> =
            names.filter(|path| path.file_name().is_some_and(|name| name != "lock")).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn read(scratch: &Scratch) -> (Vec<u8>, Vec<Vec<u8>>, Tail) {
    let directory = Directory::read_only(&scratch.0);
    let (_, contents) = directory.read().expect("it is whole").expect("it is there");
    let batches = contents.batches().map(<[u8]>::to_vec).collect();
    (contents.image().to_vec(), batches, contents.tail())
}

fn batch_of(parts: &[&[u8]]) -> Batch {
    let mut batch = Batch::default();
    parts.iter().for_each(|part| batch.end().extend_from_slice(part));
    batch
}

/// The only file of a journal, without the unused space after its end mark.
fn file_without_room(scratch: &Scratch) -> Vec<u8> {
    let mut file = fs::read(scratch.file()).expect("it is there");
    // The last bytes of an end mark may be zeros.
    let length = Contents::of(file.clone()).expect("it is whole").length() as usize;
    file.truncate(length + END);
    file
}

/// A journal with an image (the state at the beginning) and three batches.
fn journal(scratch: &Scratch) -> Writer {
    let mut writer = Writer::begin(scratch.lock(), b"image").expect("there is room");
    for batch in [&b"one"[..], b"two", b"three"] {
        writer.commit(batch_of(&[batch])).expect("there is room");
    }
    writer
}

#[test]
fn what_was_committed_is_read() {
    let scratch = Scratch::new("committed");
    drop(journal(&scratch));
    let batches = [&b"one"[..], b"two", b"three"].map(<[u8]>::to_vec).to_vec();
    assert_eq!(read(&scratch), (b"image".to_vec(), batches, Tail::Whole));
}

#[test]
fn a_file_has_room_behind_its_batches_and_batches_that_are_longer_lengthen_it() {
    let scratch = Scratch::new("room");
    let mut writer = journal(&scratch);
    let length = || fs::metadata(scratch.file()).expect("it is there").len();
    let roomy = length();
    assert!(roomy > file_without_room(&scratch).len() as u64);
    writer.commit(batch_of(&[b"four"])).expect("there is room");
    assert_eq!(length(), roomy);
    let long = vec![7; 1 << 20];
    writer.commit(batch_of(&[&long])).expect("there is room");
    writer.commit(batch_of(&[b"six"])).expect("there is room");
    let batches = [&b"one"[..], b"two", b"three", b"four", &long, b"six"].map(<[u8]>::to_vec).to_vec();
    assert_eq!(read(&scratch), (b"image".to_vec(), batches, Tail::Whole));
    // An unfinished write leaves a torn batch, with the room after it.
    let mut torn = fs::read(scratch.file()).expect("it is there");
    let end = file_without_room(&scratch).len();
    torn[end..end + 5].fill(9);
    let contents = Contents::of(torn.clone()).expect("its batches are whole");
    assert_eq!(contents.tail(), Tail::Torn { at: end as u64, bytes: 5 });
    // The unfinished write has replaced a part of the end mark.
    torn[end - END..end - END + 5].fill(9);
    let contents = Contents::of(torn).expect("its batches are whole");
    assert_eq!(contents.tail(), Tail::Torn { at: (end - END) as u64, bytes: END as u64 + 5 });
}

#[test]
fn all_parts_of_a_batch_are_one_frame_and_one_without_bytes_is_none() {
    let scratch = Scratch::new("parts");
    let mut writer = Writer::begin(scratch.lock(), b"").expect("there is room");
    writer.commit(batch_of(&[b"one ", b"two"])).expect("there is room");
    writer.commit(Batch::default()).expect("there is nothing to do");
    assert_eq!(read(&scratch), (Vec::new(), vec![b"one two".to_vec()], Tail::Whole));
}

#[test]
fn a_new_generation_replaces_the_old_ones() {
    let scratch = Scratch::new("generation");
    let mut writer = journal(&scratch);
    writer.replace(b"all").expect("there is room");
    writer.commit(batch_of(&[b"more"])).expect("there is room");
    assert_eq!(read(&scratch), (b"all".to_vec(), vec![b"more".to_vec()], Tail::Whole));
    drop(writer);
    drop(Writer::begin(scratch.lock(), b"again").expect("there is room"));
    assert_eq!(read(&scratch), (b"again".to_vec(), Vec::new(), Tail::Whole));
}

#[test]
fn an_image_is_wanted_when_the_batches_have_outgrown_it() {
    let scratch = Scratch::new("wanted");
    let mut writer = Writer::begin(scratch.lock(), &[1; 3 << 20]).expect("there is room");
    let mut commits = 0;
    while !writer.wants_image() {
        writer.commit(batch_of(&[&[2; 1 << 20]])).expect("there is room");
        commits += 1;
    }
    assert_eq!(commits, 6);
    writer.replace(b"short").expect("there is room");
    assert!(!writer.wants_image());
}

#[test]
fn one_process_writes_a_journal_and_others_read_it() {
    let scratch = Scratch::new("lock");
    let writer = journal(&scratch);
    assert!(matches!(Directory::lock(&scratch.0), Err(JournalError::InUse { .. })));
    assert_eq!(read(&scratch).1.len(), 3);
    drop(writer);
    assert!(Directory::lock(&scratch.0).is_ok());
}

#[test]
fn a_directory_without_a_journal_is_empty_and_one_that_is_not_there_is_an_error() {
    let scratch = Scratch::new("empty");
    assert!(Directory::read_only(&scratch.0).read().is_err());
    assert!(scratch.lock().read().expect("it is empty").is_none());
}

#[test]
fn only_their_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("mode");
    drop(journal(&scratch));
    for (path, mode) in [(scratch.0.clone(), 0o700), (scratch.file(), 0o600)] {
        let found = fs::metadata(&path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(found, mode, "{path:?}");
    }
}

#[test]
fn every_truncation_gives_the_batches_before_it_or_is_refused() {
    let scratch = Scratch::new("truncated");
    drop(journal(&scratch));
    let whole = file_without_room(&scratch);
    let image_end = HEAD + FRAME + 5;
    let ends = [image_end, image_end + FRAME + 3, image_end + 2 * FRAME + 6, whole.len() - END];
    for length in 0..=whole.len() {
        let read = Contents::of(whole[..length].to_vec());
        let batches = ends.iter().filter(|end| **end <= length).count().checked_sub(1);
        match (read, batches) {
            (Err(Damage::Head | Damage::Image), None) => {}
            (Ok(contents), Some(batches)) => {
                assert_eq!(contents.batches().len(), batches, "{length}");
                // Between two batches, only the missing end mark shows that later ones are missing.
                let is_cut = ends.contains(&length);
                assert_eq!(contents.tail() == Tail::Unmarked, is_cut, "{length}");
                assert_eq!(contents.tail() == Tail::Whole, length == whole.len(), "{length}");
                let mut zeros = whole.clone();
                zeros[length..].fill(0);
                if is_cut {
                    let tail = Contents::of(zeros).expect("its batches are whole").tail();
                    assert_eq!(tail, Tail::Unmarked, "zeros from {length}");
                }
                assert_eq!(contents.length() as usize, ends[batches], "{length}");
            }
            (read, _) => panic!("{length}: {read:?}"),
        }
    }
}

#[test]
fn every_flipped_bit_is_refused_or_cuts_the_last_batch() {
    let scratch = Scratch::new("flipped");
    drop(journal(&scratch));
    let whole = file_without_room(&scratch);
    let last = whole.len() - END - FRAME - 5;
    let end = whole.len() - END;
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut file = whole.clone();
            file[at] ^= 1 << bit;
            match Contents::of(file) {
                Err(Damage::Head) => assert!(at < HEAD, "{at}"),
                Err(Damage::Image) => assert!((HEAD..HEAD + FRAME + 5).contains(&at), "{at}"),
                Err(Damage::Batch { .. }) => assert!((HEAD + FRAME + 5..last).contains(&at), "{at}"),
                Err(Damage::Format(other)) => panic!("{at}: format {other} with the right checksum"),
                Err(Damage::Chain { .. }) => panic!("{at}: another chain with the right checksum"),
                Ok(contents) if at >= end => {
                    assert_eq!(contents.batches().len(), 3);
                    assert!(matches!(contents.tail(), Tail::Torn { .. }), "{at}");
                }
                Ok(contents) => {
                    assert!(at >= last, "a flipped bit at {at} was not seen");
                    assert_eq!(contents.batches().len(), 2);
                    assert_ne!(contents.tail(), Tail::Whole);
                }
            }
        }
    }
}

#[test]
fn a_batch_of_another_file_is_refused() {
    let (scratch, other) = (Scratch::new("chain"), Scratch::new("spliced"));
    drop(journal(&scratch));
    let mut writer = Writer::begin(other.lock(), b"image").expect("there is room");
    for batch in [&b"ONE"[..], b"two", b"three"] {
        writer.commit(batch_of(&[batch])).expect("there is room");
    }
    let (mut file, theirs) = (file_without_room(&scratch), file_without_room(&other));
    let first = HEAD + FRAME + 5..HEAD + 2 * FRAME + 8;
    file[first.clone()].copy_from_slice(&theirs[first]);
    assert_eq!(Contents::of(file).err(), Some(Damage::Chain { whole: 3 }));
}

#[test]
fn another_format_is_named() {
    let mut file = frame::head().to_vec();
    file[8] = 9;
    let checksum = crc32fast::hash(&file[..12]);
    file[12..16].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(Contents::of(file).err(), Some(Damage::Format(9)));
}

/// Storage with space for a limited number of bytes. Later writes fail.
#[derive(Debug)]
struct Failing {
    room: usize,
}

impl Storage for Failing {
    fn begin(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        self.append(bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let error = || io::Error::from(io::ErrorKind::StorageFull);
        let full = || JournalError::Io { action: "write", path: "full".into(), error: error() };
        self.room = self.room.checked_sub(bytes.len()).ok_or_else(full)?;
        Ok(())
    }
}

#[test]
fn after_a_failed_write_nothing_is_acknowledged_any_more() {
    let scratch = Scratch::new("failing");
    let mut writer = journal(&scratch);
    writer.write_to(Failing { room: 10 });
    assert!(writer.commit(batch_of(&[b"four"])).is_err());
    writer.write_to(Failing { room: 1000 });
    let next = writer.commit(batch_of(&[b"five"]));
    assert!(matches!(next, Err(JournalError::FailedBefore)), "nobody knows what the first attempt left");
}

#[test]
fn a_journal_whose_directory_or_file_was_removed_is_written_anew() {
    type Removal = fn(&Scratch);
    let removals: [(&str, Removal); 5] = [
        ("directory", |scratch| fs::remove_dir_all(&scratch.0).expect("it is there")),
        ("file", |scratch| fs::remove_file(scratch.file()).expect("it is there")),
        ("lock", |scratch| fs::remove_file(scratch.0.join("lock")).expect("it is there")),
        ("moved", |scratch| {
            fs::rename(&scratch.0, scratch.0.with_extension("moved")).expect("it is there");
            fs::remove_dir_all(scratch.0.with_extension("moved")).expect("it was just moved");
        }),
        ("empty", |scratch| {
            fs::remove_dir_all(&scratch.0).expect("it is there");
            fs::create_dir(&scratch.0).expect("it is gone");
        }),
    ];
    for (name, remove) in removals {
        let scratch = Scratch::new(name);
        let mut writer = journal(&scratch);
        assert!(!writer.is_lost(), "{name}");
        remove(&scratch);
        writer.commit(batch_of(&[b"lost"])).expect("the file is still open");
        assert!(writer.is_lost(), "{name}");
        writer.replace(b"another image").expect("there is room");
        writer.commit(batch_of(&[b"four"])).expect("there is room");
        assert!(!writer.is_lost(), "{name}");
        assert_eq!(
            read(&scratch),
            (b"another image".to_vec(), vec![b"four".to_vec()], Tail::Whole),
            "{name}"
        );
        let second = Directory::lock(&scratch.0);
        assert!(matches!(second, Err(JournalError::InUse { .. })), "{name}: {second:?}");
    }
}

#[test]
fn a_journal_that_was_put_in_the_place_of_another_one_is_left_alone() {
    let (scratch, other) = (Scratch::new("replaced"), Scratch::new("other"));
    let mut writer = journal(&scratch);
    drop(Writer::begin(other.lock(), b"other").expect("there is room"));
    fs::remove_dir_all(&scratch.0).expect("it is there");
    fs::rename(&other.0, &scratch.0).expect("its place is free");
    writer.look();
    assert!(writer.is_lost());
    let replaced = writer.replace(b"image");
    assert!(matches!(replaced, Err(JournalError::Replaced { .. })), "{replaced:?}");
    assert_eq!(read(&scratch).0, b"other");
}

#[test]
fn a_directory_stays_locked_when_its_lock_file_is_removed() {
    let scratch = Scratch::new("lock-removed");
    let writer = journal(&scratch);
    fs::remove_file(scratch.0.join("lock")).expect("it is there");
    let second = Directory::lock(&scratch.0);
    assert!(matches!(second, Err(JournalError::InUse { .. })), "{second:?}");
    assert!(!scratch.0.join("lock").exists(), "the second one makes none for an earlier version to lock");
    drop(writer);
    assert!(Directory::lock(&scratch.0).is_ok());
}

/// Earlier versions lock only the file.
#[test]
fn a_journal_that_an_earlier_version_writes_is_in_use() {
    let scratch = Scratch::new("earlier-version");
    drop(journal(&scratch));
    let earlier = fs::File::open(scratch.0.join("lock")).expect("it is there");
    earlier.try_lock().expect("nobody holds it");
    let second = Directory::lock(&scratch.0);
    assert!(matches!(second, Err(JournalError::InUse { .. })), "{second:?}");
}

#[test]
fn a_journal_that_was_moved_into_a_new_directory_is_its_own() {
    let scratch = Scratch::new("moved-file");
    let mut writer = journal(&scratch);
    let old = scratch.0.with_extension("old");
    fs::rename(&scratch.0, &old).expect("it is there");
    fs::create_dir(&scratch.0).expect("its place is free");
    fs::rename(old.join("journal-0000000001"), scratch.0.join("journal-0000000001")).expect("it is there");
    fs::remove_dir_all(&old).expect("it is there");
    writer.look();
    assert!(writer.is_lost(), "nothing locks the new directory");
    writer.replace(b"another image").expect("it is its own");
    assert_eq!(read(&scratch).0, b"another image");
    assert!(matches!(Directory::lock(&scratch.0), Err(JournalError::InUse { .. })));
}
