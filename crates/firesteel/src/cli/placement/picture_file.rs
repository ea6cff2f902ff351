//! The option of commands that draw a picture.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::cli::exit::{self, Failure};

/// The option that names the file for a picture.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PictureFile {
    /// Draw the result into FILE, as SVG; rsvg-convert makes PNG and PDF of it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
}

impl PictureFile {
    /// Writes the picture into the file, if the option names one. `draw` makes the SVG document.
    pub(super) fn save(&self, draw: impl FnOnce() -> String) -> Result<(), Failure> {
        self.svg.as_deref().map_or(Ok(()), |path| exit::saved(path, draw()))
    }
}
