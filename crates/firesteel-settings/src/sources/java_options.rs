//! The parser of `-Dkey=value` options in variables such as `SPARK_DAEMON_JAVA_OPTS`.

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a quote is not closed, or a backslash is the last character")]
pub struct Unfinished;

/// Splits the text into words at blanks. Single quotes, double quotes and backslashes protect the following characters
/// from being split. Within single quotes a backslash has no special meaning.
///
/// Source: Spark 4.0.1's launcher.
///
/// # Errors
/// A quote is not closed, or the text ends with a backslash.
pub fn words(text: &str) -> Result<Vec<String>, Unfinished> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => word.get_or_insert_default().push(chars.next().ok_or(Unfinished)?),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == c => quote = None,
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            (Some(_) | None, _) => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(_) => Err(Unfinished),
        None => {
            words.extend(word);
            Ok(words)
        }
    }
}

/// The property in a `-D` option. `None` for any other option, because only a JVM understands it. A key without `=` has
/// an empty value.
#[must_use]
pub fn property(word: &str) -> Option<(&str, &str)> {
    let definition = word.strip_prefix("-D")?;
    Some(definition.split_once('=').unwrap_or((definition, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_sparks_launcher() {
        for (text, expected) in [
            ("", &[][..]),
            ("  -Da=1\t-Db=2 ", &["-Da=1", "-Db=2"]),
            ("-Da=\"x y\" -Db='p \"q\" \\'", &["-Da=x y", "-Db=p \"q\" \\"]),
            (r#"-Da=x\ y "-Db=\"z\"""#, &["-Da=x y", "-Db=\"z\""]),
            ("'' \"\"", &["", ""]),
        ] {
            assert_eq!(
                words(text).as_deref(),
                Ok(&expected.iter().map(|&it| it.to_owned()).collect::<Vec<_>>()[..])
            );
        }
        for text in ["'a", "\"a", "a\\", "'a\""] {
            assert_eq!(words(text), Err(Unfinished), "{text}");
        }
    }

    #[test]
    fn only_definitions_are_properties() {
        assert_eq!(property("-Dspark.a=b=c"), Some(("spark.a", "b=c")));
        assert_eq!(property("-Dspark.a"), Some(("spark.a", "")));
        assert_eq!(property("-Xmx1g"), None);
    }
}
