//! Repair of one text, whole or in pieces: the scanner returns valid JSON, and the rest is held and repaired once,
//! at the end. [`repair`] handles a whole text as a single piece.

use std::borrow::Cow;
use std::fmt;

use super::fixes::{Fixes, Reason};
use super::limits::Limits;
use super::parser::{self, Failure, Repair};
use super::scan::{Deviation, Scanner};

/// Outcome of the repair of a text.
///
/// ```
/// use tool_repair::repair;
///
/// assert_eq!(repair("{'a': 1}").status.to_string(), "repaired");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// The text is JSON, and is unchanged.
    Valid,
    /// The text was not JSON. The result is JSON.
    Repaired,
    /// The text ended before the end of its value, without an earlier error. The text is unchanged: a truncated call must not be executed.
    Truncated,
    /// The text could not be read without guessing. The text is unchanged.
    Refused,
}

impl Status {
    /// Returns the stable name of the status: `valid`, `repaired`, `truncated`, `refused`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Repaired => "repaired",
            Self::Truncated => "truncated",
            Self::Refused => "refused",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Status {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Result of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the input is unchanged; the result is in `text`"]
#[non_exhaustive]
pub struct Repaired<'a> {
    /// Resulting text: the original, borrowed, unless the status is [`Repaired`](Status::Repaired).
    pub text: Cow<'a, str>,
    /// Outcome of the repair.
    pub status: Status,
    /// Changes; empty unless the status is [`Repaired`](Status::Repaired).
    pub fixes: Fixes,
    /// Reason why the text is unchanged, for [`Truncated`](Status::Truncated) and [`Refused`](Status::Refused).
    pub reason: Option<Reason>,
    /// Name of the tool in the removed packaging; `None` if the packaging has no name. Arguments for one tool must not
    /// be passed to another tool.
    ///
    /// ```
    /// use tool_repair::repair;
    ///
    /// let repaired = repair(r#"[TOOL_CALLS]web_search[ARGS]{"query": "x"}"#);
    /// assert_eq!(repaired.text, r#"{"query": "x"}"#);
    /// assert_eq!(repaired.tool_name.as_deref(), Some("web_search"));
    /// ```
    pub tool_name: Option<String>,
}

impl Repaired<'_> {
    /// Returns whether the removed packaging names another tool than `tool`. Case and separators are ignored.
    ///
    /// ```
    /// use tool_repair::repair;
    ///
    /// let repaired = repair(r#"[TOOL_CALLS]web_search[ARGS]{"query": "x"}"#);
    /// assert!(repaired.names_other_tool("delete"));
    /// assert!(!repaired.names_other_tool("web_search"));
    /// assert!(!repair("{'query': 'x'}").names_other_tool("delete"));
    /// ```
    pub fn names_other_tool(&self, tool: &str) -> bool {
        is_other_tool(self.tool_name.as_deref(), tool)
    }
}

fn is_other_tool(name: Option<&str>, tool: &str) -> bool {
    fn letters(name: &str) -> impl Iterator<Item = char> {
        name.chars()
            .filter(|letter| letter.is_alphanumeric())
            .flat_map(char::to_lowercase)
    }
    name.is_some_and(|name| !letters(name).eq(letters(tool)))
}

/// Repairs a whole text. Valid JSON is returned unchanged, and so is a text that cannot be repaired without guessing.
///
/// Takes time linear in the text, without recursion. The [module](super) describes the repairs.
///
/// ```
/// use tool_repair::{Status, repair};
///
/// let valid = repair(r#"{"pattern": "*.rs"}"#);
/// assert_eq!((valid.status, &*valid.text), (Status::Valid, r#"{"pattern": "*.rs"}"#));
/// ```
#[must_use = "the input is unchanged; the result is returned"]
pub fn repair(text: &str) -> Repaired<'_> {
    repair_with(text, Limits::default())
}

/// Repairs a whole text with other limits than [`repair`].
#[must_use = "the input is unchanged; the result is returned"]
pub fn repair_with(text: &str, limits: Limits) -> Repaired<'_> {
    repair_by(text, limits, parser::repair)
}

