//! Small parts of pages: bars, states, times, amounts.

use firesteel_placement::MiB;
use firesteel_placement::advanced::words::duration;
use firesteel_protocol::Timestamp;
use maud::{Markup, Render, html};

/// A number with commas between thousands.
pub(in super::super) fn grouped(number: impl TryInto<i128>) -> String {
    let number: i128 = number.try_into().unwrap_or(i128::MAX);
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

/// An amount of memory, in TiB if it is large.
pub(in super::super) fn memory(memory: MiB) -> String {
    const MANY: i64 = 10 << 20;
    match memory.0 {
        many if many >= MANY => format!("{:.1} TiB", many as f64 / f64::from(1 << 20)),
        _ => memory.to_string(),
    }
}

/// A bar that shows how much of an amount is used.
pub(in super::super) fn bar(used: i64, all: i64) -> Markup {
    let share = if all <= 0 { 0.0 } else { (used.clamp(0, all) as f64 / all as f64) * 100.0 };
    html! {
        svg.bar viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" {
            rect.all width="100" height="4" {}
            rect.used width={ (format!("{share:.1}")) } height="4" {}
        }
    }
}

/// How good or bad a state is, for the colour of its dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Severity {
    Good,
    Waits,
    Bad,
    Over,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Waits => "waits",
            Self::Bad => "bad",
            Self::Over => "over",
        }
    }
}

/// A state as text, with a dot whose colour has the same meaning.
pub(in super::super) fn state(mood: Severity, words: &str) -> Markup {
    html! { span class={ "state " (mood.name()) } { (words) } }
}

/// How long ago this time was. Hovering shows the time of day.
pub(in super::super) fn ago(now: Timestamp, then: Timestamp) -> Markup {
    html! { time datetime=(then) title=(then) { (duration(now.since(then))) " ago" } }
}

/// A fact in the head of a page: its name and its value.
pub(in super::super) fn fact(name: &str, what: &Markup) -> Markup {
    html! { div { dt { (name) } dd { (what) } } }
}

/// A sentence that is the only content of its page.
pub(in super::super) fn sentence(words: impl Render) -> Markup {
    html! { section #sentence { p.lead { (words) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas_and_bars_end_at_both_ends() {
        assert_eq!([0_i64, 999, 1000, -1_234_567].map(grouped), ["0", "999", "1,000", "-1,234,567"]);
        assert_eq!(memory(MiB(25 << 19)), "12.5 TiB");
        let width =
            |used, all| bar(used, all).into_string().split("used\" width=\"").nth(1).map(str::to_owned);
        for (used, all, share) in [(-1, 4, "0.0"), (1, 4, "25.0"), (9, 4, "100.0"), (1, 0, "0.0")] {
            assert!(width(used, all).is_some_and(|width| width.starts_with(&format!("{share}\""))));
        }
    }

    #[test]
    fn names_cannot_become_code() {
        let shown = state(Severity::Good, "<script>alert('\"&')</script>").into_string();
        assert!(shown.contains("&lt;script&gt;") && !shown.contains("<script"), "{shown}");
        assert!(fact("<b>", &state(Severity::Bad, "\"")).into_string().contains("&lt;b&gt;"));
    }
}
