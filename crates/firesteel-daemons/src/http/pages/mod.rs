//! The common parts of the Master's and the Worker's pages. Pages are rendered on the server, and are complete even
//! without the script.
//!
//! - `frame`: the frame around each page: links, the filter, the script
//! - `table`: tables that are filtered, sorted and paged on the server
//! - `parts`: bars, states, times
//! - `log`: the page and the text of a log
//! - `assets`: the style sheet, the script and the icon
//!
//! All text goes through `maud`, which escapes it between tags and in attributes. Links are relative, so that pages
//! also work below the path of another server.

pub(super) mod assets;
pub(super) mod frame;
pub(super) mod log;
pub(super) mod parts;
pub(super) mod table;