fn repair_by(text: &str, limits: Limits, parse: impl Parse) -> Repaired<'_> {
    let mut scanner = Scanner::new(limits);
    let unchanged = |status, reason| Repaired {
        text: Cow::Borrowed(text),
        status,
        fixes: Fixes::default(),
        reason,
        tool_name: None,
    };
    let deviation = match scanner.scan(text) {
        Ok(()) => {
            return match scanner.finish() {
                Ok(()) => unchanged(Status::Valid, None),
                Err(reason) => unchanged(Status::Truncated, Some(reason)),
            };
        }
        Err(deviation) => deviation,
    };
    let (sent, rest) = text.split_at(deviation.at);
    let sent_kept = (sent.len() <= limits.sent).then_some(sent);
    match finalize(rest, sent_kept, &deviation, limits, true, parse) {
        Ok(Repair {
            mut text,
            fixes,
            tool,
        }) => {
            text.insert_str(0, sent); // usually one or two bytes: moved, not copied to another place
            Repaired {
                text: Cow::Owned(text),
                status: Status::Repaired,
                fixes,
                reason: None,
                tool_name: tool,
            }
        }
        Err(Failure::Truncated(reason)) => unchanged(Status::Truncated, Some(reason)),
        Err(Failure::Refused(reason)) => unchanged(Status::Refused, Some(reason)),
    }
}

/// Repairs a text that is received in pieces.
///
/// The texts returned by [`push`](Self::push) and [`finish`](Self::finish), joined, are the result of [`repair`] for
/// the whole text, however it is split; returned text is never revoked. The [module](super) describes which bytes are
/// held. Call [`finish`](Self::finish): without it, held bytes are lost. At most [`Limits::sent`] and
/// [`Limits::held`] bytes are kept.
///
/// ```
/// use tool_repair::{Repairer, Status};
///
/// let mut repairer = Repairer::new();
/// let mut text = String::new();
/// for piece in [r#"{"pattern": "*."#, r#"rs"}"#] {
///     text.push_str(repairer.push(piece));
/// }
/// let finished = repairer.finish();
/// text.push_str(&finished.rest);
/// assert_eq!((finished.status, &*text), (Status::Valid, r#"{"pattern": "*.rs"}"#));
/// ```
#[derive(Debug, Clone)]
pub struct Repairer {
    limits: Limits,
    validate: bool,
    tool: Option<String>,
    state: RepairState,
    /// Original text from `dropped` on: kept passed bytes, and held bytes.
    text: String,
    /// Number of dropped bytes at the start of the text.
    dropped: usize,
    /// Number of passed bytes.
    sent: usize,
    /// Number of bytes that can be appended without any other work, since all bytes are held.
    room: usize,
}

#[derive(Debug, Clone)]
enum RepairState {
    Scanning(Scanner),
    /// The text stopped being JSON. All bytes from the deviation on are held.
    Deviated(Box<Deviation>),
    /// A limit was exceeded. All bytes pass unchanged.
    GivenUp(Reason),
}

/// End of a text that was received in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "`rest` is the end of the text, and is lost otherwise"]
#[non_exhaustive]
pub struct Finished {
    /// Text that no earlier call has returned.
    pub rest: String,
    /// Outcome of the repair.
    pub status: Status,
    /// Changes; empty unless the status is [`Repaired`](Status::Repaired).
    pub fixes: Fixes,
    /// Reason why the text is unchanged, for [`Truncated`](Status::Truncated) and [`Refused`](Status::Refused).
    pub reason: Option<Reason>,
    /// Name of the tool in the removed packaging, as in [`Repaired::tool_name`].
    pub tool_name: Option<String>,
}

impl Repairer {
    /// Creates a repairer with the default limits.
    pub fn new() -> Self {
        Self::with(Limits::default())
    }

    /// Creates a repairer with other limits.
    pub fn with(limits: Limits) -> Self {
        Self {
            limits,
            validate: true,
            tool: None,
            state: RepairState::Scanning(Scanner::new(limits)),
            text: String::new(),
            dropped: 0,
            sent: 0,
            room: 0,
        }
    }

    /// Sets whether the result of a repair is validated, and rejected if it is not JSON. Validation is on by default.
    #[must_use]
    pub fn validate(mut self, validate: bool) -> Self {
        self.validate = validate;
        self
    }

