//! A literal `pattern`, refused where a look at its signs tells that it is no regular expression of the runtime's.
//!
//! Registration reads it whole and knows for sure; whatever is refused here is refused there.

use std::str::Chars;

pub(crate) fn check(pattern: &str) -> Result<(), String> {
    if needs_more_than_a_look(pattern) {
        return Ok(());
    }
    let mut rest = pattern.chars();
    let mut open = 0_usize;
    let mut repeatable = false;
    while let Some(sign) = rest.next() {
        match sign {
            '\\' => escape(rest.next())?,
            '[' => class(&mut rest)?,
            '(' => {
                open += 1;
                group(&mut rest)?;
            }
            ')' => {
                open = open
                    .checked_sub(1)
                    .ok_or_else(|| literally("`)` closes nothing", ')'))?;
            }
            '*' | '+' | '?' if !repeatable => {
                return Err(format!(
                    "`{sign}` repeats nothing in this pattern; write `.{sign}` for whatever, `\\{sign}` for the sign itself"
                ));
            }
            _ => {}
        }
        repeatable = !matches!(sign, '(' | '|');
    }
    match open {
        0 => Ok(()),
        _ => Err(literally("`(` is never closed", '(')),
    }
}

fn literally(problem: &str, sign: char) -> String {
    format!("{problem} in this pattern; write `\\{sign}` for the sign itself")
}

/// With the flag `x` a `#` begins a comment, where all of this means nothing; behind a `-` it depends whether `[:` is
/// the end of a range.
fn needs_more_than_a_look(pattern: &str) -> bool {
    let is_flag = |c: &char| c.is_ascii_alphabetic() || *c == '-';
    let mut groups = pattern.split("(?").skip(1);
    pattern.contains("-[:") || groups.any(|group| group.chars().take_while(is_flag).any(|flag| flag == 'x'))
}

fn escape(escaped: Option<char>) -> Result<(), String> {
    let problem = match escaped {
        None => return Err(literally("`\\` escapes nothing", '\\')),
        Some('1'..='9') => {
            "a pattern refers back to nothing, it is matched in linear time; let the function check that"
        }
        Some('p' | 'P') => "a pattern knows no `\\p`; write the characters themselves: `[a-zA-Z]`",
        Some(_) => return Ok(()),
    };
    Err(problem.to_owned())
}

/// After its `(`.
fn group(rest: &mut Chars<'_>) -> Result<(), String> {
    let Some(kind) = rest.as_str().strip_prefix('?') else {
        return Ok(());
    };
    if ["=", "!", "<=", "<!"].iter().any(|look| kind.starts_with(look)) {
        return Err(
            "a pattern does not look around, it is matched in linear time; let the function check that"
                .to_owned(),
        );
    }
    *rest = kind.chars();
    Ok(())
}

/// After its `[`, to its end.
fn class(rest: &mut Chars<'_>) -> Result<(), String> {
    let inside = rest.as_str();
    let inside = inside.strip_prefix('^').unwrap_or(inside);
    // A `]` in the first place stands for itself.
    *rest = inside.strip_prefix(']').unwrap_or(inside).chars();
    while let Some(sign) = rest.next() {
        match sign {
            ']' => return Ok(()),
            '\\' => drop(rest.next()),
            '[' => named(rest),
            _ => {}
        }
    }
    Err(literally("`[` is never closed", '['))
}

/// `[:alpha:]` inside of a class, after its `[`.
fn named(rest: &mut Chars<'_>) {
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
    fn takes_what_the_runtime_reads() {
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
        ] {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn refuses_what_it_does_not() {
        for (pattern, word) in [
            ("(", "`(` is never closed"),
            ("(a", "write `\\(`"),
            ("a)", "`)` closes nothing"),
            ("[a", "`[` is never closed"),
            ("[]", "`[` is never closed"),
            ("[[:alpha:]", "`[` is never closed"),
            ("*.rs", "`*` repeats nothing"),
            ("a|+", "`+` repeats nothing"),
            ("(?=a)", "look around"),
            ("(?<!a)b", "look around"),
            (r"(a)\1", "refers back"),
            (r"\p{L}", "`[a-zA-Z]`"),
            ("a\\", "`\\` escapes nothing"),
        ] {
            let refused = check(pattern).err();
            assert!(
                refused.as_ref().is_some_and(|message| message.contains(word)),
                "{pattern}: {refused:?}"
            );
        }
    }
}
