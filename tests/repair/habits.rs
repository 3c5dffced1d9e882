//! Systematic errors: unescaped characters, other quotes, a Chinese keyboard. As in `slips.rs`, the result is the intended value or the
//! original text.

use tests::random::Random;

use crate::exact_json::JsonValue;
use crate::mutations::structure;
use crate::random::arguments;
use crate::slips::{Slip, hold, is_more_than_one, written};
use crate::written::{Style, json};

/// A change of a text; `None` if the change does not apply.
type Habit = fn(&str, &mut Random) -> Option<String>;

fn habit(
    write: fn(&JsonValue, &mut Random) -> String,
    habit: Habit,
) -> impl FnMut(&mut Random) -> Option<Slip> {
    move |random| {
        let meant = arguments(random);
        let before = write(&meant, random);
        let after = habit(&before, random).filter(|after| *after != before)?;
        let mut slip = Slip::new(meant, before, after);
        slip.undecidable = is_more_than_one(&slip.meant, '"') || is_more_than_one(&slip.meant, '\'');
        Some(slip)
    }
}

fn any_json(meant: &JsonValue, random: &mut Random) -> String {
    let style = *random.pick(&Style::ALL);
    json(meant, style, random)
}

#[test]
fn repairs_raw_line_breaks_and_tabs() {
    hold(
        "raw line breaks and tabs",
        9000,
        0,
        habit(any_json, |text, _| {
            let mut raw = String::new();
            let mut characters = text.chars();
            while let Some(character) = characters.next() {
                match (character, character == '\\') {
                    (_, true) => match characters.next()? {
                        'n' => raw.push('\n'),
                        't' => raw.push('\t'),
                        other => raw.extend(['\\', other]),
                    },
                    _ => raw.push(character),
                }
            }
            Some(raw)
        }),
    );
}

/// Returns the positions of the quotes of each string.
fn strings(text: &str) -> Vec<[usize; 2]> {
    let quotes = structure(text);
    let quotes = quotes
        .iter()
        .filter(|place| b"\"'".contains(&text.as_bytes()[**place]));
    let quotes: Vec<usize> = quotes.copied().collect();
    quotes.as_chunks().0.to_vec()
}

/// Replaces the quotes around this string.
fn requoted(text: &str, [opening, closing]: [usize; 2], quotes: [&str; 2]) -> String {
    let mut requoted = text.to_owned();
    requoted.replace_range(closing..=closing, quotes[1]);
    requoted.replace_range(opening..=opening, quotes[0]);
    requoted
}

fn other_quote(text: &str, place: usize) -> &'static str {
    if text[place..].starts_with('"') { "'" } else { "\"" }
}

#[test]
fn repairs_one_string_in_single_quotes() {
    hold(
        "one string in the other quotes",
        9000,
        0,
        habit(written, |text, random| {
            let strings = strings(text);
            let string = *strings.get(random.below(strings.len().max(1)))?;
            let quote = other_quote(text, string[0]);
            Some(requoted(text, string, [quote, quote]))
        }),
    );
}

#[test]
fn repairs_all_strings_in_single_quotes() {
    hold(
        "every string in the other quotes",
        9000,
        0,
        habit(written, |text, _| {
            let mut requoted_text = text.to_owned();
            for string in strings(text).into_iter().rev() {
                let quote = other_quote(text, string[0]);
                requoted_text = requoted(&requoted_text, string, [quote, quote]);
            }
            Some(requoted_text)
        }),
    );
}

#[test]
fn repairs_one_string_in_typographic_quotes() {
    hold(
        "one string in typographic quotes",
        9000,
        0,
        habit(any_json, |text, random| {
            let strings = strings(text);
            let string = *strings.get(random.below(strings.len().max(1)))?;
            Some(requoted(text, string, ["“", "”"]))
        }),
    );
}

#[test]
fn repairs_all_strings_in_typographic_quotes() {
    hold(
        "every string in typographic quotes",
        9000,
        0,
        habit(any_json, |text, _| {
            let mut requoted_text = text.to_owned();
            for string in strings(text).into_iter().rev() {
                requoted_text = requoted(&requoted_text, string, ["“", "”"]);
            }
            Some(requoted_text)
        }),
    );
}

#[test]
fn repairs_chinese_punctuation() {
    hold(
        "one mark of Chinese punctuation",
        9000,
        0,
        habit(written, |text, random| {
            let place = *random.pick(&structure(text));
            let wide = match text.as_bytes()[place] {
                b',' => "，",
                b':' => "：",
                b'(' => "（",
                b')' => "）",
                b'[' => "【",
                b']' => "】",
                b'{' => "｛",
                b'}' => "｝",
                _ => *random.pick(&["“", "”", "＂", "’"]),
            };
            let mut after = text.to_owned();
            after.replace_range(place..=place, wide);
            Some(after)
        }),
    );
}

#[test]
fn repairs_a_redundant_double_quote() {
    hold(
        "one `\"` inserted anywhere",
        9000,
        0,
        habit(written, |text, random| {
            let mut place = random.below(text.len() + 1);
            // After a backslash, the change would create two escapes.
            while !text.is_char_boundary(place) || text[..place].ends_with('\\') {
                place -= 1;
            }
            // After a number, and at the beginning of a quotation that ends with an escaped quote, the change is valid for any parser.
            let (before, behind) = text.split_at(place);
            let inch = before.ends_with(|last: char| last.is_ascii_digit())
                && behind.starts_with([' ', ',', '.', ';', ')']);
            let quotation = before.ends_with(['=', '(', '[']) && behind.contains("\\\"");
            let closes = |(_, word): (&str, &str)| !word.contains(['"', '\\']);
            if inch || quotation || before.rsplit_once("\\\"").is_some_and(closes) {
                return None;
            }
            let mut after = text.to_owned();
            after.insert(place, '"');
            Some(after)
        }),
    );
}

#[test]
fn repairs_swapped_characters() {
    hold(
        "two neighbours swapped",
        9000,
        0,
        habit(written, |text, random| {
            let pairs: Vec<usize> = structure(text)
                .windows(2)
                .filter_map(|pair| (pair[0] + 1 == pair[1]).then_some(pair[0]))
                .collect();
            let place = *pairs.get(random.below(pairs.len().max(1)))?;
            let mut after = text.to_owned();
            let first = after.remove(place);
            after.insert(place + 1, first);
            Some(after)
        }),
    );
}

#[test]
fn repairs_a_value_between_other_text() {
    hold(
        "before, behind or between other texts",
        9000,
        0,
        habit(written, |text, random| {
            let before = [
                "",
                "",
                "Here: ",
                "Sure!\n\n",
                "```json\n",
                "args = ",
                "{}",
                "[1] ",
                "<a>",
                "- ",
                "\"",
                "it's ",
            ];
            let behind = [
                "", "", "\n```", " Done.", "}", "]", "}}", " {}", ", 1", "</a>", ")", ";", " it's", ".",
            ];
            Some([*random.pick(&before), text, *random.pick(&behind)].concat())
        }),
    );
}
