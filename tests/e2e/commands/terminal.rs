//! A terminal with a program in it: what the screen shows, and keys.

use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use firesteel_testkit::{DEADLINE, processes, wait_for};
use nix::sys::signal::Signal;
use pty_process::Size;
use pty_process::blocking::{self, Pty};

/// A program that runs in a terminal of its own. It is killed when it is dropped.
pub(crate) struct Terminal {
    child: Child,
    pty: Arc<Pty>,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    /// Starts the command in a terminal with these numbers of rows and columns.
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
            // The terminal ends with an error when its last program does.
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

    /// Whether the screen is one that a program put over the usual one.
    pub(crate) fn is_alternate(&self) -> bool {
        self.screen.lock().expect("no thread panics with the lock").screen().alternate_screen()
    }

    /// Types the keys.
    pub(crate) fn type_keys(&self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Another size. The program is told by the system. The screen keeps two rows at least: `vt100` panics where a line
    /// wraps on a screen of one row, as lines do that were written for the size before.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let mut screen = self.screen.lock().expect("no thread panics with the lock");
        screen.screen_mut().set_size(rows.max(2), columns);
        drop(screen);
        self.pty.resize(Size::new(rows, columns)).expect("it can be resized");
    }

    /// Waits until the screen shows all of these words, and returns what it shows.
    pub(crate) fn wait_for(&self, words: &[&str]) -> String {
        self.wait_until(&format!("{words:?}"), |text| words.iter().all(|word| text.contains(word)))
    }

    /// Waits until the screen is as it should be, and returns what it shows.
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
