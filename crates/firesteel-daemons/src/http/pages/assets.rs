//! The files that pages use: a style sheet, a script and an icon. They are compiled into the program.

use std::sync::OnceLock;

use firesteel_sim::picture;
use hyper::StatusCode;
use sha2::{Digest, Sha256};

use super::super::answer::Answer;
use super::super::question::Question;

/// A file and its version.
struct Asset {
    name: &'static str,
    content_type: &'static str,
    text: String,
    version: String,
}

fn assets() -> &'static [Asset; 3] {
    static ASSETS: OnceLock<[Asset; 3]> = OnceLock::new();
    ASSETS.get_or_init(|| {
        let style = format!("{}\n{}\n", include_str!("assets/style.css"), picture::colours(".map "));
        [
            asset("style.css", "text/css; charset=utf-8", style),
            asset("live.js", "text/javascript; charset=utf-8", include_str!("assets/live.js").to_owned()),
            asset("icon.svg", "image/svg+xml", include_str!("assets/icon.svg").to_owned()),
        ]
    })
}

fn asset(name: &'static str, content_type: &'static str, text: String) -> Asset {
    let digest = Sha256::digest(&text);
    let version = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>();
    Asset { name, content_type, text, version: format!("\"{version}\"") }
}

pub(in super::super) fn answer(name: &str, question: &Question) -> Answer {
    let Some(asset) = assets().iter().find(|asset| asset.name == name) else {
        return Answer::line(StatusCode::NOT_FOUND, "There is no such file.");
    };
    let versions = question.has_version.as_deref().unwrap_or_default();
    match versions.split(',').any(|version| version.trim() == asset.version) {
        true => Answer::not_modified(asset.version.clone()),
        false => Answer::file(asset.content_type, asset.text.clone(), asset.version.clone()),
    }
}
