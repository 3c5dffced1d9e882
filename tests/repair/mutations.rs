//! Single errors in a correct text.

use tests::random::Random;

/// Characters that are often confused with others.
const MISTAKEN: [char; 17] = [
    '{', '}', '[', ']', '(', ')', ',', ':', '"', '\'', ';', '=', '.', ' ', '#', '-', '\\',
];

/// Removes, doubles or changes this many characters outside of strings, or quotes around strings.
pub fn slipped(text: &str, slips: usize, random: &mut Random) -> String {
    let mut places = structure(text);
    let mut slipped = text.to_owned();
    let mut chosen = Vec::new();
    for _ in 0..slips.min(places.len()) {
        chosen.push(places.swap_remove(random.below(places.len())));
    }
    // From the last position to the first, so that the positions stay valid.
    chosen.sort_unstable_by(|a, b| b.cmp(a));
    for place in chosen {
        let character = text.as_bytes()[place] as char;
        match random.below(3) {
            0 => drop(slipped.remove(place)),
            1 => slipped.insert(place, character),
            _ => {
                let mistaken = MISTAKEN.iter().filter(|other| **other != character);
                let others: String = mistaken.collect();
                let other = random.below(others.len());
                slipped.replace_range(place..=place, &others[other..=other]);
            }
        }
    }
    slipped
}

/// Returns the positions of structural characters: brackets, commas and colons outside of strings, and the quotes around strings.
pub fn structure(text: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut open = None;
    let mut escaped = false;
    for (place, byte) in text.bytes().enumerate() {
        match open {
            Some(_) if escaped => escaped = false,
            Some(_) if byte == b'\\' => escaped = true,
            Some(quote) if byte == quote => {
                open = None;
                places.push(place);
            }
            Some(_) => {}
            None if matches!(byte, b'"' | b'\'') => {
                open = Some(byte);
                places.push(place);
            }
            None if b"{}[](),:".contains(&byte) => places.push(place),
            None => {}
        }
    }
    places
}

/// Removes the backslashes before some quotes in strings: before one quote, before all quotes of a string, or before all quotes. Returns
/// `None` if there are none.
pub fn with_raw_quotes(text: &str, quote: char, random: &mut Random) -> Option<String> {
    let escaped = escaped(text, quote);
    if escaped.is_empty() {
        return None;
    }
    let all = random.below(3);
    let only = *random.pick(&escaped);
    let quotes = structure(text);
    let string_of = |place: usize| quotes.iter().filter(|quote| **quote < place).count();
    let mut raw = text.to_owned();
    for place in escaped.into_iter().rev() {
        let here = match all {
            0 => place == only,
            1 => string_of(place) == string_of(only),
            _ => true,
        };
        if here {
            raw.remove(place);
        }
    }
    Some(raw)
}

/// Returns the positions of the backslashes that escape this quote.
fn escaped(text: &str, quote: char) -> Vec<usize> {
    let mut places = Vec::new();
    let mut bytes = text.bytes().enumerate();
    while let Some((place, byte)) = bytes.next() {
        if byte == b'\\'
            && let Some((_, next)) = bytes.next()
            && char::from(next) == quote
        {
            places.push(place);
        }
    }
    places
}

/// Removes one of these characters anywhere. Returns the position, too; `None` for a text without such a position.
pub fn without_one(text: &str, characters: &[u8], random: &mut Random) -> Option<(String, usize)> {
    let places: Vec<usize> = text
        .bytes()
        .enumerate()
        .filter_map(|(place, byte)| characters.contains(&byte).then_some(place))
        .collect();
    if places.is_empty() {
        return None;
    }
    let place = *random.pick(&places);
    let mut shorter = text.to_owned();
    shorter.remove(place);
    Some((shorter, place))
}
