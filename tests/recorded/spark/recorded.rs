//! Streams recorded from real Spark, read and written again.

use std::path::{Path, PathBuf};

use bytes::{Bytes, BytesMut};
use firesteel_spark::envelope::Envelope;
use firesteel_spark::frame::Frame;
use firesteel_spark::java::{self, Bounds};

/// The longest frame in a recording.
pub(crate) const MOST: usize = 1 << 20;

#[expect(clippy::disallowed_methods, reason = "tests read fixtures")]
pub(crate) fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files below a folder of `fixtures/spark`, in order.
pub(crate) fn files(folder: &str) -> Vec<PathBuf> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "bin") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/spark").join(folder), &mut found);
    found.sort();
    assert!(!found.is_empty(), "{folder} has recordings");
    found
}

/// The recorded connections: everything except the shapes.
pub(crate) fn connections() -> Vec<PathBuf> {
    let versions = ["spark-3.5.7", "spark-4.0.1", "spark-4.1.4", "spark-4.3.0"];
    versions.into_iter().flat_map(files).collect()
}

pub(crate) fn frames(path: &Path) -> Vec<Frame> {
    let mut bytes = BytesMut::from(&read(path)[..]);
    let mut frames = Vec::new();
    while let Some(frame) =
        Frame::decode(&mut bytes, MOST).unwrap_or_else(|error| panic!("{path:?}: {error}"))
    {
        frames.push(frame);
    }
    assert!(bytes.is_empty(), "{path:?} ends with a whole frame");
    frames
}

/// The envelope of a frame, if it has one, and its Java object.
pub(crate) fn opened(frame: &Frame) -> Option<(Option<Envelope>, Bytes)> {
    match frame {
        Frame::Request { body, .. } | Frame::OneWay { body } => {
            let mut body = body.clone();
            let envelope = Envelope::decode(&mut body).expect("a recorded message has an envelope");
            Some((Some(envelope), body))
        }
        Frame::Response { body, .. } => Some((None, body.clone())),
        Frame::Failure { .. } => None,
    }
}

#[test]
fn every_frame_and_envelope_is_written_as_it_was_recorded() {
    for path in connections() {
        let recorded = read(&path);
        let mut written = BytesMut::new();
        for frame in frames(&path) {
            let envelope_again = |body: &Bytes| {
                let (envelope, object) = opened(&frame).expect("it has a body");
                let mut again = BytesMut::new();
                envelope.expect("it has an envelope").encode(&mut again);
                again.extend_from_slice(&object);
                assert_eq!(again, body, "{path:?}");
                again.freeze()
            };
            let again = match &frame {
                Frame::Request { id, body } => Frame::Request { id: *id, body: envelope_again(body) },
                Frame::OneWay { body } => Frame::OneWay { body: envelope_again(body) },
                other => other.clone(),
            };
            again.encode(&mut written);
        }
        assert!(written == recorded, "{path:?} is written otherwise");
    }
}

#[test]
fn every_object_of_a_connection_is_written_as_it_was_recorded() {
    let mut objects = 0;
    for path in connections() {
        for (_, object) in frames(&path).iter().filter_map(opened) {
            let (graph, root) =
                java::read(&object, Bounds::default()).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            assert!(java::write(&graph, root) == object, "{path:?} is written otherwise");
            objects += 1;
        }
    }
    assert!(objects > 200, "only {objects} objects");
}

#[test]
fn every_shape_of_scala_is_written_as_it_was_recorded() {
    for path in files("shapes") {
        let recorded = read(&path);
        let (graph, root) =
            java::read(&recorded, Bounds::default()).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert!(java::write(&graph, root) == recorded, "{path:?} is written otherwise");
    }
}
