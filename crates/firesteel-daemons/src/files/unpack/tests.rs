//! Tests of unpacking with honest, hostile and damaged archives.

use std::io::Cursor;
use std::os::unix::fs::PermissionsExt;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

/// The header of a tar entry, including headers that the tar library would refuse to write.
struct Entry {
    name: &'static str,
    kind: EntryType,
    mode: u32,
    content: Vec<u8>,
    target: &'static str,
}

fn file(name: &'static str, mode: u32, content: &str) -> Entry {
    Entry { name, kind: EntryType::Regular, mode, content: content.into(), target: "" }
}

fn entry(name: &'static str, kind: EntryType, target: &'static str) -> Entry {
    Entry { name, kind, mode: 0o777, content: Vec::new(), target }
}

fn link(name: &'static str, target: &'static str) -> Entry {
    entry(name, EntryType::Symlink, target)
}

fn tar_of(entries: &[Entry]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for Entry { name, kind, mode, content, target } in entries {
        let mut header = Header::new_gnu();
        // The library would not write names that lead out.
        let bytes = header.as_old_mut();
        bytes.name[..name.len()].copy_from_slice(name.as_bytes());
        bytes.linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(*mode);
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append(&header, &content[..]).expect("a vector takes everything");
    }
    builder.into_inner().expect("a vector takes everything")
}

/// Unpacks these bytes into `<scratch>/out`.
fn unpacked(bytes: &[u8], format: ArchiveFormat) -> (TempDir, Result<PathBuf, String>) {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let archive = scratch.path().join("archive");
    fs::write(&archive, bytes).expect("a file");
    let out = scratch.path().join("out");
    let done = unpack(&archive, format, &out, &CancellationToken::new());
    (scratch, done.map(|()| out).map_err(|error| error.to_string()))
}

fn refused(entries: &[Entry]) -> String {
    let (scratch, done) = unpacked(&tar_of(entries), ArchiveFormat::Tar);
    let outside: Vec<_> = fs::read_dir(scratch.path()).expect("a directory").flatten().collect();
    assert_eq!(outside.len(), 2, "something landed outside: {outside:?}");
    done.expect_err("it must be refused")
}

fn mode_of(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o7777
}

#[test]
fn a_tree_comes_out_as_it_was_packed_and_read_only() {
    let entries = [
        entry("./", EntryType::Directory, ""),
        entry("./bin", EntryType::Directory, ""),
        file("./bin/tool", 0o4755, "#!/bin/sh\n"),
        file("deep/er/data", 0o600, "data"),
        link("bin/alias", "tool"),
        link("up", "bin/../deep"),
        entry("again", EntryType::Link, "deep/er/data"),
        file("twice", 0o644, "first"),
        file("twice", 0o644, "second"),
    ];
    let tar = tar_of(&entries);
    let packed = zipped(&tar);
    for (bytes, format) in [(tar, ArchiveFormat::Tar), (packed, ArchiveFormat::TarGz)] {
        let (_scratch, done) = unpacked(&bytes, format);
        let out = done.expect("it can be unpacked");
        let text = |name: &str| fs::read_to_string(out.join(name)).expect("it is there");
        assert_eq!(text("bin/alias"), "#!/bin/sh\n");
        assert_eq!((text("up/er/data"), text("again")), ("data".to_owned(), "data".to_owned()));
        assert_eq!(text("twice"), "second");
        assert_eq!(mode_of(&out.join("bin/tool")), 0o500, "it can be run");
        assert_eq!(mode_of(&out.join("deep/er/data")), 0o400);
        for directory in ["", "deep", "deep/er"] {
            assert_eq!(mode_of(&out.join(directory)), 0o700, "{directory:?}");
        }
    }
}

#[test]
fn a_path_that_leads_out_of_the_directory_is_refused() {
    let leads_out = |name: &str| format!("its entry {name:?} leads out of the directory");
    for name in ["../evil", "/evil", "a/../../evil", "a/../b", "..", "./../evil"] {
        assert_eq!(refused(&[file(name, 0o644, "evil")]), leads_out(name));
        assert_eq!(refused(&[link(name, "x")]), leads_out(name));
        assert_eq!(refused(&[entry(name, EntryType::Directory, "")]), leads_out(name));
    }
    for target in ["../archive", "/etc/passwd", "a/../archive"] {
        assert_eq!(refused(&[entry("evil", EntryType::Link, target)]), leads_out("evil"));
    }
}

