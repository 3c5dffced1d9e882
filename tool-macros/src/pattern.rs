//! Checks a literal `pattern` for common errors in regular expressions.
//!
//! Registration parses the whole pattern, and also rejects every pattern that is rejected here. Registration checks
//! whether `\p{…}` is supported, which depends on a feature of the runtime.

use std::str::Chars;

pub(crate) fn check(pattern: &str) -> Result<(), String> {
    if needs_full_parser(pattern) {
        return Ok(());
    }
    let mut rest = pattern.chars();
    let mut open = 0_usize;
    let mut repeatable = false;
    while let Some(c) = rest.next() {
        match c {
            '\\' => escape(rest.next())?,
            '[' => character_class(&mut rest)?,
            '(' => {
                open += 1;
                group(&mut rest)?;
            }
            ')' => {
                open = open
                    .checked_sub(1)
                    .ok_or_else(|| with_escape("unmatched `)`", ')'))?;
            }
            '*' | '+' | '?' if !repeatable => {
                return Err(format!(
                    "`{c}` repeats nothing in this pattern; write `.{c}` for any text, `\\{c}` for a literal `{c}`"
                ));
            }
            _ => {}
        }
        repeatable = !matches!(c, '(' | '|');
    }
    match open {
        0 => Ok(()),
        _ => Err(unclosed('(', ')')),
    }
}

fn unclosed(open: char, close: char) -> String {
    format!(
        "missing `{close}` in this pattern, which closes `{open}`; write `\\{open}` for a literal `{open}`"
    )
}

fn with_escape(problem: &str, c: char) -> String {
    format!("{problem} in this pattern; write `\\{c}` for a literal `{c}`")
}

/// Returns whether a full parser is needed. With the flag `x`, `#` starts a comment without special characters. After
/// a `-`, the context decides whether `[:` starts a named class.
fn needs_full_parser(pattern: &str) -> bool {
    let is_flag = |c: &char| c.is_ascii_alphabetic() || *c == '-';
    let mut groups = pattern.split("(?").skip(1);
    pattern.contains("-[:") || groups.any(|group| group.chars().take_while(is_flag).any(|flag| flag == 'x'))
}

fn escape(escaped: Option<char>) -> Result<(), String> {
    let problem = match escaped {
        None => return Err(with_escape("trailing `\\`", '\\')),
        Some('1'..='9') => "backreferences are not supported in a pattern; check that in the function",
        Some(_) => return Ok(()),
    };
    Err(problem.to_owned())
}

/// Parses the start of a group, after its `(`.
fn group(rest: &mut Chars<'_>) -> Result<(), String> {
    let Some(kind) = rest.as_str().strip_prefix('?') else {
        return Ok(());
    };
    if ["=", "!", "<=", "<!"].iter().any(|look| kind.starts_with(look)) {
        return Err("look-around is not supported in a pattern; check that in the function".to_owned());
    }
    *rest = kind.chars();
    Ok(())
}

/// Parses a character class, after its `[`.
fn character_class(rest: &mut Chars<'_>) -> Result<(), String> {
    let inside = rest.as_str();
    let inside = inside.strip_prefix('^').unwrap_or(inside);
    // A `]` in first position is literal.
    *rest = inside.strip_prefix(']').unwrap_or(inside).chars();
    while let Some(c) = rest.next() {
        match c {
            ']' => return Ok(()),
            '\\' => drop(rest.next()),
            '[' => named_class(rest),
            _ => {}
        }
    }
    Err(unclosed('[', ']'))
}

/// Parses `[:alpha:]` in a character class, after its `[`.
fn named_class(rest: &mut Chars<'_>) {
    if let Some(name) = rest.as_str().strip_prefix(':')
        && let Some(end) = name.find(":]")
    {
        *rest = name.get(end + 2..).unwrap_or_default().chars();
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn accepts_patterns_of_the_runtime() {
        for pattern in [
            "",
            "^[a-z]+$",
            r"\(\)\[\]\*",
            "[]()]",
            "[^](]",
            "[-]",
            "[[:alpha:](]",
            "(?i)a|(?:b)*",
            "(?P<a>b)?c+?",
            "(?x) a # (\n",
            "a{2,3}",
            r"\d{4}-\d{2}",
            "()*",
            "a|",
            "]",
            "[(]",
            // Supported with a feature.
            r"\p{L}",
        ] {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn rejects_patterns_that_the_runtime_rejects() {
        for (pattern, word) in [
            ("(", "missing `)`"),
            ("(a", "write `\\(`"),
            ("a)", "unmatched `)`"),
            ("[a", "missing `]`"),
            ("[]", "missing `]`"),
            ("[[:alpha:]", "missing `]`"),
            ("^v[0-9+$", "missing `]`"),
            ("*.rs", "`*` repeats nothing"),
            ("a|+", "`+` repeats nothing"),
            ("(?=a)", "look-around"),
            ("(?<!a)b", "look-around"),
            (r"(a)\1", "backreferences"),
            ("a\\", "trailing `\\`"),
        ] {
            let refused = check(pattern).err();
            assert!(
                refused.as_ref().is_some_and(|message| message.contains(word)),
                "{pattern}: {refused:?}"
            );
        }
    }
}
