//! A terminal with a program in it: screen contents and keys.

use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use firesteel_testkit::{DEADLINE, processes, wait_for};
use nix::sys::signal::Signal;
use pty_process::Size;
use pty_process::blocking::{self, Pty};

/// A program in a terminal of its own, killed when it is dropped.
pub(crate) struct Terminal {
    child: Child,
    pty: Arc<Pty>,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    pub(crate) fn start(command: Command, rows: u16, columns: u16) -> Self {
        let (pty, pts) = blocking::open().expect("there are pseudo-terminals");
        pty.resize(Size::new(rows, columns)).expect("it can be resized");
        let command = blocking::Command::from(command).env("TERM", "xterm-256color");
        let child = command.spawn(pts).expect("the binary can be started");
        let pty = Arc::new(pty);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let (source, shown) = (Arc::clone(&pty), Arc::clone(&screen));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails when the terminal's last program ends.
            while let Ok(count @ 1..) = (&*source).read(&mut bytes) {
                shown.lock().expect("no thread panics with the lock").process(&bytes[..count]);
            }
        });
        Self { child, pty, screen }
    }

    /// What the screen shows.
    pub(crate) fn text(&self) -> String {
        self.screen.lock().expect("no thread panics with the lock").screen().contents()
    }

    /// Whether the alternate screen is shown.
    pub(crate) fn is_alternate(&self) -> bool {
        self.screen.lock().expect("no thread panics with the lock").screen().alternate_screen()
    }

    pub(crate) fn type_keys(&self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Changes the terminal's size, of which the program is notified. The screen keeps at least two rows: older lines
    /// may wrap, and `vt100` panics if a line wraps on a screen of one row.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let mut screen = self.screen.lock().expect("no thread panics with the lock");
        screen.screen_mut().set_size(rows.max(2), columns);
        drop(screen);
        self.pty.resize(Size::new(rows, columns)).expect("it can be resized");
    }

    /// Waits until the screen shows all of these words. Returns its contents.
    pub(crate) fn wait_for(&self, words: &[&str]) -> String {
        self.wait_until(&format!("{words:?}"), |text| words.iter().all(|word| text.contains(word)))
    }

    /// Waits until `is_so` holds for the screen. Returns its contents.
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let text = self.text();
            if is_so(&text) {
                return text;
            }
            assert!(Instant::now() < deadline, "waited in vain for {what} on the screen:\n{text}");
            thread::park_timeout(std::time::Duration::from_millis(10));
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        processes::signal(self.child.id(), signal).expect("it runs");
    }

    /// Waits for the program's end; its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        wait_for("the program to end", || self.child.try_wait().expect("it is our child")).code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
