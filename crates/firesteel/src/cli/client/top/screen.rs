//! The terminal while `firesteel top` uses it.

use std::io;

use ratatui::DefaultTerminal;

use super::draw;
use super::model::Model;

/// The terminal in raw mode, on its alternate screen. The terminal is restored when this value is dropped, and when the
/// process panics.
pub(super) struct Screen(DefaultTerminal);

impl Screen {
    pub(super) fn enter() -> io::Result<Self> {
        // The panic hook of ratatui restores the terminal before the panic is printed.
        ratatui::try_init().map(Self)
    }

    pub(super) fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        self.0.draw(|frame| draw::draw(frame, model)).map(|_| ())
    }

    /// Handles a change of the terminal's size. After this, everything is drawn again.
    pub(super) fn resize(&mut self) -> io::Result<()> {
        let size = self.0.size()?;
        self.0.resize(size.into())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // If the terminal is gone, nothing can be restored.
        let _ = ratatui::try_restore();
    }
}
