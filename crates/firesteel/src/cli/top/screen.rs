//! The terminal, for as long as it is ours.

use std::io;

use ratatui::DefaultTerminal;

use super::draw;
use super::model::Model;

/// The terminal in raw mode with its alternate screen. It is given back as it was when this is dropped, and when
/// the process panics.
pub(super) struct Screen(DefaultTerminal);

impl Screen {
    pub(super) fn enter() -> io::Result<Self> {
        // Its panic hook gives the terminal back before the panic is told.
        ratatui::try_init().map(Self)
    }

    pub(super) fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        self.0.draw(|frame| draw::draw(frame, model)).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nothing more can be done if the terminal is gone.
        let _ = ratatui::try_restore();
    }
}
