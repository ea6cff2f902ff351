//! The parser of properties files, with the grammar of `java.util.Properties`.
//!
//! ```text
//! # a comment, as with !
//! spark.executor.memory   2g          blanks, = or : end the key; \ before one of them makes it part of the key
//! spark.app.name = nightly \          a line that ends in a backslash goes on in the next,
//!                  sums               whose blanks at the beginning do not count
//! spark.executorEnv.SIGN = \u00e9\t   escapes: \t, \n, \r, \f and \uXXXX, in UTF-16; \ and any other is that other
//! ```
//!
//! Source: JDK 17's `Properties.load`, and Spark 4.0.1, which reads files as UTF-8 and trims values.
//! Differences: half of a surrogate pair, which no UTF-8 text can hold, becomes U+FFFD, and pairs with an
//! empty key are left out.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The line on which the pair begins, counted from 1.
    pub line: usize,
    /// The key with its escapes resolved. The key is not empty.
    pub key: String,
    /// The value with its escapes resolved. Blanks around the value are kept: see [`trimmed`].
    pub value: String,
}

/// Why a file does not match the grammar.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrammarError {
    /// An escape is malformed. The grammar allows everything else.
    #[error("line {line}: \\u is not followed by four hexadecimal digits; for a backslash write \\\\")]
    MalformedEscape {
        /// The line on which the pair begins, counted from 1.
        line: usize,
    },
}

/// All pairs of a file, in the file's order. If a key occurs several times, the last pair counts. Bytes that are not
/// UTF-8 become U+FFFD.
///
/// # Errors
/// The first malformed escape outside comments.
pub fn parse(bytes: &[u8]) -> Result<Vec<Pair>, GrammarError> {
    let mut pairs = Vec::new();
    for (line, text) in logical_lines(&String::from_utf8_lossy(bytes)) {
        let (key, value) = split(&text);
        let malformed = || GrammarError::MalformedEscape { line };
        let key = unescaped(key).ok_or_else(malformed)?;
        let value = unescaped(value).ok_or_else(malformed)?;
        if !key.is_empty() {
            pairs.push(Pair { line, key, value });
        }
    }
    Ok(pairs)
}

/// The value without surrounding blanks and control characters, except line feeds and carriage returns.
#[must_use]
pub fn trimmed(value: &str) -> &str {
    value.trim_matches(|c| c <= ' ' && !matches!(c, '\n' | '\r'))
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

/// The logical lines: without comments and leading blanks, and with continued lines joined. Each logical line comes
/// with the number of the line on which it begins.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let (mut begin, mut line) = (1, String::new());
    let one_ending = text.replace("\r\n", "\n").replace('\r', "\n");
    for (number, natural) in (1..).zip(one_ending.split('\n')) {
        let natural = natural.trim_start_matches(is_blank);
        if line.is_empty() {
            begin = number;
            if natural.starts_with(['#', '!']) {
                continue;
            }
        }
        let backslashes = natural.len() - natural.trim_end_matches('\\').len();
        if backslashes % 2 == 1 {
            line.push_str(&natural[..natural.len() - 1]);
            continue;
        }
        line.push_str(natural);
        if !line.is_empty() {
            lines.push((begin, std::mem::take(&mut line)));
        }
    }
    // The last line of a file may end in a backslash.
    if !line.is_empty() {
        lines.push((begin, line));
    }
    lines
}

/// Splits a line into key and value. Their escapes are not resolved.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|c| {
        let ends = !escaped && (is_blank(c) || matches!(c, '=' | ':'));
        escaped = c == '\\' && !escaped;
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start_matches(is_blank);
    (key, rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start_matches(is_blank))
}

/// The text with its escapes resolved. `None` if an escape is malformed.
fn unescaped(text: &str) -> Option<String> {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let plain = match c {
            '\\' => match chars.next()? {
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                'f' => '\u{c}',
                'u' => {
                    let digits =
                        chars.as_str().get(..4).filter(|it| it.bytes().all(|b| b.is_ascii_hexdigit()))?;
                    units.push(u16::from_str_radix(digits, 16).ok()?);
                    chars.nth(3);
                    continue;
                }
                other => other,
            },
            other => other,
        };
        units.extend_from_slice(plain.encode_utf16(&mut [0; 2]));
    }
    Some(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests;
