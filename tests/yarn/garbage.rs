//! Nothing that a peer sends breaks a client.

use bytes::Bytes;
use firesteel_yarn::credentials::Credentials;
use firesteel_yarn::ipc::frame;
use firesteel_yarn::messages::application::GetApplicationReportResponse;
use firesteel_yarn::messages::cluster::GetQueueInfoResponse;
use firesteel_yarn::messages::container::StartContainersResponse;
use firesteel_yarn::messages::master::AllocateResponse;
use firesteel_yarn::messages::rpc::{RpcResponseHeader, RpcSasl};
use quickcheck::quickcheck;

use crate::vectors::vector;

/// Reads bytes as everything that a peer sends.
fn read_as_everything(bytes: &[u8]) {
    let frame = Bytes::copy_from_slice(bytes);
    let _ = frame::take::<RpcResponseHeader>(&mut frame.clone());
    let _ = frame::take::<RpcSasl>(&mut frame.clone());
    let _ = frame::take::<AllocateResponse>(&mut frame.clone());
    let _ = frame::take::<GetApplicationReportResponse>(&mut frame.clone());
    let _ = frame::take::<GetQueueInfoResponse>(&mut frame.clone());
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

/// Queues contain queues: a hostile one is deep.
#[test]
fn a_message_that_nests_without_end_is_refused() {
    let mut queue = Vec::new();
    for _ in 0..20_000 {
        let mut outer = vec![6 << 3 | 2];
        prost::encoding::encode_varint(queue.len() as u64, &mut outer);
        outer.append(&mut queue);
        queue = outer;
    }
    let mut response = vec![1 << 3 | 2];
    prost::encoding::encode_varint(queue.len() as u64, &mut response);
    response.append(&mut queue);
    let mut framed = Vec::new();
    prost::encoding::encode_varint(response.len() as u64, &mut framed);
    framed.append(&mut response);
    assert!(frame::take::<GetQueueInfoResponse>(&mut Bytes::from(framed)).is_err());
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
