//! About how wide text is, without knowing the font that the viewer has.

/// About how wide the text is in a sans-serif font of that size, in pixels; rather too much than too little.
#[must_use]
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| ems(c) * size).sum()
}

/// The text, if it is no wider than that, or else its beginning and an ellipsis.
#[must_use]
pub fn cut(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut room = most - ems('…') * size;
    for c in text.chars() {
        room -= ems(c) * size;
        if room < 0.0 {
            break;
        }
        kept.push(c);
    }
    kept + "…"
}

/// The text in lines that are no wider than that; a word that is, has a line of its own.
#[must_use]
pub fn lines(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + ems(' ') * size <= most => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The width of a character as a part of the font's size.
fn ems(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | 'I' => 0.30,
        'f' | 't' | 'r' | ' ' | '(' | ')' | '[' | ']' | '/' | '-' => 0.38,
        'm' | 'M' | 'W' | '%' | '@' => 0.92,
        'w' | 'A'..='Z' => 0.72,
        ' '..='~' => 0.59,
        '…' | '–' | '·' | '×' => 0.8,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_too_wide_is_cut_or_broken() {
        assert_eq!(cut("worker", 10.0, 100.0), "worker");
        let short = cut("worker-20261121055324-127.0.0.1-7078", 10.0, 60.0);
        assert!(short.starts_with("worker") && short.ends_with('…'), "{short}");
        assert!(width(&short, 10.0) <= 60.0);
        assert_eq!(cut("worker", 10.0, 0.0), "…");
        let text = "each of these words is shorter than a line";
        let broken = lines(text, 10.0, 90.0);
        assert!(broken.len() > 1 && broken.iter().all(|line| width(line, 10.0) <= 90.0), "{broken:?}");
        assert_eq!(broken.join(" "), text);
    }
}
