//! Parses events like a client, independently of the repair: without spans and framing, all at once.

use serde_json::Value;

/// Returns the raw text of each event and comment, without its blank line.
pub fn blocks(stream: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(stream);
    let text = text
        .trim_start_matches('\u{feff}')
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    text.split("\n\n")
        .filter(|block| !block.trim().is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns the JSON of each event that has any.
pub fn events(stream: &[u8]) -> Vec<Value> {
    let json = |block: &String| {
        let lines = block.lines().filter_map(|line| line.strip_prefix("data:"));
        let data: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        serde_json::from_str(&stand_ins(&data.join("\n"))).ok()
    };
    blocks(stream).iter().filter_map(json).collect()
}

/// Replaces half surrogate pairs by private characters, so that both halves can be joined later.
fn stand_ins(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at..];
        out.push_str(&rest[..at]);
        let unit = escape
            .get(2..6)
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let (written, length) = match unit {
            Some(unit) if escape.starts_with("\\u") && (0xd800..0xe000).contains(&unit) => {
                (char::from_u32(STAND_INS + unit).unwrap().to_string(), 6)
            }
            _ => (escape[..2].to_owned(), 2),
        };
        out.push_str(&written);
        rest = &escape[length..];
    }
    out + rest
}

/// Replaces the private characters by their meaning; `None` if a half has no other half.
pub fn text(with_stand_ins: &str) -> Option<String> {
    let mut units = Vec::new();
    for character in with_stand_ins.chars() {
        match u32::from(character).checked_sub(STAND_INS + 0xd800) {
            Some(unit) if unit < 0x800 => units.push(u16::try_from(unit + 0xd800).unwrap()),
            _ => units.extend_from_slice(character.encode_utf16(&mut [0; 2])),
        }
    }
    String::from_utf16(&units).ok()
}

const STAND_INS: u32 = 0xf_0000;
