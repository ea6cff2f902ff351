//! Splits options of a JVM into words, as Spark does.

/// The words of a text. Blanks within quotes do not split words. Within double quotes, a backslash makes the next
/// character an ordinary one. An unclosed quote extends to the end of the text.
///
/// Source: Spark 4.0.1 (`Utils.splitCommandString`).
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t' | '\r' | '\n') => words.extend(word.take()),
            (Some(_) | None, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_are_those_of_spark() {
        for (text, expected) in [
            ("", &[][..]),
            (" -Xss4m\t-Da=b ", &["-Xss4m", "-Da=b"]),
            (r#"-Da="b c" 'd "e\'"#, &["-Da=b c", r#"d "e\"#]),
            (r#"a\b "c\"d" ''"#, &[r"a\b", r#"c"d"#, ""]),
            ("'open end", &["open end"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