    /// Sets the name of the called tool: a text whose packaging names another tool is rejected, since its arguments
    /// belong to another call.
    ///
    /// ```
    /// use tool_repair::{Repairer, Status};
    ///
    /// let mut repairer = Repairer::new().for_tool("delete");
    /// let text = r#"[TOOL_CALLS]web_search[ARGS]{"query": "x"}"#;
    /// assert_eq!(repairer.push(text), "");
    /// let finished = repairer.finish();
    /// assert_eq!((finished.status, &*finished.rest), (Status::Refused, text));
    /// ```
    #[must_use]
    pub fn for_tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// Appends a piece, and returns the text that no repair will change.
    #[must_use = "the returned text is lost otherwise"]
    #[inline]
    pub fn push(&mut self, piece: &str) -> &str {
        // Most pieces of a long text that is not JSON take this branch.
        if let Some(room) = self.room.checked_sub(piece.len()) {
            self.room = room;
            self.text.push_str(piece);
            return "";
        }
        self.take(piece)
    }

    fn take(&mut self, piece: &str) -> &str {
        self.forget();
        let received = self.dropped + self.text.len() + piece.len();
        self.text.push_str(piece);
        if let RepairState::Scanning(scanner) = &mut self.state
            && let Err(deviation) = scanner.scan(piece)
        {
            self.state = RepairState::Deviated(deviation);
            self.text.reserve(USUAL_CALL_SIZE); // a small call needs no reallocation
        }
        self.room = 0;
        let safe = match &self.state {
            RepairState::Scanning(scanner) => scanner.safe(),
            RepairState::Deviated(deviation) => {
                if let Some(reason) = deviation.too_late(received, self.limits) {
                    self.state = RepairState::GivenUp(reason);
                    received
                } else {
                    // `forget` has dropped all unnecessary bytes before this check.
                    if deviation.at <= self.limits.sent || deviation.at == self.dropped {
                        self.room = self.limits.held - (received - deviation.at);
                    }
                    deviation.at
                }
            }
            RepairState::GivenUp(_) => received,
        };
        let from = self.sent - self.dropped;
        self.sent = safe;
        self.text.get(from..safe - self.dropped).unwrap_or_default()
    }

    /// Returns whether the text stopped being JSON, so that the rest is held until the end.
    pub fn is_repairing(&self) -> bool {
        !matches!(self.state, RepairState::Scanning(_))
    }

    /// Returns whether the received text is JSON, and a complete object or list.
    #[cfg(feature = "stream")]
    pub(super) fn closed(&self) -> bool {
        matches!(&self.state, RepairState::Scanning(scanner) if scanner.closed())
    }

    /// Ends the text and returns the held bytes, repaired or unchanged.
    #[must_use = "`rest` is the end of the text, and is lost otherwise"]
    pub fn finish(self) -> Finished {
        self.finish_by(parser::repair)
    }

    fn finish_by(self, parse: impl Parse) -> Finished {
        let (status, reason) = match &self.state {
            RepairState::Scanning(scanner) => match scanner.finish() {
                Ok(()) => (Status::Valid, None),
                Err(reason) => (Status::Truncated, Some(reason)),
            },
            RepairState::GivenUp(reason) => (Status::Refused, Some(reason.clone())),
            RepairState::Deviated(deviation) => {
                let (sent, held) = self.text.split_at(self.sent - self.dropped);
                let sent_kept = (self.sent <= self.limits.sent).then_some(sent);
                let repaired = finalize(held, sent_kept, deviation, self.limits, self.validate, parse);
                let expected = self.tool.as_deref();
                match repaired {
                    Ok(Repair { tool, .. })
                        if expected.is_some_and(|it| is_other_tool(tool.as_deref(), it)) =>
                    {
                        let message =
                            format!("the packaging names another tool: `{}`", tool.unwrap_or_default());
                        (Status::Refused, Some(Reason::new(deviation.at, message)))
                    }
                    Ok(repaired) => {
                        return Finished {
                            rest: repaired.text,
                            status: Status::Repaired,
                            fixes: repaired.fixes,
                            reason: None,
                            tool_name: repaired.tool,
                        };
                    }
                    Err(Failure::Truncated(reason)) => (Status::Truncated, Some(reason)),
                    Err(Failure::Refused(reason)) => (Status::Refused, Some(reason)),
                }
            }
        };
        self.unchanged(status, reason)
    }

