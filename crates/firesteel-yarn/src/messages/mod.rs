//! Hadoop's messages: the records of YARN 3.5.0, and the headers of its remote procedure calls.
//!
//! - `rpc`, `security`: the headers of calls, and tokens.
//! - `records`, `ids`, `resource`: records that many messages contain, the text forms of ids, and amounts
//!   of resources.
//! - `application`, `cluster`: messages between clients and the ResourceManager.
//! - `master`: messages between an ApplicationMaster and the ResourceManager.
//! - `container`, `launch`: messages between an ApplicationMaster and a NodeManager.
//!
//! They are protocol buffers of version 2, in which an absent field differs from zero. Most fields are options. A field
//! that a server requires is sent even if it is empty. Fields have Hadoop's names, in Rust's spelling, and Hadoop's
//! numbers. Fields that this crate does not need are left out, and are skipped in received messages. Versions 3.3.4 and
//! 3.4.1 differ only by additions.
//!
//! Source: the descriptors in the jars of Hadoop 3.3.4, 3.4.1 and 3.5.0.

#![allow(missing_docs, reason = "fields and variants are Hadoop's; their records say what they are about")]

/// Declares a module for each file of `proto/`, with the Rust types that the build script has generated.
macro_rules! generated {
    ($($name:ident)*) => {
        $(pub mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
        })*
    };
}

generated! { application cluster container launch master records rpc security }

pub mod ids;
pub mod resource;
