//! What each secret of a cluster, and each token, allows its holder to change: in Firesteel's protocol, by REST and on
//! pages.

use firesteel_testkit::{Daemon, http_get, http_post, run, wait_for};

use super::secured::{Secured, done};

/// A cluster where vic may read logs of others, mia may end what belongs to them, and ada administers.
fn cluster() -> Secured {
    let lists = [
        "spark.ui.view.acls=vic",
        "spark.modify.acls=mia",
        "spark.admin.acls=ada",
        "spark.ui.killEnabled=true",
    ];
    let cluster = Secured::start_with(&lists);
    for user in ["ann", "bob", "mia", "ada"] {
        cluster.name(user);
    }
    wait_for("the Master to know ada", || {
        let done = run(&mut cluster.command(Some("ada"), &["status"]));
        (done.code() == 0).then_some(())
    });
    cluster
}

/// Submits a cluster driver of ann's. Returns its id.
fn driver(cluster: &Secured) -> String {
    let words = ["submit", "--deploy-mode", "cluster", "--", "sleep", "1000"];
    done(&mut cluster.command(Some("ann"), &words));
    let drivers = cluster.status()["drivers"].clone();
    let last = drivers.as_array().and_then(|all| all.last()).expect("a driver");
    last["id"].as_str().expect("an id").to_owned()
}

#[test]
fn each_secret_ends_what_it_may_in_firesteels_protocol() {
    let cluster = cluster();
    let mut id = driver(&cluster);
    let own = "belongs to ann@";
    let (admins, unknown) = ("only an administrator may decommission", "no living Worker has");
    let other_role = "is for another purpose";
    for (holder, kill, decommission) in [
        ("worker", Some("does not allow it"), "does not allow it"),
        ("monitor", Some("does not allow it"), "does not allow it"),
        ("other", Some("another secret"), "another secret"),
        ("bob", Some(own), admins),
        ("user", None, admins),
        ("mia", None, admins),
        ("ann", None, admins),
        ("ada", None, unknown),
        ("admin", None, unknown),
        ("cluster", None, unknown),
    ] {
        let killed = run(&mut cluster.command(Some(holder), &["kill", &id]));
        match kill {
            Some(words) => {
                assert!(killed.code() != 0 && killed.stderr.contains(words), "{holder}: {killed}");
                assert!(!killed.stderr.contains(other_role), "{holder}: {killed}");
            }
            None => {
                assert_eq!(killed.code(), 0, "{holder}: {killed}");
                id = driver(&cluster);
            }
        }
        let left = run(&mut cluster.command(Some(holder), &["decommission", "nowhere"]));
        assert!(left.code() != 0 && left.stderr.contains(decommission), "{holder}: {left}");
    }
    // An application is protected like a cluster driver.
    let words = ["map", "--executor-cores", "1", "--name", "long", "--", "sleep", ":::", "1000"];
    let mut map = Daemon::spawn(&mut cluster.command(Some("ann"), &words));
    wait_for("the application", || {
        let status = cluster.status();
        status["applications"].as_array().is_some_and(|all| !all.is_empty()).then_some(())
    });
    let refused = run(&mut cluster.command(Some("bob"), &["kill", "long"]));
    assert!(refused.code() == 1 && refused.stderr.contains("belongs to ann, and bob may not"), "{refused}");
    assert!(map.is_alive());
    done(&mut cluster.command(Some("mia"), &["kill", "long"]));
    assert_eq!(map.wait(), 143);
    cluster.master.wait_for_line(&[" is bob@", "kill-application", "refused: application app-"]);
    cluster.master.wait_for_line(&["mia@", "kill-application", "done: app-"]);
}

#[test]
fn each_secret_ends_what_it_may_by_rest_and_on_pages() {
    let cluster = cluster();
    let rest = cluster.rest();
    let bearer = |word: &str| format!("Authorization: Bearer {word}\r\n");
    let post = |file: &str, path: &str| {
        let kind = if file == "admin" { "--admin" } else { "--rest" };
        let head = bearer(&cluster.password_of(file, &[kind]));
        http_post(&rest, path, &head, "")
    };
    let id = driver(&cluster);
    let kill = format!("/v1/submissions/kill/{id}");
    for (holder, path, status, words) in [
        ("bob", &*kill, 403, "belongs to ann@"),
        ("bob", "/v1/submissions/killall", 403, "bob may not end the cluster drivers of other users"),
        ("bob", "/v1/submissions/clear", 403, "only an administrator may clear"),
        ("mia", "/v1/submissions/clear", 403, "only an administrator may clear"),
        ("user", "/v1/submissions/clear", 403, "only an administrator may clear"),
        ("ann", &kill, 200, "\"success\" : true"),
        ("mia", "/v1/submissions/killall", 200, "\"success\" : true"),
        ("ada", "/v1/submissions/clear", 200, "\"success\" : true"),
        ("admin", "/v1/submissions/clear", 200, "\"success\" : true"),
    ] {
        let (found, answer) = post(holder, path);
        assert!(found == status && answer.contains(words), "{holder} {path}: {answer}");
    }
    let id = driver(&cluster);
    let pages = cluster.master.http().to_owned();
    let (reader, admin) = (cluster.password_of("monitor", &[]), cluster.password_of("admin", &["--admin"]));
    let (_, page) = http_get(&pages, "/", &bearer(&reader));
    let (_, rest) = page.split_once("name=\"token\" value=\"").expect("a form with a token");
    let (token, _) = rest.split_once('"').expect("the end of the token");
    let form = format!("id={id}&terminate=true&token={token}&sure=yes");
    let (status, answer) = http_post(&pages, "/driver/kill/", &bearer(&reader), &form);
    assert!(status == 403 && answer.contains("may not end it"), "{answer}");
    let (status, answer) = http_post(&pages, "/driver/kill/", &bearer(&admin), &form);
    assert_eq!(status, 302, "{answer}");
}

