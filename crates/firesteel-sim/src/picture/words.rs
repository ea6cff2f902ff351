//! The width of text, and text that fits into a given width. The viewer's font is unknown, so widths are estimates.

use std::collections::BTreeSet;

use super::Weight;

/// The approximate width of the text in a sans-serif font of this size, in pixels. The estimate is for a wide font
/// (DejaVu Sans), so it tends to be too large.
#[must_use]
pub fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let bold = match weight {
        Weight::Plain => 1.0,
        Weight::Bold => 1.14,
    };
    text.chars().map(|c| ems(c) * size * bold).sum()
}

/// The text if it is at most `most` pixels wide. Otherwise its beginning and its end, with an ellipsis between them.
#[must_use]
pub fn fit(text: &str, size: f64, weight: Weight, most: f64) -> String {
    cut(text, size, weight, most, 0.5)
}

/// The texts, each cut to at most `most` pixels. Different texts stay different. Where cut texts would be equal,
/// another part is cut out. If they are still equal, they are numbered.
#[must_use]
pub fn fit_all(texts: &[&str], size: f64, weight: Weight, most: f64) -> Vec<String> {
    let count = |texts: &[String]| texts.iter().collect::<BTreeSet<_>>().len();
    let different = texts.iter().collect::<BTreeSet<_>>().len();
    let fitted = |head| texts.iter().map(|text| cut(text, size, weight, most, head)).collect::<Vec<_>>();
    let found = [0.5, 0.25, 0.75, 0.0, 1.0].into_iter().map(fitted).find(|cuts| count(cuts) == different);
    found.unwrap_or_else(|| {
        let numbered = texts.iter().zip(1..).map(|(text, number)| {
            let mark = format!(" #{number}");
            match width(text, size, weight) <= most {
                true => (*text).to_owned(),
                false => fit(text, size, weight, most - width(&mark, size, weight)) + &mark,
            }
        });
        numbered.collect()
    })
}

/// The text in lines of at most `most` pixels. A word that is wider than a line is broken.
#[must_use]
pub fn lines(text: &str, size: f64, most: f64) -> Vec<String> {
    let wide = |text: &str| width(text, size, Weight::Plain);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace().flat_map(|word| pieces(word, size, most)) {
        match lines.last_mut() {
            Some(line) if wide(line) + wide(" ") + wide(&word) <= most => {
                line.push(' ');
                line.push_str(&word);
            }
            Some(_) | None => lines.push(word),
        }
    }
    lines
}

/// Splits the word into pieces. Each piece fits into a line and has at least one letter.
fn pieces(word: &str, size: f64, most: f64) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut room = most;
    for c in word.chars() {
        room -= ems(c) * size;
        match pieces.last_mut() {
            Some(piece) if room >= 0.0 || piece.is_empty() => piece.push(c),
            Some(_) | None => {
                pieces.push(c.to_string());
                room = most - ems(c) * size;
            }
        }
    }
    pieces
}

/// The text, shortened with an ellipsis if it does not fit. `head` is the share of the width for the text's beginning,
/// from 0 to 1. The text's end gets the rest.
fn cut(text: &str, size: f64, weight: Weight, most: f64, head: f64) -> String {
    if width(text, size, weight) <= most {
        return text.to_owned();
    }
    let room = (most - width("…", size, weight)).max(0.0);
    let upto = |part: f64, letters: &mut dyn Iterator<Item = char>| {
        let mut left = room * part;
        letters
            .take_while(|c| {
                left -= width(c.encode_utf8(&mut [0; 4]), size, weight);
                left >= 0.0
            })
            .count()
    };
    let begin: String = text.chars().take(upto(head, &mut text.chars())).collect();
    let skipped = text.chars().count() - upto(1.0 - head, &mut text.chars().rev());
    // An accent stays with its letter.
    let end: String = text.chars().skip(skipped).skip_while(|c| ems(*c) == 0.0).collect();
    format!("{begin}…{end}")
}

