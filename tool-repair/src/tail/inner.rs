//! Judges inner quotes: a string whose closing quote is followed by what has no place there either ends at that
//! quote, or has quotes in its text that were not escaped. Only what cannot be read in another way is accepted.

/// Where a string with quotes in its text ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Judged {
    /// Offset of the quote that closes the string.
    pub(super) end: usize,
    /// Offsets of the quotes that are text, in order.
    pub(super) inner: Vec<usize>,
}

/// Why it is not known where a string with quotes in its text ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Undecided {
    /// The text ends before that can be told.
    Ends,
    /// There is another reading, or none.
    Uncertain,
}

/// Judges the quote at `text[doubt]`, behind which nothing goes on, in a string that is a value in an object or an
/// array.
///
/// `before` is what stands before `text`, as far as that is known; `closers` says with what the innermost open
/// container is closed (0), and those around it. Takes time linear in what it reads.
pub(super) fn judge(
    before: &str,
    text: &str,
    quote: u8,
    doubt: usize,
    closers: &dyn Fn(usize) -> Option<u8>,
) -> Result<Judged, Undecided> {
    let bytes = text.as_bytes();
    let string = Doubtful {
        before,
        text,
        quote,
        closers,
    };
    let mut inner = Vec::new();
    let (mut pairs, mut apostrophes) = (true, quote == b'\'');
    let mut at = doubt;
    loop {
        match *bytes.get(at).ok_or(Undecided::Ends)? {
            b'\\' => at += 1,
            byte if byte == quote => {
                let follower = string.solid(at + 1)?;
                let goes_on = bytes.get(follower);
                if matches!(goes_on, Some(b',' | b':' | b'}' | b']')) || goes_on == Some(&quote) {
                    let even = pairs && inner.len() % 2 == 0;
                    if inner.is_empty() || !even && !apostrophes || string.are_two_values(&inner) {
                        return Err(Undecided::Uncertain);
                    }
                    string.ends_at(follower)?;
                    return Ok(Judged { end: at, inner });
                }
                if string.is_beside_prefix(at) {
                    return Err(Undecided::Uncertain);
                }
                pairs &= match inner.last() {
                    Some(opening) if inner.len() % 2 == 1 => {
                        string.closes(at) && string.says_something(*opening, at)
                    }
                    _ => string.opens(at),
                };
                apostrophes = apostrophes && string.is_apostrophe(at)?;
                if !pairs && !apostrophes {
                    return Err(Undecided::Uncertain);
                }
                inner.push(at);
            }
            _ => {}
        }
        at += 1;
    }
}

/// The text around a string in doubt.
struct Doubtful<'t> {
    before: &'t str,
    text: &'t str,
    quote: u8,
    closers: &'t dyn Fn(usize) -> Option<u8>,
}

