//! Random JSON in every spelling that the grammar allows, with arbitrary values.

use tests::random::Random;

/// Generates a whole text.
pub fn document(random: &mut Random) -> String {
    let mut text = String::new();
    space(random, &mut text);
    let depth = *random.pick(&[0, 1, 3, 5, 5, 90]);
    value(random, depth, &mut text);
    space(random, &mut text);
    text
}

fn value(random: &mut Random, depth: usize, text: &mut String) {
    // Deep texts have only one nested path.
    let most = if depth > 5 { 2 } else { 5 };
    match random.below(if depth == 0 { 4 } else { 10 }) {
        0 => one_of(random, &["true", "false", "null"], text),
        1 => number(random, text),
        2 | 3 => string(random, text),
        4..=6 => {
            let deep = random.below(most);
            members(random, "[]", most, text, |random, place, text| {
                value(random, if place == deep { depth - 1 } else { 0 }, text);
            });
        }
        _ => {
            let deep = random.below(most);
            members(random, "{}", most, text, |random, place, text| {
                // Duplicate keys are valid JSON, too.
                match random.below(4) {
                    0 => text.push_str("\"a\""),
                    _ => string(random, text),
                }
                space(random, text);
                text.push(':');
                space(random, text);
                value(random, if place == deep { depth - 1 } else { 0 }, text);
            });
        }
    }
}

fn members(
    random: &mut Random,
    brackets: &str,
    most: usize,
    text: &mut String,
    mut member: impl FnMut(&mut Random, usize, &mut String),
) {
    text.push_str(&brackets[..1]);
    space(random, text);
    for place in 0..random.below(most + 1) {
        if place > 0 {
            text.push(',');
            space(random, text);
        }
        member(random, place, text);
        space(random, text);
    }
    text.push_str(&brackets[1..]);
}

fn space(random: &mut Random, text: &mut String) {
    match random.below(40) {
        0..20 => {}
        20..30 => text.push(' '),
        30..36 => text.push_str("\n    "),
        36..39 => (0..random.below(20)).for_each(|_| one_of(random, &[" ", "\t", "\r\n"], text)),
        _ if random.one_in(20) => text.push_str(&" ".repeat(1000 + random.below(60))),
        _ => {}
    }
}

fn number(random: &mut Random, text: &mut String) {
    one_of(random, &["", "", "-"], text);
    let long = if random.one_in(20) { 80 } else { 4 };
    if random.one_in(4) {
        text.push('0');
    } else {
        text.push_str(&(1 + random.below(9)).to_string());
        digits(random, 0, long, text);
    }
    if random.one_in(3) {
        text.push('.');
        digits(random, 1, long, text);
    }
    if random.one_in(4) {
        one_of(random, &["e", "E"], text);
        one_of(random, &["", "+", "-"], text);
        digits(random, 1, 4, text);
    }
}

/// Generates at least this many digits, and fewer than `more` additional digits.
fn digits(random: &mut Random, least: usize, more: usize, text: &mut String) {
    for _ in 0..least + random.below(more) {
        text.push_str(&random.below(10).to_string());
    }
}

fn string(random: &mut Random, text: &mut String) {
    text.push('"');
    let long = if random.one_in(10) { 200 } else { 8 };
    for _ in 0..random.below(long) {
        match random.below(20) {
            0 => one_of(
                random,
                &["\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t"],
                text,
            ),
            1 => {
                let unit = random.below(0x1_0000);
                text.push_str(&match random.below(2) {
                    0 => format!("\\u{unit:04x}"),
                    _ => format!("\\u{unit:04X}"),
                });
            }
            2 => one_of(random, &["\\ud83d\\ude00", "\\ud83d", "\\udE00\\uD83d"], text),
            3 => one_of(
                random,
                &["'", "{", "}", "[", "]", ",", ":", ": ", "\u{7f}", "\u{2028}"],
                text,
            ),
            4 => text.extend(char::from_u32(
                0x80 + u32::try_from(random.below(0x2_0000)).unwrap_or(0),
            )),
            5..10 => one_of(
                random,
                &["\u{4f60}\u{597d}", "\u{e9}", "\u{1f600}", " ", "True"],
                text,
            ),
            _ => text.push(char::from(b'a' + u8::try_from(random.below(26)).unwrap_or(0))),
        }
    }
    text.push('"');
}

fn one_of(random: &mut Random, choices: &[&str], text: &mut String) {
    text.push_str(random.pick::<&str>(choices));
}