#[test]
fn a_link_may_lead_anywhere_as_tar_keeps_it() {
    let targets = ["/usr/bin/python3", "..", "../../x", "nowhere/yet", "a/../../x", "round"];
    let names = ["a", "b/c", "d", "e", "f", "round"];
    let links: Vec<Entry> = names.iter().zip(targets).map(|(name, target)| link(name, target)).collect();
    let (_scratch, done) = unpacked(&tar_of(&links), ArchiveFormat::Tar);
    let out = done.expect("they can be made");
    for (name, target) in names.iter().zip(targets) {
        assert_eq!(fs::read_link(out.join(name)).expect("it is there"), Path::new(target));
    }
}

#[test]
fn nothing_is_written_through_a_link_whatever_the_order() {
    let through = |name: &str, link: &str| format!("its entry {name:?} leads through its link {link:?}");
    let directory = |name| entry(name, EntryType::Directory, "");
    // `..` contains the archive itself. A file written through the link would be found there.
    for (entries, words) in [
        (vec![link("a", ".."), file("a/evil", 0o644, "evil")], through("a/evil", "a")),
        (vec![link("a", ".."), link("a/evil", "x")], through("a/evil", "a")),
        (vec![link("a", ".."), directory("a/evil")], through("a/evil", "a")),
        (vec![link("b/a", "../.."), file("b/a/c/evil", 0o644, "")], through("b/a/c/evil", "b/a")),
        (vec![link("a", "."), link("a/b", ".."), file("b/evil", 0o644, "")], through("a/b", "a")),
        // Another name for the link is a link, too.
        (
            vec![link("a", ".."), entry("b", EntryType::Link, "a"), file("b/evil", 0o644, "")],
            through("b/evil", "b"),
        ),
        // A hard link reads through a link, or is made through one.
        (vec![link("a", ".."), entry("evil", EntryType::Link, "a/archive")], through("evil", "a")),
        (
            vec![link("a", ".."), file("b", 0o644, ""), entry("a/evil", EntryType::Link, "b")],
            through("a/evil", "a"),
        ),
        // The first entry is a directory, which cannot become a link later.
        (vec![directory("a"), link("a", "..")], taken("a", "a")),
        (vec![file("a/b", 0o644, ""), link("a", ".."), file("a/evil", 0o644, "")], taken("a", "a")),
        (vec![link("a/b", "x"), link("a", "..")], taken("a", "a")),
        (vec![link("a/b", "x"), file("a", 0o644, "")], taken("a", "a")),
        (vec![file("a", 0o644, ""), file("a/b", 0o644, "")], taken("a/b", "a")),
        // A file may become a link, and then nothing may be written through it.
        (vec![file("a", 0o644, ""), link("a", ".."), file("a/evil", 0o644, "")], through("a/evil", "a")),
    ] {
        assert_eq!(refused(&entries), words);
    }
}

fn taken(name: &str, by: &str) -> String {
    format!("its entry {name:?} conflicts with the earlier entry {by:?}")
}

#[test]
fn a_link_that_a_directory_replaces_leads_nowhere() {
    let entries = [link("a", ".."), entry("a", EntryType::Directory, ""), file("a/good", 0o644, "good")];
    let (scratch, done) = unpacked(&tar_of(&entries), ArchiveFormat::Tar);
    let out = done.expect("it can be unpacked");
    assert_eq!(fs::read_to_string(out.join("a/good")).expect("it is there"), "good");
    assert!(!scratch.path().join("good").exists());
}

#[test]
fn a_tree_with_links_is_removed_without_what_they_lead_to() {
    let entries = [link("up", ".."), link("here", "."), link("a/b", "../..")];
    let (scratch, done) = unpacked(&tar_of(&entries), ArchiveFormat::Tar);
    fs::remove_dir_all(done.expect("it can be unpacked")).expect("it can be removed");
    assert!(scratch.path().join("archive").exists());
}

