//! Prints the data that a Spark peer sent to a Master: the frames of one direction of a TCP connection, and the
//! messages in them.
//!
//! ```text
//! cargo run --example read_capture                # an application of Spark 4.0.1 that registers
//! cargo run --example read_capture -- STREAM.bin  # another recording, from its first byte
//! ```

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an example reads a file and prints"
)]

use std::error::Error;

use bytes::{Bytes, BytesMut};
use firesteel_spark::envelope::Envelope;
use firesteel_spark::frame::Frame;
use firesteel_spark::messages::{self, MASTER};

/// The longest frame that is read.
const LONGEST: usize = 128 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let bytes = match std::env::args().nth(1) {
        Some(path) => std::fs::read(path)?,
        None => include_bytes!("register-application.bin").to_vec(),
    };
    let mut stream = BytesMut::from(&bytes[..]);
    while let Some(frame) = Frame::decode(&mut stream, LONGEST)? {
        match frame {
            Frame::Request { id, body } => {
                println!("request {id}, {} bytes", body.len());
                print(body)?;
            }
            Frame::OneWay { body } => {
                println!("message, {} bytes", body.len());
                print(body)?;
            }
            Frame::Response { id, body } => println!("answer to request {id}, {} bytes", body.len()),
            Frame::Failure { id, reason } => println!("request {id} failed: {reason}"),
        }
    }
    match stream.len() {
        0 => {}
        left => println!("{left} bytes at the end are the beginning of a frame"),
    }
    Ok(())
}

/// Prints the envelope, and the message in it if a Master understands it.
fn print(mut body: Bytes) -> Result<(), Box<dyn Error>> {
    let envelope = Envelope::decode(&mut body)?;
    let sender =
        envelope.sender.map_or_else(|| "a peer that cannot be reached".to_owned(), |sender| sender.url());
    println!("  from {sender} to the endpoint {}", envelope.endpoint);
    if envelope.endpoint == MASTER {
        match messages::read(&body) {
            Ok(message) => println!("  {message:#?}"),
            Err(unreadable) => println!("  {unreadable}"),
        }
    }
    Ok(())
}