impl Doubtful<'_> {
    /// Whether the quote at `at` looks like an opening one: `say "hi`, `f("x`, `="x`.
    fn opens(&self, at: usize) -> bool {
        let before = self.backwards(at).next().is_some_and(|before| {
            matches!(before, '(' | '=' | '<' | '>' | '/')
                || before.is_ascii_whitespace()
                || !before.is_ascii()
        }) || self.behind_escaped_space(at);
        let after = self.after(at).is_some_and(|after| {
            matches!(after, '_' | '/' | '<' | '.' | '$' | '#' | '-')
                || after.is_alphanumeric()
                || after >= PICTURES
                || OPENING_BRACKETS.contains(after)
        });
        before && after && !self.begins_a_member(at)
    }

    /// Whether the quote at `at` looks like a closing one.
    fn closes(&self, at: usize) -> bool {
        let before = self.backwards(at).next();
        before.is_some_and(|before| !before.is_whitespace() && !MARKS.contains(before))
            && !self.behind_escaped_space(at)
            && self.after(at).is_some_and(|after| !after.is_ascii_alphanumeric())
    }

    /// Whether there is more than punctuation between two quotes: `"a"-"b"` may be two strings.
    fn says_something(&self, opening: usize, closing: usize) -> bool {
        let between = self.text.get(opening + 1..closing).unwrap_or_default();
        between.contains(char::is_alphanumeric)
    }

    /// Whether the quote at `at` may open a string of Python with a prefix, or close one that such a string follows:
    /// `u'a, u'b'`, `'a'r'b'`.
    fn is_beside_prefix(&self, at: usize) -> bool {
        let is_prefix = |letter: char| matches!(letter, 'u' | 'U' | 'r' | 'R');
        let mut behind = self.text.get(at + 1..).unwrap_or_default().chars();
        let opens = behind.next().is_some_and(is_prefix) && matches!(behind.next(), Some('"' | '\''));
        let mut before = self.backwards(at);
        let alone = before.next().is_some_and(is_prefix)
            && !before
                .next()
                .is_some_and(|before| before.is_alphanumeric() || before == '_');
        opens || alone
    }

    /// Whether the quote at `at` stands between two letters and shortens a word, as in `it's`.
    fn is_apostrophe(&self, at: usize) -> Result<bool, Undecided> {
        let text = self.text.get(at + 1..).unwrap_or_default();
        let behind = letters(text.chars());
        let before: String = letters(self.backwards(at)).chars().rev().collect();
        if before.is_empty() || behind.is_empty() || self.behind_escape(at) {
            return Ok(false);
        }
        if before.ends_with("qu") || SHORTENED_BEFORE.contains(&&*before) {
            return Ok(true);
        }
        let more = SHORTENED_BEHIND.iter().any(|word| word.starts_with(&behind));
        if more && text.chars().all(is_letter) {
            return Err(Undecided::Ends);
        }
        Ok(SHORTENED_BEHIND.contains(&&*behind))
    }

    /// Whether the outer quotes may serve two values, `\"苹果\"和\"香蕉\"` without the escapes: two quotes, and nothing
    /// between them but a word that joins.
    fn are_two_values(&self, inner: &[usize]) -> bool {
        let [opening, closing] = inner else { return false };
        let between = self.text.get(opening + 1..*closing).unwrap_or_default();
        JOINING_WORDS.contains(&between)
    }

    /// Whether `, "word"` begins with the quote at `at`: more likely, a quote was lost before the comma. Where it is
    /// not known what stood before the quote, it may have been a comma.
    fn begins_a_member(&self, at: usize) -> bool {
        let solid = self.backwards(at).find(|before| !before.is_whitespace());
        if solid.is_some_and(|before| before != ',') {
            return false;
        }
        let behind = self.text.as_bytes().get(at + 1..).unwrap_or_default();
        let word = behind
            .iter()
            .take_while(|byte| **byte != self.quote && !byte.is_ascii_whitespace());
        behind.get(word.count()) == Some(&self.quote)
    }

    /// Makes sure that what stands behind a quote, at `at`, closes the string beyond doubt: a bracket that fits,
    /// behind which the text goes on as it must, or the next key of an object. A comma in an array says nothing.
    fn ends_at(&self, mut at: usize) -> Result<(), Undecided> {
        let bytes = self.text.as_bytes();
        if bytes.get(at) == Some(&b',') {
            return match (self.closers)(0) {
                Some(b'}') => self.key_at(at + 1),
                _ => Err(Undecided::Uncertain),
            };
        }
        let mut level = 0;
        while let Some(closer) = (self.closers)(level) {
            match bytes.get(at) {
                Some(byte) if *byte == closer => level += 1,
                Some(b',') if level > 0 => return Ok(()),
                _ => return Err(Undecided::Uncertain),
            }
            match self.solid(at + 1) {
                Ok(next) => at = next,
                Err(ends) => return (self.closers)(level).map_or(Ok(()), |_| Err(ends)),
            }
        }
        Err(Undecided::Uncertain)
    }

    /// Makes sure that `"key":` stands at `at`, behind white space or none.
    fn key_at(&self, at: usize) -> Result<(), Undecided> {
        let bytes = self.text.as_bytes();
        let opening = self.solid(at)?;
        let quote = bytes.get(opening).copied();
        let Some(quote @ (b'"' | b'\'')) = quote else {
            return Err(Undecided::Uncertain);
        };
        let mut at = opening + 1;
        loop {
            match *bytes.get(at).ok_or(Undecided::Ends)? {
                byte if byte == quote => break,
                b'\\' => at += 2,
                0..=0x1F => return Err(Undecided::Uncertain),
                _ => at += 1,
            }
        }
        if at > opening + 1 && bytes.get(self.solid(at + 1)?) == Some(&b':') {
            Ok(())
        } else {
            Err(Undecided::Uncertain)
        }
    }

    /// Where the white space that begins at `at` ends.
    fn solid(&self, at: usize) -> Result<usize, Undecided> {
        let behind = self.text.as_bytes().get(at..).unwrap_or_default();
        let space = behind
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t'))
            .ok_or(Undecided::Ends)?;
        Ok(at + space)
    }

    fn after(&self, at: usize) -> Option<char> {
        self.text.get(at + 1..)?.chars().next()
    }

    fn backwards(&self, at: usize) -> impl Iterator<Item = char> + '_ {
        let text = self.text.get(..at).unwrap_or_default();
        text.chars().rev().chain(self.before.chars().rev())
    }

    /// Whether `\n`, `\r` or `\t` stands before `at`.
    fn behind_escaped_space(&self, at: usize) -> bool {
        matches!(self.backwards(at).next(), Some('n' | 'r' | 't')) && self.behind_escape(at)
    }

    /// Whether a backslash and one character stand before `at`.
    fn behind_escape(&self, at: usize) -> bool {
        self.backwards(at)
            .skip(1)
            .take_while(|before| *before == '\\')
            .count()
            % 2
            == 1
    }
}