#[test]
fn a_hard_link_needs_an_earlier_file() {
    let no_file = |target: &str| {
        format!("its hard link \"a\" refers to {target:?}, which is not an earlier file in the archive")
    };
    assert_eq!(refused(&[entry("a", EntryType::Link, "b"), file("b", 0o644, "")]), no_file("b"));
    assert_eq!(
        refused(&[entry("b", EntryType::Directory, ""), entry("a", EntryType::Link, "b")]),
        no_file("b")
    );
    assert_eq!(refused(&[file("b", 0o644, ""), entry("a", EntryType::Link, "")]), no_file(""));
}

#[test]
fn names_that_no_file_can_have_are_refused() {
    let words = "the name or target of its entry \"a\" is empty, too long, or has a NUL byte";
    assert_eq!(refused(&[link("a", "")]), words);
    let long = Entry {
        name: "././@LongLink",
        kind: EntryType::GNULongName,
        mode: 0,
        content: vec![b'x'; 256],
        target: "",
    };
    let words = refused(&[long, file("x", 0o644, "")]);
    assert!(words.ends_with("is empty, too long, or has a NUL byte"), "{words}");
}

#[test]
fn an_archive_is_refused_where_it_is_submitted_for_all_that_a_worker_would_refuse() {
    let check = |bytes: &[u8], format| {
        let mut archive = tempfile::tempfile().expect("a file");
        archive.write_all(bytes).expect("written");
        check_archive(&archive, format, &CancellationToken::new()).map_err(|error| error.to_string())
    };
    for (entries, words) in [
        (vec![], "it has no entries"),
        (vec![file("/evil", 0o644, "")], "leads out of the directory"),
        (vec![link("a", ".."), file("a/evil", 0o644, "")], "leads through its link \"a\""),
        (vec![entry("a", EntryType::Fifo, "")], "is not a file, directory or link"),
    ] {
        let tar = tar_of(&entries);
        for (bytes, format) in [(zipped(&tar), ArchiveFormat::TarGz), (tar, ArchiveFormat::Tar)] {
            let refused = check(&bytes, format).expect_err("a Worker would refuse it");
            assert!(refused.ends_with(words), "{refused}");
            assert_eq!(unpacked(&bytes, format).1, Err(refused));
        }
    }
    let good = tar_of(&[file("a", 0o644, "content"), link("b", "/etc/passwd")]);
    let mut packed = zipped(&good);
    assert_eq!(check(&good, ArchiveFormat::Tar), Ok(()));
    assert_eq!(check(&packed, ArchiveFormat::TarGz), Ok(()));
    packed.extend_from_slice(&[0; 512]);
    assert_eq!(check(&packed, ArchiveFormat::TarGz), Ok(()), "a tape ends with zeros");
    // The checksum follows the last entry.
    let checksum = packed.len() - 512 - 8;
    packed[checksum] ^= 1;
    assert!(check(&packed, ArchiveFormat::TarGz).expect_err("it is damaged").contains("checksum"));
    assert!(check(b"", ArchiveFormat::Tar).is_err() && check(b"", ArchiveFormat::Zip).is_err());
}

fn zipped(tar: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(tar).expect("a vector takes everything");
    packed.finish().expect("a vector takes everything")
}

#[test]
fn the_last_entry_of_a_name_counts_whatever_it_is() {
    let entries = [
        link("a", "x"),
        file("a", 0o644, "file"),
        file("b", 0o644, "file"),
        link("b", "a"),
        link("c", "x"),
        entry("c", EntryType::Directory, ""),
        // A hard link to a link is a link.
        entry("d", EntryType::Link, "b"),
    ];
    let (_scratch, done) = unpacked(&tar_of(&entries), ArchiveFormat::Tar);
    let out = done.expect("it can be unpacked");
    assert!(out.join("a").symlink_metadata().expect("it is there").is_file());
    assert!(out.join("c").symlink_metadata().expect("it is there").is_dir());
    for name in ["b", "d"] {
        assert_eq!(fs::read_link(out.join(name)).expect("it is there"), Path::new("a"));
        assert_eq!(fs::read_to_string(out.join(name)).expect("it is there"), "file");
    }
}