/// The width of a letter, in units of the font's size.
fn ems(c: char) -> f64 {
    match c {
        // Accents and other marks, joiners and variation selectors have no width.
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0.0,
        'i' | 'j' | 'l' | 'I' | 'J' | '.' | ',' | '\'' | ' ' | '·' => 0.32,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '\\' | '|' | '-' | ':' | ';' | '!' | '"' => 0.41,
        's' | 'z' | 'c' | 'L' | '?' | '*' | '_' | '–' => 0.56,
        'a' | 'e' | 'k' | 'o' | 'v' | 'x' | 'y' | 'F' | 'P' | 'T' | 'Y' => 0.615,
        'm' | 'M' | 'W' | '%' | '@' | '…' => 1.0,
        'w' | '#' | '+' | '<' | '=' | '>' | '^' | '~' | '×' => 0.84,
        'A'..='Z' | '&' => 0.76,
        ' '..='~' => 0.64,
        // Latin, Greek and Cyrillic letters.
        '\u{a1}'..='\u{52f}' => 0.76,
        '\u{1f000}'.. => 1.3,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = [
        "worker-20261121055324-127.0.0.1-7078",
        "nightly-sums-of-all-regions",
        "名前がとても長いアプリケーションの例",
        "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}",
        "🔥🔥🔥🔥🔥🔥🔥🔥",
    ];

    #[test]
    fn text_that_is_too_wide_keeps_its_beginning_and_its_end() {
        assert_eq!(fit("worker", 10.0, Weight::Plain, 100.0), "worker");
        assert_eq!(fit("worker", 10.0, Weight::Plain, 0.0), "…");
        for text in NAMES {
            for weight in [Weight::Plain, Weight::Bold] {
                let short = fit(text, 10.0, weight, 60.0);
                let (begin, end) = short.split_once('…').expect("something is left out");
                assert!(text.starts_with(begin) && text.ends_with(end), "{short}");
                assert!(!begin.is_empty() && !end.is_empty(), "{short}");
                assert!(width(&short, 10.0, weight) <= 60.0, "{short}");
            }
        }
    }

    /// The texts differ at their ends, at their beginnings, or only in the middle.
    #[test]
    fn different_texts_stay_different_when_they_are_cut() {
        let many: Vec<String> =
            (0..60).map(|n| format!("{}{n:02}{}", "a".repeat(40), "b".repeat(40))).collect();
        for texts in [
            &["extract-the-nightly-figures-1", "extract-the-nightly-figures-2"][..],
            &["1-extract-the-nightly-figures-of-all", "2-extract-the-nightly-figures-of-all"],
            &["extract-the-nightly-1-figures-of-all", "extract-the-nightly-2-figures-of-all"],
            &["short", "extract-the-nightly-figures-1", "extract-the-nightly-figures-1"],
            &many.iter().map(String::as_str).collect::<Vec<_>>(),
        ] {
            let cuts = fit_all(texts, 10.0, Weight::Bold, 90.0);
            assert!(cuts.iter().all(|cut| width(cut, 10.0, Weight::Bold) <= 90.0), "{cuts:?}");
            for (text, cut) in texts.iter().zip(&cuts) {
                for (other, of_other) in texts.iter().zip(&cuts) {
                    assert!(text == other || cut != of_other, "{text} and {other} are both {cut}");
                }
            }
        }
    }

    #[test]
    fn lines_are_no_wider_than_asked() {
        let text = "each of these words is shorter than a line";
        let broken = lines(text, 10.0, 90.0);
        assert!(
            broken.len() > 1 && broken.iter().all(|line| width(line, 10.0, Weight::Plain) <= 90.0),
            "{broken:?}"
        );
        assert_eq!(broken.join(" "), text);
        for text in NAMES {
            let broken = lines(text, 10.0, 50.0);
            assert!(broken.iter().all(|line| width(line, 10.0, Weight::Plain) <= 50.0), "{broken:?}");
            assert_eq!(broken.concat(), text);
        }
    }
}
