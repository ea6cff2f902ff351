//! No bytes of a peer can break a client.

use bytes::Bytes;
use firesteel_yarn::credentials::Credentials;
use firesteel_yarn::ipc::frame;
use firesteel_yarn::messages::application::GetApplicationReportResponse;
use firesteel_yarn::messages::container::StartContainersResponse;
use firesteel_yarn::messages::master::AllocateResponse;
use firesteel_yarn::messages::rpc::{RpcResponseHeader, RpcSasl};
use quickcheck::quickcheck;

use crate::vectors::vector;

/// Reads bytes as every kind of message that a peer sends.
fn read_as_everything(bytes: &[u8]) {
    let frame = Bytes::copy_from_slice(bytes);
    let _ = frame::take::<RpcResponseHeader>(&mut frame.clone());
    let _ = frame::take::<RpcSasl>(&mut frame.clone());
    let _ = frame::take::<AllocateResponse>(&mut frame.clone());
    let _ = frame::take::<GetApplicationReportResponse>(&mut frame.clone());
    let _ = frame::take::<StartContainersResponse>(&mut frame.clone());
    let _ = Credentials::read(bytes);
}

const SOUND: [&str; 6] = [
    "allocate-one-reply",
    "sasl-challenge",
    "start-containers-reply",
    "container-statuses-reply",
    "token-file-0",
    "token-file-1",
];

#[test]
fn what_is_cut_off_anywhere_is_an_error_and_nothing_else() {
    for name in SOUND {
        let bytes = vector(name);
        for length in 0..bytes.len() {
            read_as_everything(&bytes[..length]);
            read_as_everything(&bytes[length..]);
            if name.starts_with("token-file") {
                assert!(Credentials::read(&bytes[..length]).is_err(), "{name} of {length} bytes");
            }
        }
    }
}

/// No known record nests. But unknown fields are skipped, and they may nest: groups contain groups.
#[test]
fn a_message_that_nests_without_end_is_refused() {
    let (begin, end) = (15 << 3 | 3, 15 << 3 | 4);
    for (depth, is_taken) in [(10, true), (20_000, false)] {
        let message = [vec![begin; depth], vec![end; depth]].concat();
        let mut framed = Vec::new();
        prost::encoding::encode_varint(message.len() as u64, &mut framed);
        framed.extend(message);
        assert_eq!(frame::take::<AllocateResponse>(&mut Bytes::from(framed)).is_ok(), is_taken, "{depth}");
    }
}

quickcheck! {
    fn no_bytes_break_a_reader(bytes: Vec<u8>) -> bool {
        read_as_everything(&bytes);
        read_as_everything(&[b"HDTS\0", &bytes[..]].concat());
        read_as_everything(&[b"HDTS\x01", &bytes[..]].concat());
        true
    }

    fn no_changed_byte_breaks_a_reader(which: usize, at: usize, to: u8) -> bool {
        let mut bytes = vector(SOUND[which % SOUND.len()]);
        let at = at % bytes.len();
        bytes[at] = to;
        read_as_everything(&bytes);
        read_as_everything(&bytes[4..]);
        true
    }
}
