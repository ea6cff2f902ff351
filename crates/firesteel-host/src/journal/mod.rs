//! A journal: the durable records of a machine, as bytes on a disk.
//!
//! A journal is a directory, or another [`Storage`]. Its file `journal-<generation>` begins with an *image* of the
//! machine's state. One *batch* of records after the other follows, in the order of the machine's decisions. This
//! module does not interpret the bytes of a batch.
//!
//! - `frame`: the format of images and batches, and how damage is distinguished from an unfinished write.
//! - `contents`: the contents of a file, read as a whole.
//! - `directory`: the files of a journal, and the locks that let only one process write them.
//! - `writer`: appends batches and begins new generations.
//!
//! The promises:
//!
//! - When [`Writer::commit`] returns, this batch and all earlier batches are on the disk. A batch is on the disk as a
//!   whole, or not at all.
//! - After each commit, [`Writer::is_lost`] says whether somebody has removed or replaced the directory or its file, so
//!   that a later process would not find the batches. A new image writes them anew.
//! - If the last batch of a file was not finished when the machine stopped, the file is read without that batch.
//! - A file with damage anywhere else is refused: see [`Damage`]. A file without its end is recognized:
//!   [`Tail::Unmarked`]. An older copy of the whole file is not: see `StateMark` in `firesteel-protocol`.
//! - After an error nothing more is written, because it is unknown what a failed write or sync has left on the disk.
//! - The size of the files is limited to a few times the length of an image: see [`Writer::wants_image`].
//!
//! Why no embedded database: a Master replays all records at its start and reads none in between. So it only needs a
//! durable append. That is one write and one sync of some ten bytes here, and several pages with a tree.

mod contents;
mod directory;
mod frame;
#[cfg(test)]
mod tests;
mod writer;

pub use contents::{Contents, Tail};
pub use directory::{Directory, JournalError};
pub use frame::Damage;
pub use writer::{Batch, END_MARK, JournalMeter, Storage, Writer};