    /// Ends a text that was cut off (`finish_reason: "length"`): its status is truncated, and held bytes are returned
    /// unchanged.
    #[must_use = "`rest` is the end of the text, and is lost otherwise"]
    pub fn cut_off(self) -> Finished {
        let end = self.dropped + self.text.len();
        self.unchanged(
            Status::Truncated,
            Some(Reason::new(end, "the text was cut off here")),
        )
    }

    fn unchanged(mut self, status: Status, reason: Option<Reason>) -> Finished {
        self.text.drain(..self.sent - self.dropped);
        self.text.shrink_to_fit();
        Finished {
            rest: self.text,
            status,
            fixes: Fixes::default(),
            reason,
            tool_name: None,
        }
    }

    /// Drops passed bytes if they exceed the limit or are not needed again.
    fn forget(&mut self) {
        let given_up = matches!(self.state, RepairState::GivenUp(_));
        if given_up || self.sent > self.limits.sent {
            // Only white space or a number is held while the text is JSON, so few bytes are moved.
            self.text.drain(..self.sent - self.dropped);
            self.dropped = self.sent;
        }
        if given_up {
            self.text.shrink_to(USUAL_CALL_SIZE);
        }
    }
}

/// Size in bytes that most calls do not exceed.
const USUAL_CALL_SIZE: usize = 1024;

impl Default for Repairer {
    fn default() -> Self {
        Self::new()
    }
}

/// Function that repairs the rest of a text: [`parser::repair`], or a faulty function in tests of the final validation.
trait Parse: FnOnce(&str, Option<&str>, &Deviation, Limits) -> Result<Repair, Failure> {}

impl<F: FnOnce(&str, Option<&str>, &Deviation, Limits) -> Result<Repair, Failure>> Parse for F {}

/// Repairs the rest of a text and checks that the result is JSON.
fn finalize(
    rest: &str,
    sent: Option<&str>,
    deviation: &Deviation,
    limits: Limits,
    validate: bool,
    parse: impl Parse,
) -> Result<Repair, Failure> {
    if let Some(reason) = deviation.too_late(deviation.at + rest.len(), limits) {
        return Err(Failure::Refused(reason));
    }
    let repaired = parse(rest, sent, deviation, limits)?;
    if validate && let Err(found) = continues_as_json(&repaired.text, deviation, limits) {
        let message = format!("the result of the repair is not JSON at byte {found}");
        return Err(Failure::Refused(Reason::new(deviation.found, message)));
    }
    Ok(repaired)
}

/// Validates the text with the replaced rest. The error is the offset of the first byte that is not JSON. No repair is
/// known to fail this validation, which prevents sending a faulty result.
fn continues_as_json(text: &str, deviation: &Deviation, limits: Limits) -> Result<(), usize> {
    let mut scanner = Scanner::resumed(limits, deviation);
    scanner.scan(text).map_err(|wrong| wrong.found)?;
    scanner.finish().map_err(|reason| reason.offset)
}

