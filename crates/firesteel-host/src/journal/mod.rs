//! A journal: what a machine must not forget, as bytes on a disk.
//!
//! A journal is a directory, or another [`Storage`]. Its file `journal-<generation>` has an *image* of the machine's state and then one *batch*
//! after the other, in the order in which they were decided. The bytes of a batch mean nothing here.
//!
//! - `frame`: how an image or a batch is written, and how damage is told from an unfinished write.
//! - `contents`: what a file has, read as a whole.
//! - `directory`: the files of a journal, and the lock that lets one process write it.
//! - `writer`: appends batches and begins new generations.
//!
//! The promises:
//!
//! - A batch is on the disk when [`Writer::commit`] returns, with all before it. It is there as a whole, or not at all.
//! - A file whose last batch was not finished when the machine stopped is read without that batch.
//! - A file with damage anywhere else is refused: see [`Damage`].
//! - After an error nothing more is written. What a failed write or sync has left on the disk is unknown.
//! - The files have no more than some times the length of an image: see [`Writer::wants_image`].
//!
//! Why no embedded database: a Master replays all records at its start and reads none in between, so all that it needs of
//! one is an append that is durable. That is one write and one sync of some ten bytes here, and several pages with a tree.

mod contents;
mod directory;
mod frame;
#[cfg(test)]
mod tests;
mod writer;

pub use contents::{Contents, Tail};
pub use directory::{Directory, JournalError};
pub use frame::Damage;
pub use writer::{Batch, JournalMeter, Storage, Writer};
