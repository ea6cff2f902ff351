//! Forms that change something: only where the operator allows them, and only from the Master's own pages.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use firesteel_testkit::Daemon;
use firesteel_testkit::peers::crowd::{Asked, Crowd};
use firesteel_testkit::wait::wait;

use super::browser::Browser;
use super::many::judge;

/// The answer to a form, sent as a program would.
fn posted(master: &Daemon, path: &str, form: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(master.http()).expect("it listens");
    let length = form.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\n{headers}Content-Length: {length}\r\n\r\n{form}",
        master.http()
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

fn live(master: &Daemon) -> Vec<String> {
    let page: serde_json::Value = serde_json::from_str(&master.get("/json/").1).unwrap_or_default();
    let apps = page["activeapps"].as_array().cloned().unwrap_or_default();
    apps.iter().filter_map(|app| app["id"].as_str().map(str::to_owned)).collect()
}

fn with_application(settings: &[&str]) -> (Daemon, Crowd, String) {
    let master = Daemon::master(&[&["--conf", "spark.deploy.recoveryMode=NONE"], settings].concat());
    let crowd = Crowd::of(&master.address().to_string());
    crowd.workers(0..2);
    let (name, user) = ("victim".to_owned(), "ann".to_owned());
    crowd.application(Asked { name, user, executors: 3, each: (2, 4), gang: 0, ends: None });
    let app = wait("the application", Duration::from_secs(60), || live(&master).pop());
    (master, crowd, app)
}

pub(crate) fn ended() {
    // Without the setting there are no forms, and none is accepted.
    let (master, _crowd, app) = with_application(&[]);
    assert!(!master.get("/").1.contains("method=\"post\""));
    let form = format!("id={app}&terminate=true");
    for path in ["/app/kill/", "/driver/kill/", "/workers/kill/"] {
        let refused = posted(&master, path, &format!("{form}&host=node-0001"), "");
        assert!(refused.starts_with("HTTP/1.1 405 "), "{refused}");
        assert!(refused.contains("spark.ui.killEnabled"), "{refused}");
    }

    let (master, _crowd, app) = with_application(&["--conf", "spark.ui.killEnabled=true"]);
    let page = master.get("/").1;
    let token = page.split("name=\"token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let token = token.expect("the page has a form").to_owned();
    let form = format!("id={app}&terminate=true");
    let get = master.get(&format!("/app/kill/?{form}&token={token}&sure=yes"));
    assert_eq!(get.0, 405, "{}", get.1);
    for (form, headers) in [
        (form.clone(), ""),
        (format!("{form}&token=wrong&sure=yes"), ""),
        (format!("{form}&token={token}&sure=yes"), "Origin: http://evil.example\r\n"),
        (format!("{form}&token={token}&sure=yes"), "Sec-Fetch-Site: cross-site\r\n"),
    ] {
        let refused = posted(&master, "/app/kill/", &form, headers);
        assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    }
    assert_eq!(live(&master), [app.as_str()]);

    let browser = Browser::start();
    browser.open(&format!("http://{}/", master.http()));
    judge(&browser, "allowed");
    browser.run("document.querySelector('#running button, #waiting button').click()");
    browser.until("the question", "document.querySelector('#confirm button')");
    judge(&browser, "question");
    assert_eq!(live(&master), [app.as_str()], "asking is not doing");
    browser.run("document.querySelector('#confirm button').click()");
    browser.until("the first page", "location.pathname === '/' && document.getElementById('completed')");
    wait("the application to end", Duration::from_secs(60), || live(&master).is_empty().then_some(()));
    let said = "a reader of the pages@127.0.0.1";
    browser
        .until("why it ended", &format!("document.getElementById('completed').innerText.includes('{said}')"));

    let left =
        posted(&master, "/workers/kill/", &format!("host=node-0001&host=nowhere&token={token}&sure=yes"), "");
    assert!(left.starts_with("HTTP/1.1 200 ") && left.contains("1 Worker gets no more executors"), "{left}");
    let none = posted(&master, "/workers/kill/", &format!("host=nowhere&token={token}&sure=yes"), "");
    assert!(none.starts_with("HTTP/1.1 404 "), "{none}");
}