/// Marks behind which a string may begin, had another mark been lost. Those of Chinese and Japanese are among them:
/// some write them in the place of JSON's, `["…"，"…"]`.
const MARKS: &str = ",:[{(\u{ff0c}\u{3001}\u{ff1b}\u{ff1a}\u{ff3b}\u{ff5b}\u{ff08}\u{3010}";

/// The letters that a text begins with, as small ones, and no more than tell a short word from a longer one. Scripts
/// that put no spaces between words have none: every quote would be an apostrophe there.
fn letters(text: impl Iterator<Item = char>) -> String {
    let letters = text.take_while(|next| is_letter(*next)).take(8);
    letters.flat_map(char::to_lowercase).collect()
}

fn is_letter(character: char) -> bool {
    character < '\u{250}' && character.is_alphabetic()
}

/// The ends of shortened words: `it's`, `don't`, `we're`. Behind any other letters a quote may have been the end of a
/// string whose beginning is lost.
const SHORTENED_BEHIND: [&str; 11] = ["s", "t", "d", "m", "n", "am", "re", "ve", "ll", "em", "all"];

/// The beginnings of shortened words: `l'eau`, `O'Brien`, `dell'arte`; in French, whatever ends in `qu`.
const SHORTENED_BEFORE: [&str; 32] = [
    "l", "d", "j", "n", "m", "s", "c", "t", "o", "un", "aujourd", "prud", "grand", "dell", "nell", "dall",
    "sull", "coll", "all", "quest", "quell", "bell", "gl", "degl", "com", "dov", "cos", "anch", "sant",
    "senz", "tutt", "mezz",
];

/// Words between two values, where no spaces are.
const JOINING_WORDS: [&str; 18] = [
    "和", "与", "與", "或", "及", "跟", "同", "到", "至", "以及", "或者", "还是", "と", "や", "か", "와",
    "과", "ou",
];

/// What stands before a title or a quote within a quote.
const OPENING_BRACKETS: &str = "\u{300a}\u{300c}\u{300e}";

/// Pictures and rare letters; the punctuation of living languages is below.
const PICTURES: char = '\u{10000}';

#[cfg(test)]
mod tests {
    use super::*;

