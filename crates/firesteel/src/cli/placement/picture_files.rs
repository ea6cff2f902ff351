//! The options of commands that draw a picture.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::png;
use crate::cli::exit::{self, Failure};

/// The files that a picture is drawn into.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PictureFiles {
    /// Draw the result into FILE, as SVG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
    /// Draw the result into FILE, as PNG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    png: Option<PathBuf>,
}

impl PictureFiles {
    /// Draws the picture into the files that were asked for. `draw` makes the SVG document.
    pub(super) fn save(&self, draw: impl FnOnce() -> String) -> Result<(), Failure> {
        if *self == Self::default() {
            return Ok(());
        }
        let svg = draw();
        if let Some(path) = &self.svg {
            exit::saved(path, &svg)?;
        }
        self.png.as_deref().map_or(Ok(()), |path| save_png(path, &svg))
    }
}

fn save_png(path: &Path, svg: &str) -> Result<(), Failure> {
    let drawn = png::of(svg).map_err(|error| {
        Failure::of(exit::Exit::Failure, format!("cannot draw {}: {error}", path.display()))
    })?;
    exit::saved(path, drawn)
}
