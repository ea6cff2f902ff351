//! The frame around each page: the page's title, links to other pages, the filter, and the script that refreshes the
//! page.

use maud::{DOCTYPE, Markup, html};

use super::super::query::Query;

#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Frame<'a> {
    /// The relative path to the first page, such as `../`.
    pub(in super::super) base: &'a str,
    pub(in super::super) title: &'a str,
    /// The name of the daemon, for the title of the window.
    pub(in super::super) daemon: &'a str,
    pub(in super::super) links: &'a [(&'a str, &'a str)],
    /// The path of this page among the links. Empty if no link leads to this page.
    pub(in super::super) here: &'a str,
    pub(in super::super) filter: Option<&'a Query>,
    /// The refresh interval, in milliseconds. 0: the page is not refreshed.
    pub(in super::super) pace: u64,
}

pub(in super::super) const FILTER: &str = "filter";

/// What the head of each page begins with.
pub(in super::super) fn meta() -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
    }
}

/// The page as an HTML document. Each child of `parts` has an id. A refresh replaces only the children that have
/// changed.
pub(in super::super) fn document(frame: &Frame<'_>, parts: &Markup) -> String {
    let Frame { base, title, daemon, links, here, filter, pace } = *frame;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (meta())
                title { (title) " · " (daemon) }
                link rel="stylesheet" href={ (base) "static/style.css" };
                link rel="icon" href={ (base) "static/icon.svg" };
                script src={ (base) "static/live.js" } defer {}
            }
            body data-pace=(pace) {
                a.skip href="#main" { "Skip to the content" }
                header.top {
                    a.brand href=(base) { "Firesteel" }
                    nav aria-label="Pages" {
                        @for (path, name) in links {
                            @let current = (*path == here).then_some("page");
                            a href={ (base) (path) } aria-current=[current] { (name) }
                        }
                    }
                    @if let Some(query) = filter { (search(query)) }
                    p #live.live role="status" {}
                }
                main #main tabindex="-1" { (parts) }
                footer {
                    p { "Firesteel " (env!("CARGO_PKG_VERSION")) " · " a href={ (base) "json/" } { "JSON" } " · " a href={ (base) "metrics" } { "Metrics" } }
                    p.keys {
                        @if filter.is_some() {
                            kbd { "/" } " filter " kbd { "Esc" } " clear " kbd { "j" } " " kbd { "k" } " next and previous row "
                            kbd { "Enter" } " open "
                        }
                        kbd { "g" } " first page"
                    }
                }
            }
        }
    }
    .into_string()
}

fn search(query: &Query) -> Markup {
    html! {
        form.filter role="search" method="get" {
            @for (name, value) in query.iter().filter(|(name, _)| *name != FILTER && !name.ends_with("From")) {
                input type="hidden" name=(name) value=(value);
            }
            label.unseen for="filter" { "Filter the rows" }
            input #filter type="search" name=(FILTER) value=(query.get(FILTER).unwrap_or_default())
                placeholder="Filter, such as node-7 RUNNING" autocomplete="off" spellcheck="false";
            button type="submit" { "Filter" }
        }
    }
}