/// A reader of zeros that stops the unpacking after this many bytes.
struct Stopping<'a> {
    header: &'a [u8],
    left: usize,
    stop: &'a CancellationToken,
}

impl Read for Stopping<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if !self.header.is_empty() {
            return self.header.read(bytes);
        }
        let count = bytes.len().min(self.left);
        self.left -= count;
        if self.left == 0 {
            self.stop.cancel();
        }
        bytes[..count].fill(0);
        Ok(count.max(1))
    }
}

#[test]
fn the_survey_of_one_huge_entry_can_be_stopped() {
    let stop = CancellationToken::new();
    let mut header = Header::new_gnu();
    header.set_path("huge").expect("a short name");
    header.set_size(1 << 40);
    header.set_mode(0o644);
    header.set_cksum();
    let inner = Stopping { header: header.as_bytes(), left: 1 << 20, stop: &stop };
    let stopped = check_entries(Stoppable { inner, stop: &stop }, most(1 << 41), &stop);
    assert!(matches!(stopped, Err(UnpackError::Stopped)), "{stopped:?}");
}

fn most(bytes: u64) -> Most {
    Most { bytes, is_of_the_disk: false }
}

#[test]
fn an_archive_whose_headers_promise_too_much_is_refused_before_its_content_is_read() {
    let mut header = Header::new_gnu();
    header.set_path("huge").expect("a short name");
    header.set_size(1 << 40);
    header.set_mode(0o644);
    header.set_cksum();
    // Nothing follows the header: reading on would be another error.
    let tar = header.as_bytes().to_vec();
    for (bytes, format) in [(zipped(&tar), ArchiveFormat::TarGz), (tar, ArchiveFormat::Tar)] {
        let (scratch, refused) = unpacked(&bytes, format);
        let refused = refused.expect_err("it is a bomb");
        assert_eq!(
            refused,
            "its content is longer than 268435456 bytes, 100 times the length of the archive"
        );
        assert_eq!(fs::read_dir(scratch.path().join("out")).expect("it is made").count(), 0);
    }
}

#[test]
fn what_follows_the_last_entry_of_an_archive_is_not_read_for_ever() {
    let stop = CancellationToken::new();
    let layout = Layout::default();
    let purpose = Purpose::Check;
    let small = Unpacking { purpose, layout, entries: 1, most: most(10), left: 10, stop: &stop };
    small.finish_gzip(&mut &[0; 10][..]).expect("it is short");
    let refused = small.finish_gzip(&mut io::repeat(0)).expect_err("it has no end");
    assert!(matches!(refused, UnpackError::TooLarge { most: 10 }), "{refused}");
}

#[test]
fn an_archive_that_would_fill_the_disk_is_refused_with_the_room_that_there_is() {
    let full = Most { bytes: 10, is_of_the_disk: true };
    let words = "its content is longer than 10 bytes, nine tenths of the free space on the disk";
    assert_eq!(full.exceeded().to_string(), words);
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let archive = tempfile::tempfile().expect("a file");
    archive.set_len(1 << 43).expect("a sparse file may be long");
    let root = scratch.path().to_owned();
    let most = Most::of(&Purpose::Write { root }, &archive).expect("it has a length");
    assert!(most.is_of_the_disk && most.bytes < 100 << 43, "{most:?}");
    let most = Most::of(&Purpose::Check, &archive).expect("it has a length");
    assert!(!most.is_of_the_disk, "the submitting machine keeps nothing: {most:?}");
}

#[test]
fn devices_and_pipes_are_refused() {
    for kind in [EntryType::Fifo, EntryType::Char, EntryType::Block] {
        let words = "its entry \"evil\" is not a file, directory or link";
        assert_eq!(refused(&[entry("evil", kind, "")]), words);
    }
}

#[test]
fn an_absurd_header_is_refused_before_it_is_read() {
    let long = Entry {
        name: "././@LongLink",
        kind: EntryType::GNULongName,
        mode: 0,
        content: vec![b'x'; 2 << 20],
        target: "",
    };
    assert_eq!(refused(&[long, file("x", 0o644, "")]), "the header of an entry has 2097152 bytes");
}

