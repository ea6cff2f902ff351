//! The page on which a reader signs in, and out again.

use std::net::IpAddr;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::ACCEPT;
use hyper::{Method, Request, StatusCode};
use maud::{DOCTYPE, PreEscaped, html};

use super::answer::Answer;
use super::pages::frame::meta;
use super::question::{Origin, Question};
use super::site::LONGEST_FORM;

/// The path of the page, without the `/` at its end.
pub(super) const PATH: &str = "/signin";

/// The style of the page, which is shown before anything else may be read. The content security policy names its hash.
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:15vh auto 0;padding:0 1rem}\
                     h1{font-size:1.4rem}input,button{font:inherit;padding:.4rem .6rem;width:100%;box-sizing:border-box}\
                     button{margin-top:.6rem}code{font-size:.9em}.wrong{color:#b00020}\
                     @media(prefers-color-scheme:dark){body{background:#16181c;color:#e6e6e6}.wrong{color:#ff8a80}}";

/// What a reader has sent.
pub(super) enum Form {
    /// To sign in with this password, and then to see this page.
    SignIn {
        password: String,
        to: String,
    },
    SignOut,
}

/// Whether a browser asks, which shows a page to its reader.
pub(super) fn is_by_browser(request: &Request<Incoming>) -> bool {
    let accepted = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
    request.method() == Method::GET && accepted.is_some_and(|types| types.contains("text/html"))
}

/// Reads what a reader has sent.
///
/// # Errors
/// The answer to what is no such form.
pub(super) async fn read(request: Request<Incoming>, from: IpAddr) -> Result<Form, Answer> {
    let (head, body) = request.into_parts();
    let body = match Limited::new(body, LONGEST_FORM).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => {
            return Err(Answer::line(StatusCode::BAD_REQUEST, &format!("The form cannot be read: {error}.")));
        }
    };
    let question = Question::of(&head, Some(&body), from);
    if question.origin == Origin::Elsewhere {
        return Err(Answer::line(StatusCode::FORBIDDEN, "The form is from another site."));
    }
    let form = question.form.unwrap_or_default();
    if form.has("out") {
        return Ok(Form::SignOut);
    }
    let field = |name| form.get(name).unwrap_or_default().to_owned();
    Ok(Form::SignIn { password: field("password"), to: field("to") })
}

/// Who looks at the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visitor {
    New,
    /// Somebody whose password was not right.
    Mistaken,
    SignedIn,
}

/// The page that a reader sees afterwards who has asked for this path and query.
pub(super) fn wanted(path: &str, query: Option<&str>) -> String {
    let here = path.trim_start_matches('/');
    match query {
        Some(query) => format!("{here}?{query}"),
        None => here.to_owned(),
    }
}

/// The page, as the answer at this path. It leads to the page `to`.
pub(super) fn page(path: &str, to: &str, visitor: Visitor) -> Answer {
    let base = "../".repeat(path.matches('/').count().saturating_sub(1));
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (meta())
                title { "Sign in · Firesteel" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Firesteel" }
                form method="post" action={ (base) "signin/" } {
                    @if visitor == Visitor::Mistaken { p.wrong role="alert" { "This password is not right." } }
                    p { label for="password" { "Password" } }
                    input #password type="password" name="password" autocomplete="current-password" required autofocus;
                    input type="hidden" name="to" value=(to);
                    button type="submit" { "Sign in" }
                }
                p { code { "firesteel secret password FILE" } " prints it." }
                @if visitor == Visitor::SignedIn {
                    form method="post" action={ (base) "signin/" } {
                        button type="submit" name="out" value="yes" { "Sign out" }
                    }
                }
            }
        }
    };
    let status = if visitor == Visitor::SignedIn { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
    Answer::page(status, &document.into_string())
}

/// Leads a reader who has signed in or out to a page of this server.
pub(super) fn see(to: &str) -> Answer {
    Answer::see(format!("../{}", to.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest, Sha256};

    use super::super::server::POLICY;
    use super::*;

    #[test]
    fn the_policy_allows_the_style_of_the_page() {
        let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE));
        assert!(POLICY.contains(&format!("'sha256-{hash}'")), "{hash}");
        assert!(page("/", "", Visitor::New).body.contains(&format!("<style>{STYLE}</style>")));
    }

    #[test]
    fn a_reader_comes_back_to_the_page_that_he_asked_for_and_to_no_other_server() {
        for (path, query, action, to) in [
            ("/", None, "signin/", ""),
            ("/app/", Some("appId=app-1&a=\"<"), "../signin/", "app/?appId=app-1&amp;a=&quot;&lt;"),
            ("/json", None, "signin/", "json"),
            ("/a/b/", None, "../../signin/", "a/b/"),
            ("//evil.example/", None, "../../signin/", "evil.example/"),
        ] {
            let body = page(path, &wanted(path, query), Visitor::New).body;
            assert!(body.contains(&format!("action=\"{action}\"")), "{path}: {body}");
            assert!(body.contains(&format!("name=\"to\" value=\"{to}\"")), "{path}: {body}");
        }
        for (to, location) in [
            ("", "../"),
            ("app/?a=b", "../app/?a=b"),
            ("//evil.example", "../evil.example"),
            ("http://e", "../http://e"),
        ] {
            assert_eq!(see(to).location.as_deref(), Some(location));
        }
    }
}