    /// The quotes that are text and the one that closes, in a text whose string begins at its last `‹`, which stands
    /// for its opening quote, and is in doubt at the first quote behind it.
    fn judged(text: &str) -> Result<String, Undecided> {
        let start = text.rfind('\u{2039}').unwrap();
        let (sent, rest) = (&text[..start], &text[start + '\u{2039}'.len_utf8()..]);
        let quote = if rest.contains('"') { b'"' } else { b'\'' };
        let mut open = Vec::new();
        for byte in sent.bytes() {
            match byte {
                b'{' => open.push(b'}'),
                b'[' => open.push(b']'),
                b'(' => open.push(b')'),
                _ => {}
            }
        }
        let closers = |level: usize| open.iter().rev().nth(level).copied();
        let whole = format!("{sent}{}{rest}", char::from(quote));
        let opening = sent.len();
        let mut doubt = opening + 1;
        while whole.as_bytes()[doubt] != quote {
            doubt += 1 + usize::from(whole.as_bytes()[doubt] == b'\\');
        }
        let judged = judge("", &whole, quote, doubt, &closers);
        // The same, whatever was passed on before.
        for cut in (0..=doubt).filter(|cut| whole.is_char_boundary(*cut)) {
            let (before, text) = whole.split_at(cut);
            let moved = judge(before, text, quote, doubt - cut, &closers);
            let moved = moved.map(|Judged { end, inner }| Judged {
                end: end + cut,
                inner: inner.into_iter().map(|at| at + cut).collect(),
            });
            assert_eq!(moved, judged, "{whole} cut at {cut}");
        }
        let Judged { end, inner } = judged?;
        assert_eq!(inner[0], doubt, "{whole}");
        let mut read = String::new();
        for (at, character) in whole.char_indices().skip_while(|(at, _)| *at <= opening) {
            if at == end {
                return Ok(read);
            }
            if inner.contains(&at) {
                read.push('\\');
            }
            read.push(character);
        }
        unreachable!("{whole} has no quote at {end}")
    }

