//! Redaction of secrets in texts that are shown: properties, variables and commands.
//!
//! A secret is found by the name before it (`DB_PASSWORD=x`, `--token x`, `"apiKey": "x"`), or because it is the
//! password of a URL (`postgres://user:x@host`). Other secrets cannot be found.

use std::ops::Range;

use super::sources::java_options;

/// The text that replaces a secret. Source: Spark, 4.0.1.
pub const REDACTED: &str = "*********(redacted)";

/// A name that contains one of these words, in upper or lower case, denotes a secret. Source: Spark 4.0.1,
/// `spark.redaction.regex`, which lacks `passwd` and `passphrase`.
const SECRET: [&str; 5] = ["secret", "password", "passwd", "passphrase", "token"];

/// A name with one of these parts denotes a secret: `GITHUB_PAT`, `DB_CONN`, `--db-pass`, `SENTRY_DSN`. A connection
/// string usually has a password, in a form of its own.
const SECRET_PARTS: [&str; 11] = [
    "pass",
    "pw",
    "pat",
    "auth",
    "conn",
    "connstr",
    "connstring",
    "connectionstring",
    "dsn",
    "sig",
    "signature",
];

/// A word that is this long and has letters and digits may be a key.
const KEY_LENGTH: usize = 16;

/// Whether a property, a variable or an option with this name has a secret value. In addition to Spark's rule, names
/// with a part that ends with `key` count: `API_KEY`, `--apikey`, `fs.s3a.access.key`. So do names with one of a few
/// short parts.
#[must_use]
pub fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_key = |part: &str| part.ends_with("key") || part.ends_with("keys");
    let parts: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    SECRET.iter().any(|secret| lower.contains(secret))
        || lower.contains("accesskey")
        || parts.windows(2).any(|pair| pair[1] == "string" && ["connection", "conn"].contains(&pair[0]))
        // The variable PWD is a directory.
        || parts.iter().any(|part| {
            is_key(part) || SECRET_PARTS.contains(part) || (*part == "pwd" && name != "PWD" && name != "OLDPWD")
        })
}

/// The value in a form that can be shown: a placeholder if the name denotes a secret, otherwise the value with its
/// secrets replaced.
#[must_use]
pub fn shown(name: &str, value: &str) -> String {
    if is_secret(name) { REDACTED.to_owned() } else { shown_text(value) }
}

/// A text, such as a shell command or a URL, in a form that can be shown. Passwords in URLs are replaced, and so are
/// words after the name of a secret.
#[must_use]
pub fn shown_text(text: &str) -> String {
    let found = url_passwords(text).chain(oracle_passwords(text)).chain(named_secrets(text));
    let mut secrets: Vec<Range<usize>> = found.collect();
    secrets.sort_by_key(|secret| secret.start);
    let (mut shown, mut end) = (String::with_capacity(text.len()), 0);
    for secret in secrets {
        if secret.start >= end {
            shown.push_str(&text[end..secret.start]);
            shown.push_str(REDACTED);
        }
        end = end.max(secret.end);
    }
    shown + &text[end..]
}

/// The arguments of a command in a form that can be shown, one text per argument. The argument after `--password` is a
/// secret. In the arguments `--password=x` and `PASSWORD=x`, the whole `x` is a secret.
#[must_use]
pub fn shown_arguments(arguments: &[String]) -> Vec<String> {
    let before = std::iter::once("").chain(arguments.iter().map(String::as_str));
    let show = |(before, argument): (&str, &String)| {
        let follows = is_name(before) && is_secret(before) && !argument.starts_with('-');
        match argument.split_once('=') {
            Some((name, value)) if is_name(name) => format!("{name}={}", shown(name, value)),
            _ if follows && (before.starts_with('-') || is_key_like(argument)) => REDACTED.to_owned(),
            _ if USER_OPTIONS.contains(&before)
                && let Some(password) = user_password(argument) =>
            {
                format!("{}{REDACTED}", &argument[..password.start])
            }
            _ => shown_text(argument),
        }
    };
    before.zip(arguments).map(show).collect()
}