#[test]
fn an_archive_that_swells_beyond_reason_is_refused() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let stop = CancellationToken::new();
    let root = scratch.path().to_owned();
    for purpose in [Purpose::Check, Purpose::Write { root }] {
        let layout = Layout::default();
        let mut small = Unpacking { purpose, layout, entries: 0, most: most(10), left: 10, stop: &stop };
        let mut make = |name, content: &mut &[u8]| {
            small
                .make_file(Path::new(name), Path::new(name), 0o644, content)
                .map_err(|error| error.to_string())
        };
        make("a", &mut &b"12345678"[..]).expect("it is short");
        let error = make("b", &mut &b"123"[..]).expect_err("it is too long");
        assert_eq!(error, "its content is longer than 10 bytes, 100 times the length of the archive");
    }
    let layout = Layout::default();
    let mut small =
        Unpacking { purpose: Purpose::Check, layout, entries: 0, most: most(10), left: 10, stop: &stop };
    stop.cancel();
    assert!(matches!(small.admit(Path::new("c")), Err(UnpackError::Stopped)));
}

#[test]
fn what_is_no_archive_is_refused() {
    for format in [ArchiveFormat::Tar, ArchiveFormat::TarGz, ArchiveFormat::Zip] {
        let (_scratch, done) = unpacked(&[b'x'; 2000], format);
        assert!(done.expect_err("it is none").starts_with("cannot unpack it: "), "{format:?}");
    }
    let cut = &tar_of(&[file("x", 0o644, &"x".repeat(2000))])[..1000];
    let (_scratch, done) = unpacked(cut, ArchiveFormat::Tar);
    assert!(done.is_err(), "it was cut short");
}

#[test]
fn zips_are_unpacked_by_the_same_rules() {
    type Writer = ZipWriter<Cursor<Vec<u8>>>;
    let zip = |fill: &dyn Fn(&mut Writer)| {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        fill(&mut writer);
        writer.finish().expect("a vector takes everything").into_inner()
    };
    let plain = SimpleFileOptions::default();
    let good = zip(&|writer| {
        writer.add_directory("empty/", plain).expect("it is written");
        writer.start_file("bin/tool", plain.unix_permissions(0o755)).expect("it is written");
        writer.write_all(b"#!/bin/sh\n").expect("it is written");
        writer.add_symlink("alias", "bin/tool", plain).expect("it is written");
    });
    let (_scratch, done) = unpacked(&good, ArchiveFormat::Zip);
    let out = done.expect("it can be unpacked");
    assert!(out.join("empty").is_dir());
    assert_eq!(mode_of(&out.join("bin/tool")), 0o500);
    assert_eq!(fs::read(out.join("alias")).expect("it is there"), b"#!/bin/sh\n");

    for name in ["../evil", "/evil"] {
        let bad = zip(&|writer| writer.start_file(name, plain).expect("it is written"));
        let (scratch, done) = unpacked(&bad, ArchiveFormat::Zip);
        // The library may write the name without the part that leads out.
        if let Err(error) = done {
            assert!(error.contains("leads out"), "{error}");
        }
        assert!(!scratch.path().join("evil").exists());
    }
    let out = zip(&|writer| writer.add_symlink("out", "../..", plain).expect("it is written"));
    let (_scratch, done) = unpacked(&out, ArchiveFormat::Zip);
    let link = fs::read_link(done.expect("it is kept").join("out")).expect("it is there");
    assert_eq!(link, Path::new("../.."));
    let bad = zip(&|writer| {
        writer.add_symlink("a", "..", plain).expect("it is written");
        writer.start_file("a/evil", plain).expect("it is written");
    });
    let (scratch, done) = unpacked(&bad, ArchiveFormat::Zip);
    assert_eq!(done.expect_err("it is refused"), "its entry \"a/evil\" leads through its link \"a\"");
    assert!(!scratch.path().join("evil").exists());
    let (_scratch, done) = unpacked(&zip(&|_| ()), ArchiveFormat::Zip);
    assert_eq!(done.expect_err("it is empty"), "it has no entries");
}
