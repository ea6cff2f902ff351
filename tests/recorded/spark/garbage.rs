//! Streams that are truncated, have flipped bits, or are made to harm their reader.

use firesteel_spark::envelope::Address;
use firesteel_spark::frame::Frame;
use firesteel_spark::java::{self, Bounds, Problem};
use firesteel_spark::messages::{self, FromDriver, FromWorker, Message, ToDriver, ToWorker};

use crate::recorded::{MOST, connections, files, frames, opened, read};

/// The recorded objects, without duplicates.
fn objects() -> Vec<Vec<u8>> {
    let shapes = files("shapes").into_iter().map(|path| read(&path));
    let sent = connections().into_iter().flat_map(|path| {
        let frames = frames(&path);
        frames.iter().filter_map(opened).map(|(_, object)| object.to_vec()).collect::<Vec<_>>()
    });
    let mut objects: Vec<Vec<u8>> = shapes.chain(sent).collect();
    objects.sort();
    objects.dedup();
    objects
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|digit| !digit.is_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).expect("it is hexadecimal"))
        .collect()
}

fn problem(hex: &str) -> Problem {
    java::read(&bytes_of(hex), Bounds::default()).expect_err("it is refused").problem
}

/// Reads a message. If it registers a driver or Worker, answers it.
fn answer_if_it_registers(object: &[u8]) {
    let master = Address { host: "master".to_owned(), port: 7077 };
    let answer = match messages::read(object) {
        Ok(Message::Driver(FromDriver::RegisterApplication(registration))) => {
            let answer = ToDriver::RegisteredApplication { app: "app-1".to_owned(), master };
            answer.write(&registration.dialect)
        }
        Ok(Message::Worker(FromWorker::RegisterWorker(registration))) => {
            let (dialled, web_ui_url) = (registration.master.clone(), String::new());
            let answer = ToWorker::RegisteredWorker { master, dialled, web_ui_url, is_duplicate: false };
            answer.write(&registration.dialect)
        }
        _ => return,
    };
    assert!(java::read(&answer, Bounds::default()).is_ok());
}

#[test]
fn an_object_that_is_cut_short_is_refused() {
    for object in objects() {
        let whole = java::read(&object, Bounds::default()).expect("a recorded object can be read");
        for count in 0..object.len() {
            // Bytes after the object are ignored, so that it may be complete without the last bytes.
            match java::read(&object[..count], Bounds::default()) {
                Ok(read) => assert_eq!(read, whole, "{count} of {}", object.len()),
                Err(error) => assert_eq!((error.problem, error.at <= count), (Problem::Truncated, true)),
            }
        }
    }
}

#[test]
fn a_flipped_bit_gives_another_object_or_an_error_and_never_a_panic() {
    let mut refused = 0;
    for mut object in objects() {
        // One bit of each byte, or of every ninth byte of long objects.
        let step = if object.len() < 1_000 { 1 } else { 9 };
        for bit in (0..object.len() * 8).step_by(step) {
            object[bit / 8] ^= 1 << (bit % 8);
            match java::read(&object, Bounds::default()) {
                Ok((graph, root)) => drop(java::write(&graph, root)),
                Err(_) => refused += 1,
            }
            answer_if_it_registers(&object);
            object[bit / 8] ^= 1 << (bit % 8);
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_flipped_bit_in_a_frame_is_never_a_panic() {
    for path in connections() {
        let mut bytes = read(&path);
        for bit in 0..bytes.len().min(2_000) * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let mut left = bytes::BytesMut::from(&bytes[..]);
            while let Ok(Some(_)) = Frame::decode(&mut left, MOST) {}
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn objects_in_objects_without_end_are_refused() {
    // An array of objects whose only element is such an array, and so on.
    let class = "72 0013 5b4c6a6176612e6c616e672e4f626a6563743b 90ce589f1073296c 02 0000 78 70";
    let mut hex = format!("aced0005 75 {class} 00000001");
    hex.push_str(&"75 71 007e0000 00000001 ".repeat(100_000));
    assert_eq!(problem(&hex), Problem::Depth);
    // A long chain of superclasses.
    let mut hex = "aced0005 73".to_owned();
    hex.push_str(&"72 0001 41 0000000000000000 02 0000 78 ".repeat(100_000));
    assert_eq!(problem(&hex), Problem::Depth);
    // A class that is its own superclass.
    assert_eq!(
        problem("aced0005 73 72 0001 41 0000000000000000 02 0000 78 71 007e0000"),
        Problem::Handle(0x7e_0000)
    );
}

#[test]
fn few_bytes_do_not_make_many_values() {
    // An object of sixteen empty classes takes six bytes.
    let class = |flags: &str| format!("72 0001 41 0000000000000000 {flags} 0000 78");
    let line = class("02").repeat(16);
    let elements = "73 71 007e0002 ".repeat(100_000);
    let array = "75 72 0013 5b4c6a6176612e6c616e672e4f626a6563743b 90ce589f1073296c 02 0000 78 70 000186a0";
    let hex = format!("aced0005 {array} 73 {line} 70 {elements}");
    assert_eq!(problem(&hex), Problem::Values);
    // An array with a false length.
    assert_eq!(
        problem("aced0005 75 72 0002 5b49 0000000000000000 02 0000 78 70 7fffffff"),
        Problem::Truncated
    );
    assert_eq!(
        problem("aced0005 75 72 0002 5b49 0000000000000000 02 0000 78 70 ffffffff"),
        Problem::Truncated
    );
    assert_eq!(problem("aced0005 7c 7fffffffffffffff"), Problem::Truncated);
}

#[test]
fn what_cannot_be_read_is_named() {
    let rows = [
        ("", Problem::Truncated),
        ("aced0004 70", Problem::Header),
        ("474554202f20485454502f312e31", Problem::Header),
        ("aced0005", Problem::Truncated),
        ("aced0005 00", Problem::Code(0)),
        ("aced0005 7b", Problem::Code(0x7b)),
        ("aced0005 71 007e0000", Problem::Handle(0x7e_0000)),
        ("aced0005 71 00000000", Problem::Handle(0)),
        ("aced0005 74 0001 80", Problem::Text),
        // Half of a surrogate pair.
        ("aced0005 74 0003 eda0bd", Problem::Text),
        // An array of an unknown type, an object of a class that cannot be serialized, and a field without a type.
        ("aced0005 75 72 0001 41 0000000000000000 02 0000 78 70", Problem::Class("A".to_owned())),
        ("aced0005 73 72 0001 41 0000000000000000 00 0000 78 70", Problem::Class("A".to_owned())),
        ("aced0005 73 72 0001 41 0000000000000000 04 0000 78 70", Problem::Class("A".to_owned())),
        ("aced0005 73 72 0001 41 0000000000000000 02 0001 51 0001 62", Problem::Code(b'Q')),
    ];
    for (hex, expected) in rows {
        assert_eq!(problem(hex), expected, "{hex}");
    }
}
