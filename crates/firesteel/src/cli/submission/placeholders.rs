//! Placeholders of GNU parallel that `map` does not replace.

/// Each placeholder, and its equivalent in a line for `sh -c`, where the item is `$1`.
const FOREIGN: &[(&str, &str)] = &[
    ("{.}", "\"${1%.*}\""),
    ("{/}", "\"${1##*/}\""),
    ("{//}", "\"$(dirname \"$1\")\""),
    ("{/.}", "\"$(basename \"${1%.*}\")\""),
    ("{#}", "$FIRESTEEL_TASK_ID"),
    ("{%}", "$FIRESTEEL_EXECUTOR_ID"),
];

/// A warning about the first placeholder of GNU parallel in a command, which is passed on unchanged. A number in braces
/// counts only if it is the whole argument, because elsewhere it may be part of a pattern.
pub(super) fn remark(command: &[String]) -> Option<String> {
    let arguments = command.iter().skip(1);
    let found = |argument: &String| {
        let foreign = FOREIGN.iter().find(|(placeholder, _)| argument.contains(placeholder));
        foreign.map(|(placeholder, effect)| (*placeholder, *effect)).or_else(|| column(argument))
    };
    let (placeholder, effect) = arguments.clone().find_map(found)?;
    Some(format!(
        "{placeholder} is passed on as it is, since map replaces only {{}}: write -- sh -c 'COMMAND {effect}' sh"
    ))
}

/// The placeholder and its replacement, if the argument is the placeholder of a column, such as `{1}`.
fn column(argument: &str) -> Option<(&'static str, &'static str)> {
    let number = argument.strip_prefix('{')?.strip_suffix('}')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(("{N}", "$(echo \"$1\" | cut -f N)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn a_placeholder_of_gnu_parallel_is_remarked_with_what_has_its_effect() {
        for (command, effect) in [
            (&["convert", "{}", "{.}.jpg"][..], "COMMAND \"${1%.*}\"' sh"),
            (&["echo", "{/}"], "COMMAND \"${1##*/}\"' sh"),
            (&["echo", "{//}"], "dirname"),
            (&["echo", "{/.}"], "basename"),
            (&["echo", "job {#}"], "$FIRESTEEL_TASK_ID"),
            (&["echo", "{2}"], "cut -f N"),
        ] {
            let remark = remark(&words(command)).expect("it is one");
            assert!(remark.contains(effect), "{remark}");
        }
    }

    #[test]
    fn other_braces_are_nobodys_placeholders() {
        for command in [&["echo", "{}"][..], &["grep", "-E", "a{2}"], &["awk", "{ print }"], &["{.}"]] {
            assert_eq!(remark(&words(command)), None, "{command:?}");
        }
    }
}