impl Deviation {
    /// Returns the reason why a text over a limit cannot be repaired; `None` within the limits.
    fn too_late(&self, received: usize, limits: Limits) -> Option<Reason> {
        if let Some(limit) = self.over_limit {
            return Some(Reason::new(self.found, limit));
        }
        (received - self.at > limits.held).then(|| {
            let message = format!("not JSON, and more than {} bytes follow", limits.held);
            Reason::new(self.found, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_faulty_repairs() {
        let limits = Limits::default();
        let deviation = Scanner::new(limits).scan("[{'a': 1}]").unwrap_err();
        assert_eq!(deviation.at, 2);
        assert_eq!(continues_as_json(r#""a": 1}]"#, &deviation, limits), Ok(()));
        assert_eq!(continues_as_json(r#""a": 1]"#, &deviation, limits), Err(8));
        assert_eq!(continues_as_json(r#""a": 01}]"#, &deviation, limits), Err(8));
        assert_eq!(continues_as_json(r#""a": 1}"#, &deviation, limits), Err(9));
        assert_eq!(continues_as_json(r#""a": 1}] x"#, &deviation, limits), Err(11));
    }

    const MISTAKEN: &str = r#""a": 01}"#;

    #[allow(clippy::unnecessary_wraps, reason = "as every parser")]
    fn mistaken(_: &str, _: Option<&str>, _: &Deviation, _: Limits) -> Result<Repair, Failure> {
        Ok(Repair {
            text: MISTAKEN.to_owned(),
            fixes: Fixes::default(),
            tool: None,
        })
    }

    #[test]
    fn does_not_send_faulty_repairs() {
        let text = "{'a': 1}";
        let whole = repair_by(text, Limits::default(), mistaken);
        assert_eq!((whole.status, &*whole.text), (Status::Refused, text));
        let reason = whole.reason.unwrap();
        assert_eq!(
            reason.to_string(),
            "byte 1: the result of the repair is not JSON at byte 7"
        );

        let mut repairer = Repairer::new();
        assert_eq!(repairer.push(text), "{");
        let finished = repairer.clone().finish_by(mistaken);
        assert_eq!((finished.status, &*finished.rest), (Status::Refused, "'a': 1}"));
        assert_eq!(finished.reason, Some(reason));
        let finished = repairer.validate(true).finish_by(mistaken);
        assert_eq!(finished.status, Status::Refused);
    }

    #[test]
    fn skips_validation_if_disabled() {
        let mut repairer = Repairer::new().validate(false);
        assert_eq!(repairer.push("{'a': 1}"), "{");
        let finished = repairer.finish_by(mistaken);
        assert_eq!((finished.status, &*finished.rest), (Status::Repaired, MISTAKEN));
    }

    #[test]
    fn distinguishes_valid_truncated_and_invalid_texts() {
        for (text, status) in [
            (
                r#"{"a": [1, -2.5e3, true, null, "\u00e9\n"], "b": {}}"#,
                Status::Valid,
            ),
            (" {} ", Status::Valid),
            ("17", Status::Valid),
            ("true ", Status::Valid),
            (r#""a" "#, Status::Valid),
            (r#"{"a": [1, 2"#, Status::Truncated),
            (r#"{"a": "b"#, Status::Truncated),
            ("", Status::Truncated),
            (r#"{"a": @}"#, Status::Refused),
        ] {
            assert_eq!(repair(text).status, status, "{text}");
            let mut repairer = Repairer::new();
            let mut whole = String::new();
            for (at, character) in text.char_indices() {
                whole.push_str(repairer.push(&text[at..at + character.len_utf8()]));
            }
            let finished = repairer.finish();
            whole.push_str(&finished.rest);
            assert_eq!((finished.status, &*whole), (status, text));
        }
    }

    #[test]
    fn displays_statuses_in_their_serialized_form() {
        for (status, text) in [
            (Status::Valid, "valid"),
            (Status::Repaired, "repaired"),
            (Status::Truncated, "truncated"),
            (Status::Refused, "refused"),
        ] {
            assert_eq!(serde_json::to_value(status).unwrap(), text);
            assert_eq!((status.as_str(), status.to_string().as_str()), (text, text));
        }
    }

    #[test]
    fn keeps_no_more_than_the_limits() {
        let limits = Limits {
            sent: 1000,
            held: 5000,
            ..Limits::default()
        };
        for (start, more) in [
            ("[", "\"a\", 17, "),
            ("[\"", "text "),
            ("['a', ", "'b', "),
            ("[1,", " "),
            ("[", "["),
        ] {
            let mut repairer = Repairer::with(limits);
            let mut passed = repairer.push(start).len();
            for _ in 0..20_000 {
                passed += repairer.push(more).len();
                assert!(repairer.text.capacity() <= 16_384, "{more}");
            }
            let finished = repairer.finish();
            passed += finished.rest.len();
            assert_eq!(passed, start.len() + 20_000 * more.len(), "{more}");
            assert!(finished.rest.capacity() <= 5000, "{more}");
        }
    }
}