/// Options in a form that can be shown. If the options cannot be parsed, a secret may be anywhere in the text, so
/// nothing is shown.
#[must_use]
pub fn shown_options(value: &str) -> String {
    let Ok(words) = java_options::words(value) else { return "(not shown)".to_owned() };
    let shown = words.iter().map(|word| match java_options::property(word) {
        Some((key, value)) => format!("-D{key}={}", shown(key, value)),
        None => shown_text(word),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// The positions of passwords in URLs. A single word before the `@` counts as a password.
fn url_passwords(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices("://").filter_map(|(at, mark)| {
        let start = at + mark.len();
        let rest = &text[start..];
        let ends = |c: char| c.is_whitespace() || "\"'`<>".contains(c);
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let user = user_info(word)?;
        match user.find(':') {
            Some(colon) if colon + 1 < user.len() => Some(start + colon + 1..start + user.len()),
            None if is_key_like(user) => Some(start..start + user.len()),
            Some(_) | None => None,
        }
    })
}

/// The positions of passwords in `jdbc:oracle:thin:user/password@host`, which has no `//` before the user.
fn oracle_passwords(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices("jdbc:oracle:").filter_map(|(at, _)| {
        let word = text[at..].split(|c: char| c.is_whitespace() || "\"'`".contains(c)).next()?;
        let user = &word[..word.rfind('@')?];
        let slash = user.find('/').filter(|slash| slash + 1 < user.len())?;
        Some(at + slash + 1..at + user.len())
    })
}

/// Options whose argument is a user with a password, as `curl` has them.
const USER_OPTIONS: [&str; 3] = ["-u", "--user", "--proxy-user"];

/// The position of the password in `user:password`. Numbers are ids of a user and a group.
fn user_password(word: &str) -> Option<Range<usize>> {
    let (user, password) = word.split_once(':')?;
    let is_id = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let are_ids = is_id(user) && is_id(password);
    let is_password = !password.is_empty() && !password.starts_with("//") && !are_ids;
    is_password.then(|| user.len() + 1..word.len())
}

/// The part of a URL before the `@`. If somebody writes `/`, `?` or `#` unescaped in a password, the text before it
/// looks like a host and a port. The port is then not a number, and the password is still found.
fn user_info(url: &str) -> Option<&str> {
    let authority = &url[..url.find(['/', '?', '#']).unwrap_or(url.len())];
    if let Some(at) = authority.rfind('@') {
        return Some(&authority[..at]);
    }
    let (_, port) = authority.rsplit_once(':')?;
    let is_port = authority.starts_with('[') || port.bytes().all(|b| b.is_ascii_digit());
    if is_port { None } else { url.rfind('@').map(|at| &url[..at]) }
}

/// The positions of words after the name of a secret.
fn named_secrets(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_start =
        |&(at, c): &(usize, char)| is_name_character(c) && !text[..at].ends_with(is_name_character);
    text.char_indices().filter(is_start).filter_map(|(start, _)| {
        let rest = &text[start..];
        let name = &rest[..rest.find(|c| !is_name_character(c)).unwrap_or(rest.len())];
        let is_scheme = ["bearer", "basic"].iter().any(|scheme| name.eq_ignore_ascii_case(scheme));
        let behind = start + name.len();
        if USER_OPTIONS.contains(&name) {
            let word = rest[name.len()..].trim_start();
            let ends = |c: char| c.is_whitespace() || "\"'`;&|".contains(c);
            let blanks = rest.len() - name.len() - word.len();
            let found = user_password(&word[..word.find(ends).unwrap_or(word.len())])?;
            return Some(behind + blanks + found.start..behind + blanks + found.end);
        }
        if !is_scheme && !is_secret(name) {
            return None;
        }
        secret_after(name, &rest[name.len()..]).map(|found| behind + found.start..behind + found.end)
    })
}

/// The position of the secret in the text that follows a secret's name: `=x`, `": "x"`, or a word after a blank.
fn secret_after(name: &str, text: &str) -> Option<Range<usize>> {
    let after_quote = text.strip_prefix(['"', '\'']).unwrap_or(text);
    let after_blanks = after_quote.trim_start();
    let value = match after_blanks.chars().next()? {
        // A blank after `=` belongs to the assignment only if there is one before it.
        '=' if after_blanks.len() == after_quote.len() => &after_blanks[1..],
        '=' => after_blanks[1..].trim_start(),
        // A short word before a colon may be one of a sentence.
        ':' if after_quote.len() == text.len() && SECRET_PARTS.contains(&name) => return None,
        ':' if !after_blanks.starts_with("://") => after_blanks[1..].trim_start(),
        _ => return word_after(name, text),
    };
    let quote = value.chars().next().filter(|c| "\"'".contains(*c));
    let (value, ends) = match quote {
        Some(quote) => (&value[1..], value[1..].find(quote)),
        None => (value, value.find(|c: char| c.is_whitespace() || "&;\"'`".contains(c))),
    };
    range_within(text, &value[..ends.unwrap_or(value.len())])
}

/// The position of the word after a name and a blank. After an option, every word counts as a secret. After other
/// names, only a word that may be a key counts.
fn word_after(name: &str, text: &str) -> Option<Range<usize>> {
    let word = text.trim_start();
    if word.len() == text.len() {
        return None;
    }
    let word = word.trim_start_matches(['"', '\'']);
    let word = &word[..word.find(|c: char| c.is_whitespace() || "\"'`;&|".contains(c)).unwrap_or(word.len())];
    let is_value = if name.starts_with('-') { !word.starts_with('-') } else { is_key_like(word) };
    if is_value { range_within(text, word) } else { None }
}

/// The position of a part within the text from which the part was cut. `None` if the part is empty.
fn range_within(text: &str, part: &str) -> Option<Range<usize>> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    (!part.is_empty()).then(|| start..start + part.len())
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_name_character)
}

/// Whether a word may be a key: it is long, has only the characters of keys, and has letters and digits.
fn is_key_like(word: &str) -> bool {
    let has = |wanted: fn(&u8) -> bool| word.as_bytes().iter().any(wanted);
    word.len() >= KEY_LENGTH
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-+/=.~".contains(&b))
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the result with an expected text, in which `#` stands for a secret.
    fn check(shown: &str, expected: &str, of: &str) {
        assert_eq!(shown, expected.replace('#', REDACTED), "{of}");
    }

    #[test]
    fn a_secret_is_known_by_its_name() {
        for (name, expected) in [
            ("spark.authenticate.secret", "#"),
            ("spark.executorEnv.API_TOKEN", "#"),
            ("spark.hadoop.fs.s3a.access.key", "#"),
            ("spark.hadoop.fs.s3a.accessKeyId", "#"),
            ("spark.ssl.keyStore", "hush"),
            ("spark.deploy.zookeeper.url", "hush"),
            ("spark.app.name", "hush"),
            ("DB_PASSWORD", "#"),
            ("SSH_KEY_FILE", "#"),
            ("apiKey", "#"),
            ("MYSQL_PWD", "#"),
            ("GITHUB_PAT", "#"),
            ("ADO_PAT", "#"),
            ("spark.executorEnv.GH_PAT", "#"),
            ("DB_CONN", "#"),
            ("AIRFLOW_CONN_DB", "#"),
            ("AZURE_STORAGE_CONNECTION_STRING", "#"),
            ("ConnectionString", "#"),
            ("SENTRY_DSN", "#"),
            ("REDIS_PASS", "#"),
            ("NPM_AUTH", "#"),
            ("PATH", "hush"),
            ("PYTHONPATH", "hush"),
            ("spark.authenticate", "hush"),
            ("spark.core.connection.ack.wait.timeout", "hush"),
            ("AUTHOR", "hush"),
            ("COMPASS", "hush"),
            ("PWD", "hush"),
            ("KEYBOARD", "hush"),
        ] {
            check(&shown(name, "hush"), expected, name);
        }
    }

    #[test]
    fn a_secret_in_a_value_is_found_by_what_stands_before_it() {
        for (text, expected) in [
            ("postgres://user:password@host/db", "postgres://user:#@host/db"),
            ("redis://:hush@host:6379/0", "redis://:#@host:6379/0"),
            ("amqp://u:a@b@host", "amqp://u:#@host"),
            ("postgres://u:pa/ss?w@host/db", "postgres://u:#@host/db"),
            ("mongodb://u:p@h1,h2/?w=1 http://a:b@c", "mongodb://u:#@h1,h2/?w=1 http://a:#@c"),
            ("https://ghp0123456789abcdef@github.com/x", "https://#@github.com/x"),
            ("https://user@host/", "https://user@host/"),
            ("https://h/c?sv=1&sig=a%2Fb&se=2 x", "https://h/c?sv=1&sig=#&se=2 x"),
            ("s3://b/k?X-Amz-Signature=abc&x=1", "s3://b/k?X-Amz-Signature=#&x=1"),
            ("jdbc:oracle:thin:scott/tiger@//host:1521/x", "jdbc:oracle:thin:scott/#@//host:1521/x"),
            ("sqlalchemy+u:p@host", "sqlalchemy+u:p@host"),
            ("GITHUB_PAT=hush git fetch", "GITHUB_PAT=# git fetch"),
            ("curl -u me:hush https://h", "curl -u me:# https://h"),
            ("curl --user me:hush --fast", "curl --user me:# --fast"),
            ("docker run --user 1000:1000 x", "docker run --user 1000:1000 x"),
            ("sort -u a:b", "sort -u a:#"),
            ("first pass: build", "first pass: build"),
            ("{'pass': 'hush'}", "{'pass': '#'}"),
            ("http://host:8080/@scope/package", "http://host:8080/@scope/package"),
            ("http://[::1]:80/@x", "http://[::1]:80/@x"),
            ("jdbc:x://h/db?user=u&password=hush&ssl=on", "jdbc:x://h/db?user=u&password=#&ssl=on"),
            ("Server=h;Pwd=hush;Port=1", "Server=h;Pwd=#;Port=1"),
            ("-Xmx1g -Djavax.net.ssl.keyPassword=hush -x", "-Xmx1g -Djavax.net.ssl.keyPassword=# -x"),
            (r##"{"user": "u", "password": "h u s h"}"##, r##"{"user": "u", "password": "#"}"##),
            ("token: hush", "token: #"),
            ("PASSWORD='h u' ./run --fast", "PASSWORD='#' ./run --fast"),
            ("PASSWORD= ./run", "PASSWORD= ./run"),
            ("mysql --password hush -u me", "mysql --password # -u me"),
            ("curl --token --fast", "curl --token --fast"),
            ("Authorization: Bearer abcdef0123456789", "Authorization: Bearer #"),
            ("vault login token abcdef0123456789", "vault login token #"),
            ("the token is short", "the token is short"),
            ("password=hübsch&x=ü", "password=#&x=ü"),
            ("token://host/x", "token://host/x"),
            ("cat ~/.ssh/id_rsa | wc -l", "cat ~/.ssh/id_rsa | wc -l"),
            ("a=1 b=2", "a=1 b=2"),
            ("", ""),
        ] {
            check(&shown_text(text), expected, text);
            check(&shown("DATABASE_URL", text), expected, text);
        }
    }

    #[test]
    fn arguments_after_the_name_of_a_secret_are_hidden() {
        for (arguments, expected) in [
            ("--token|abc|--api-key=def|DB_PASSWORD=g h", "--token|#|--api-key=#|DB_PASSWORD=#"),
            ("--secret|-v", "--secret|-v"),
            ("curl|-u|me:hush|--user|me:hush|--proxy-user|a:b", "curl|-u|me:#|--user|me:#|--proxy-user|a:#"),
            ("docker|--user|1000:1000|-u|me", "docker|--user|1000:1000|-u|me"),
            ("token|abc|token|abcdef0123456789", "token|abc|token|#"),
            ("-c|a; PASSWORD=hush ./run|x", "-c|a; PASSWORD=# ./run|x"),
            ("--url=postgres://u:p@h|u=postgres://u:p@h", "--url=postgres://u:#@h|u=postgres://u:#@h"),
            ("echo hi|{{CORES}}", "echo hi|{{CORES}}"),
        ] {
            let words: Vec<String> = arguments.split('|').map(str::to_owned).collect();
            check(&shown_arguments(&words).join("|"), expected, arguments);
        }
    }

    #[test]
    fn options_have_no_secrets_either() {
        let options = "-Xmx1g -Dspark.authenticate.secret='h u s h' -Da=http://u:p@h";
        let expected = "-Xmx1g -Dspark.authenticate.secret=# -Da=http://u:#@h";
        check(&shown_options(options), expected, options);
        assert_eq!(shown_options("-Dspark.authenticate.secret='hush"), "(not shown)");
    }
}
