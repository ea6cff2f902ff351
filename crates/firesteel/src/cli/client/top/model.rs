//! The state of the view, and how keys change it.

use firesteel_protocol::messages::MasterView;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::rows::{Row, TableKind};

#[derive(Debug)]
pub(super) struct Model {
    pub(super) masters: String,
    /// The latest answer of a Master.
    pub(super) view: Option<MasterView>,
    /// The error of the latest request, if it failed.
    pub(super) trouble: Option<String>,
    /// The table that keys act on.
    pub(super) table: TableKind,
    /// The key of the selected row in each table. `None`: the first row is selected.
    marks: [Option<String>; 3],
    orders: [usize; 3],
    /// The panel over the tables.
    pub(super) panel: Panel,
    /// The latest message, shown in the last line.
    pub(super) message: Option<String>,
    /// Number of rows of the selected table that fit on the screen.
    pub(super) page: usize,
}

/// The panel over the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Panel {
    Nothing,
    Help,
    /// The question whether to end this application.
    Question {
        app: String,
    },
    /// The explanation of an application, scrolled to this line.
    Explained {
        sentences: Vec<String>,
        from: u16,
    },
}

/// The action that a key requests from the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    Quit,
    Interrupt,
    Explain(String),
    Kill(String),
}

impl Model {
    pub(super) fn new(masters: String) -> Self {
        Self {
            masters,
            view: None,
            trouble: None,
            table: TableKind::Applications,
            marks: [None, None, None],
            orders: [0; 3],
            panel: Panel::Nothing,
            message: None,
            page: 10,
        }
    }

    pub(super) fn on_state(&mut self, view: MasterView) {
        self.view = Some(view);
        self.trouble = None;
    }

    pub(super) fn on_trouble(&mut self, trouble: String) {
        self.trouble = Some(trouble);
    }

    pub(super) fn on_explained(&mut self, sentences: Vec<String>) {
        self.panel = Panel::Explained { sentences, from: 0 };
    }

    pub(super) fn on_message(&mut self, line: String) {
        self.message = Some(line);
    }

    pub(super) fn on_key(&mut self, key: KeyEvent) -> Action {
        if key.modifiers.contains(KeyModifiers::CONTROL) && matches!(key.code, KeyCode::Char('c' | 'C')) {
            return Action::Interrupt;
        }
        match std::mem::replace(&mut self.panel, Panel::Nothing) {
            Panel::Nothing => self.on_plain_key(key.code),
            // Any key closes the help.
            Panel::Help => Action::Nothing,
            Panel::Question { app } => match key.code {
                KeyCode::Char('y' | 'Y') => {
                    self.message = Some(format!("ending {app} .."));
                    Action::Kill(app)
                }
                _ => {
                    self.message = Some(format!("{app} keeps running"));
                    Action::Nothing
                }
            },
            Panel::Explained { sentences, from } => {
                let from = match key.code {
                    KeyCode::Down | KeyCode::Char('j') => from.saturating_add(1),
                    KeyCode::Up => from.saturating_sub(1),
                    KeyCode::PageDown | KeyCode::Char(' ') => from.saturating_add(10),
                    KeyCode::PageUp => from.saturating_sub(10),
                    _ => return Action::Nothing,
                };
                self.panel = Panel::Explained { sentences, from };
                Action::Nothing
            }
        }
    }

    fn on_plain_key(&mut self, code: KeyCode) -> Action {
        self.message = None;
        match code {
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => return Action::Quit,
            KeyCode::Char('?' | 'h') => self.panel = Panel::Help,
            KeyCode::Tab | KeyCode::Right => self.table = self.table.next(),
            KeyCode::BackTab | KeyCode::Left => self.table = self.table.previous(),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::Up => self.step(-1),
            KeyCode::PageDown => self.step(isize::try_from(self.page).unwrap_or(isize::MAX)),
            KeyCode::PageUp => self.step(isize::try_from(self.page).map_or(isize::MIN, |page| -page)),
            KeyCode::Home => self.step(isize::MIN),
            KeyCode::End => self.step(isize::MAX),
            KeyCode::Char('s' | 'S') => {
                let order = &mut self.orders[self.table as usize];
                *order = (*order + 1) % self.table.orders().len();
            }
            KeyCode::Char('e' | 'E') | KeyCode::Enter => match self.marked_app() {
                Some(app) => return Action::Explain(app),
                None => self.message = Some("select an application first: tab moves there".to_owned()),
            },
            KeyCode::Char('k' | 'K') => match self.marked_app() {
                Some(app) => self.panel = Panel::Question { app },
                None => self.message = Some("select an application first: tab moves there".to_owned()),
            },
            _ => {}
        }
        Action::Nothing
    }

    /// The rows of a table, in its sort order.
    pub(super) fn rows(&self, table: TableKind) -> Vec<Row> {
        self.view.as_ref().map_or_else(Vec::new, |view| table.rows(view, self.orders[table as usize]))
    }

    /// The name of a table's sort order.
    pub(super) fn order(&self, table: TableKind) -> &'static str {
        table.orders()[self.orders[table as usize]]
    }

    /// The index of the selected row. If that row no longer exists, the first row is selected.
    pub(super) fn mark(&self, table: TableKind, rows: &[Row]) -> usize {
        let key = self.marks[table as usize].as_ref();
        key.and_then(|key| rows.iter().position(|row| row.key == *key)).unwrap_or(0)
    }

    fn step(&mut self, by: isize) {
        let rows = self.rows(self.table);
        let last = rows.len().saturating_sub(1);
        let place = self.mark(self.table, &rows).saturating_add_signed(by).min(last);
        self.marks[self.table as usize] = rows.get(place).map(|row| row.key.clone());
    }

    fn marked_app(&self) -> Option<String> {
        let rows = self.rows(self.table);
        rows.get(self.mark(self.table, &rows))?.app.clone()
    }
}
