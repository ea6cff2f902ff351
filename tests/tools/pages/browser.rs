//! Drives a real Chromium through chromedriver, over the WebDriver protocol.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use firesteel_testkit::wait::wait;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;
use ureq::Agent;

/// The time limit of every wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one window, which ends when it is dropped.
pub(crate) struct Browser {
    driver: Child,
    agent: Agent,
    session: String,
    _profile: TempDir,
}

/// The reader's device and colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Light,
    Dark,
    /// A telephone, light.
    Narrow,
}

impl Look {
    pub(crate) const ALL: [Self; 3] = [Self::Light, Self::Dark, Self::Narrow];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
            Self::Narrow => "narrow",
        }
    }
}

/// Checks that a browser and its driver are installed.
pub(crate) fn look() -> Result<(), String> {
    for program in ["chromium", "chromedriver"] {
        let found = Command::new(program).arg("--version").stderr(Stdio::null()).output();
        found.map_err(|error| {
            format!("{program}, of Debian's packages chromium and chromium-driver: {error}")
        })?;
    }
    Ok(())
}

impl Browser {
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().expect("a temporary directory");
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .env("TMPDIR", profile.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let mut lines = BufReader::new(driver.stdout.take().expect("it is piped")).lines();
        let port = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                line.split("started successfully on port ").nth(1)?.trim_end_matches('.').parse::<u16>().ok()
            })
            .expect("chromedriver says its port");
        // It must not block on its output.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let config = Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(false);
        let mut browser = Self {
            driver,
            agent: config.build().into(),
            session: format!("http://127.0.0.1:{port}/session"),
            _profile: profile,
        };
        let flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            &format!("--user-data-dir={}", browser._profile.path().join("profile").display()),
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": flags},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let session =
            browser.post("", &wanted)["sessionId"].as_str().expect("a session has an id").to_owned();
        browser.session = format!("{}/{session}", browser.session);
        browser.show(Look::Light);
        browser
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.session);
        let mut answer = self.agent.post(&url).send(body.to_string()).expect("chromedriver answers");
        let text = answer.body_mut().read_to_string().expect("chromedriver answers in text");
        let value: Value = serde_json::from_str(&text).expect("chromedriver answers in JSON");
        assert!(answer.status().is_success(), "{path} {body}: {}", value["value"]["message"]);
        value["value"].clone()
    }

    /// Calls a method of the DevTools protocol.
    pub(crate) fn devtools(&self, method: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({"cmd": method, "params": parameters}))
    }

    /// Simulates this device.
    pub(crate) fn show(&self, look: Look) {
        let scheme = if look == Look::Dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.devtools("Emulation.setEmulatedMedia", &json!({"features": features}));
        let (width, height, mobile) =
            if look == Look::Narrow { (390, 844, true) } else { (1280, 860, false) };
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile});
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Opens a page, and waits until it is loaded.
    pub(crate) fn open(&self, url: &str) {
        self.post("/url", &json!({"url": url}));
    }

    pub(crate) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// Waits until an expression is true in the page.
    pub(crate) fn until(&self, what: &str, expression: &str) {
        wait(what, PATIENCE, || (self.run(&format!("return !!({expression})")) == true).then_some(()));
    }

    /// Presses keys, one after the other, at the current focus.
    pub(crate) fn press(&self, keys: &str) {
        let presses: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key})))
            .collect();
        self.post("/actions", &json!({"actions": [{"type": "key", "id": "keys", "actions": presses}]}));
    }

    /// What the page has written to the console since the last call.
    pub(crate) fn console(&self) -> Vec<String> {
        let entries = self.post("/se/log", &json!({"type": "browser"}));
        let entries = entries.as_array().expect("a log is a list");
        entries.iter().map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Saves a screenshot of the window.
    pub(crate) fn picture(&self, path: &Path) {
        let shot = self.devtools("Page.captureScreenshot", &json!({"format": "webp", "quality": 80}));
        let data = shot["data"].as_str().expect("a picture is text in base 64");
        std::fs::write(path, decoded(data)).expect("the picture can be written");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // This also ends the browser.
        let _ = self.agent.delete(&self.session).call();
        let pid = i32::try_from(self.driver.id()).expect("it is a process id");
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        let _ = self.driver.wait();
    }
}

fn decoded(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for digit in text.bytes().filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte)) {
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}