#[test]
fn each_secret_reads_the_logs_that_it_may() {
    let cluster = cluster();
    cluster.name("vic");
    let words = ["submit", "--deploy-mode", "cluster", "--", "echo", "what ann wrote"];
    done(&mut cluster.command(Some("ann"), &words));
    let id = cluster.status()["drivers"][0]["id"].as_str().expect("an id").to_owned();
    wait_for("the driver to write", || {
        let read = run(&mut cluster.command(Some("ann"), &["logs", &id]));
        (read.stdout.contains("what ann wrote")).then_some(())
    });
    let (pages, path) = (cluster.master.http().to_owned(), format!("/log/?driverId={id}&logType=stdout"));
    for (holder, may_ask, may_read) in [
        ("worker", false, true),
        ("monitor", false, true),
        ("other", false, false),
        ("bob", true, false),
        ("user", true, true),
        ("vic", true, true),
        ("mia", true, true),
        ("ann", true, true),
        ("admin", true, true),
        ("cluster", true, true),
    ] {
        wait_for("the Master to know all users", || {
            let asked = run(&mut cluster.command(Some(holder), &["status"]));
            ((asked.code() == 0) == may_ask).then_some(())
        });
        let read = run(&mut cluster.command(Some(holder), &["logs", &id]));
        match (may_ask, may_read) {
            (true, true) => assert_eq!(read.stdout, "what ann wrote\n", "{holder}: {read}"),
            (true, false) => {
                assert!(read.code() == 1 && read.stderr.contains("bob may not read its logs"), "{read}");
            }
            (false, _) => assert!(read.code() == 76 && read.stdout.is_empty(), "{holder}: {read}"),
        }
        // The Worker's file has the password of pages, since a Worker checks it.
        let bearer = format!("Authorization: Bearer {}\r\n", cluster.password_of(holder, &[]));
        let (status, page) = http_get(&pages, &path, &bearer);
        let expected = match (holder, may_read) {
            ("other", _) => 401,
            (_, true) => 200,
            (_, false) => 403,
        };
        assert!(status == expected, "{holder}: {page}");
        assert_eq!(page.contains("what ann wrote"), may_read, "{holder}: {page}");
    }
    // A Worker does not know whose its logs are.
    let (bearer, path) = (|word: &str| format!("Authorization: Bearer {word}\r\n"), "/");
    for (holder, expected) in [("ann", 401), ("user", 200)] {
        let (status, _) = http_get(cluster.worker.http(), path, &bearer(&cluster.password_of(holder, &[])));
        assert_eq!(status, expected, "{holder}");
    }
    cluster.master.wait_for_line(&[" is bob@", "read-log", "refused: "]);
}

/// Source: Spark's JWSFilter, 4.0.1.
#[test]
fn tokens_of_sparks_filter_open_pages_and_rest() {
    let key = "YSBrZXkgb2YgdGhlIHRlc3RzLCB3aGljaCBoYXMgbW9yZSB0aGFuIDI1NiBiaXRz";
    let right = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.aghL2OqWZnnX_wO0JDYqIzE5IGDMhuS7oNy8IHU10Jg";
    // One that has ended, one of another key, and one that says that it is not signed.
    let over = "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjF9.OKp4cWUdeUAjIi7qz6r9212Pa_ShfTQMIHc8Jmuflvo";
    let other = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.oflrsdS6V5fXHKV5Lnnrt4kDvNY08w1OViOC9RkDxUU";
    let unsigned = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.zFubRJBg7uZdJrJTPuGLX0WbnHirUgFGyNAOdLftEnM";
    let filter = "org.apache.spark.ui.JWSFilter";
    let settings = [
        format!("spark.ui.filters={filter}"),
        format!("spark.master.rest.filters={filter}"),
        format!("spark.{filter}.param.secretKey={key}"),
        "spark.master.rest.enabled=true".to_owned(),
        "spark.master.rest.port=0".to_owned(),
    ];
    let conf: Vec<&str> = settings.iter().flat_map(|setting| ["--conf", setting]).collect();
    let master = Daemon::master(&[&["--webui-port", "0"], &conf[..]].concat());
    let line = master.wait_for_line(&["serving Spark's REST protocol"]);
    let rest = line.trim_end().trim_end_matches('/').rsplit_once("http://").expect("a URL").1.to_owned();
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    let pages = master.http().to_owned();
    for (address, path) in [(&pages, "/json/"), (&rest, "/v1/submissions/status/driver-20261129000000-0000")]
    {
        for wrong in ["", over, other, unsigned, "a.b.c", key] {
            assert_eq!(http_get(address, path, &bearer(wrong)).0, 401, "{path} {wrong}");
        }
        assert_eq!(http_get(address, path, "").0, 401, "{path}");
        assert_eq!(http_get(address, path, &bearer(right)).0, 200, "{path}");
    }
    assert_eq!(http_get(&pages, "/livez", "").0, 200);
    assert!(!master.log().contains(key));
    // In a browser the token is a password.
    let (status, answer) = http_post(&pages, "/signin/", "", &format!("password={right}&to="));
    assert!(status == 302 && answer.contains("set-cookie: firesteel-"), "{answer}");
}