    #[test]
    fn quotes_that_can_only_be_text_are_text() {
        for (text, string) in [
            (r#"{"a": ‹say "hi" now"}"#, r#"say \"hi\" now"#),
            (r#"{"a": ‹say "hi", "b": 1}"#, ""),
            (r#"{"a": ‹say "hi" now", "b": 1}"#, r#"say \"hi\" now"#),
            (r#"{"a": ‹say "hi" now" , 'b' : 1}"#, r#"say \"hi\" now"#),
            (r#"{"a": ‹print("hi")"}"#, r#"print(\"hi\")"#),
            (r#"{"a": ‹<a href="/x" id="y">"}"#, r#"<a href=\"/x\" id=\"y\">"#),
            (
                "{\"a\": ‹\u{4ed6}\u{8bf4}\"\u{4f60}\u{597d}\"\u{7136}\"}",
                "\u{4ed6}\u{8bf4}\\\"\u{4f60}\u{597d}\\\"\u{7136}",
            ),
            (r#"{"a": [1, ‹say "hi" now"]}"#, r#"say \"hi\" now"#),
            (r#"[[‹say "hi" now" ] , 2]"#, r#"say \"hi\" now"#),
            (r#"([‹say "hi" now"],)"#, r#"say \"hi\" now"#),
            (
                r#"{"a": ‹say \"x\" and "hi" \"now"}"#,
                r#"say \"x\" and \"hi\" \"now"#,
            ),
            (r#"{"a": ‹x\n"hi" now"}"#, r#"x\n\"hi\" now"#),
            (r"{'a': ‹it's fine'}", r"it\'s fine"),
            (r"{'a': ‹it's what's there', 'b': 1}", r"it\'s what\'s there"),
            (r"{'a': ‹rock 'n' roll'}", r"rock \'n\' roll"),
            (r"{'a': ‹l'eau d'ici, menu's'}", r"l\'eau d\'ici, menu\'s"),
            (r#"{"a": ‹say, "hi there" now"}"#, r#"say, \"hi there\" now"#),
        ] {
            assert_eq!(judged(text).unwrap_or_default(), string, "{text}");
        }
    }

    #[test]
    fn quotes_that_could_be_read_in_another_way_are_not_judged() {
        for text in [
            // The end is not strong.
            r#"{"a": ‹say "hi" now", b: 1}"#,
            r#"{"a": ‹say "hi" now", "": 1}"#,
            r#"{"a": ‹say "hi" now",}"#,
            r#"{"a": ‹say "hi" now", "b", 1}"#,
            r#"{"a": ‹say "hi" now"]"#,
            r#"{"a": ‹say "hi" now"} x"#,
            r#"{"a": ‹say "hi" now"}}"#,
            r#"{"a": ‹say "hi" now"},"#,
            r#"{"a": {"b": ‹say "hi" now"} x}"#,
            r#"[‹say "hi" now", 1]"#,
            r#"[‹say "hi" now", "b": 1]"#,
            // Odd, or not in turn.
            r#"{"a": ‹5" pipe"}"#,
            r#"{"a": ‹say "hi now"}"#,
            r#"{"a": ‹say "hi" and "ho now"}"#,
            r#"{"a": ‹say"hi" now"}"#,
            r#"{"a": ‹say " hi " now"}"#,
            r#"{"a": ‹say "hi " now"}"#,
            r#"{"a": ‹say "hi\n" now"}"#,
            r#"{"a": ‹x\\n"hi" now"}"#,
            r#"{"a": ‹say "hi"now"}"#,
            r#"{"a": ‹"hi" now"}"#,
            r#"{"a": ‹"hi""}"#,
            r#"{"a": ‹say "hi""}"#,
            r#"{"a": ‹say "hi" "ho" now"}"#,
            r#"{"a": ‹say "hi": now"}"#,
            r#"{"a": ‹say "{"x": 1}" now"}"#,
            // A quote was lost elsewhere.
            r#"{"a": ‹x, "b" y"}"#,
            r#"["a", ‹x, "b", "c"]"#,
            "{\"a\": ‹x,\n  \"b\": \"y\"}",
            "[‹x\n \"b\"\n]",
            // A comma became something else.
            r#"["a", ‹/"-"b"]"#,
            r#"["a", ‹x/"."b"]"#,
            "[‹\u{51fa}\"\u{ff0c}\"# x\"]",
            // A quote was lost before a string with a prefix, or there are two strings.
            r"[u‹b, u'c']",
            r"{u'a': u‹b, u'c', u'd': 1}",
            r"{'a': ‹b, R'c'}",
            r"{'a': ‹b'u'c'}",
            r#"{"a": ‹say "r" now"}"#,
            // Apostrophes.
            r"['x', ‹it's', 'b']",
            r"{'a': ‹it's 'hi' now'}",
            r"{'a': ‹dogs' bowls'}",
            r"{'a': ‹x\n's'}",
            r#"{"a": ‹it"s fine"}"#,
            "{'a': ‹\u{4f60}'\u{597d}'}",
            // A comma or a colon of another script in the place of one: there are two strings.
            "[‹\u{4f60}\"\u{ff0c}\"\u{597d}\"]",
            "[‹\u{4f60}\"\u{3001}\"\u{597d}\"\u{3001}\"\u{5417}\"]",
            "[‹\u{4f60}\"\u{ff1b}\"\u{597d}\"]",
            "[‹\u{4f60}\"\u{2014}\"\u{597d}\"]",
            "[‹\u{4f60}\"\u{597d}\u{ff0c}\"\u{5417}\"]",
            "{\"a\": ‹\u{4f60}\"\u{ff0c}\"\u{597d}\"\u{ff1a}\"\u{5417}\"}",
        ] {
            assert_eq!(judged(text), Err(Undecided::Uncertain), "{text}");
        }
    }

    #[test]
    fn a_text_that_ends_before_it_is_certain_is_no_other_text() {
        for (text, certain) in [
            (r#"{"a": {"b": ‹say "hi" now" } , "c": 1}"#, " ,"),
            (r#"{"a": ‹say "hi" and "ho" now" , "c\"" : 1}"#, " :"),
            (r#"{"a": [‹say "hi" now"]}"#, "}"),
            (r"{'a': ‹it's what's there', 'b': 1}", "':"),
        ] {
            let doubt = text.rfind('\u{2039}').unwrap() + 12;
            let certain = text.rfind(certain).unwrap() + certain.len();
            for end in doubt..=text.len() {
                let ended = judged(&text[..end]);
                if end < certain {
                    assert_eq!(ended, Err(Undecided::Ends), "{}", &text[..end]);
                } else {
                    assert!(ended.is_ok(), "{}", &text[..end]);
                }
            }
        }
    }

    #[test]
    fn a_comma_before_the_quote_may_have_been_passed_on_and_forgotten() {
        let closers = |level: usize| (level == 0).then_some(b'}');
        assert!(judge("", r#""hi" now"}"#, b'"', 0, &closers).is_err());
        assert!(judge(" ", r#""hi" now"}"#, b'"', 0, &closers).is_err());
        assert!(judge("y ", r#""hi" now"}"#, b'"', 0, &closers).is_ok());
    }
}
