//! What a model reads: what was wrong with a value, and what to send instead.

use std::fmt::{self, Display, Write as _};

use super::node::Node;
use super::rules::SIXTY_FOUR_BITS;
use crate::issue::{Code, Issue, echo};
use crate::schema::bounds::{Bound, NumberLimits};
use crate::schema::shape::{Form, FormId, Kind, Shape, Values};
use crate::schema::types::Types;

/// A value was changed on its way.
pub(crate) fn changed(code: Code, sent: &Node<'_>, taken: &Node<'_>) -> Issue {
    Issue::warning(code, "", format!("{} was read as {}", shown(sent), shown(taken)))
}

/// A value of the wrong kind.
pub(crate) fn unreadable(code: Code, sent: &Node<'_>, wanted: impl Display) -> Issue {
    refused(
        code,
        sent,
        format!("{} cannot be taken; send {wanted}", shown(sent)),
    )
}

/// None of the allowed values.
pub(crate) fn not_among(values: &Values, sent: &Node<'_>) -> Issue {
    let message = format!("{} is not allowed; send {}", shown(sent), Listed(values));
    refused(Code::EnumOutOfRange, sent, message).about(&subject(sent))
}

/// A limit that does not hold.
pub(crate) fn violated(sent: &Node<'_>, limit: impl Display) -> Issue {
    refused(
        Code::ConstraintViolated,
        sent,
        format!("{} is not allowed; send {limit}", shown(sent)),
    )
}

/// A number that no float can stand for.
pub(crate) fn infinite(sent: &Node<'_>) -> Issue {
    unreadable(
        Code::UnsupportedNumberLiteral,
        sent,
        "a number that fits into 64 bits",
    )
}

/// An integer that the type cannot hold.
pub(crate) fn out_of_range(sent: &Node<'_>, limits: Option<&NumberLimits>) -> Issue {
    let mut limits = limits.cloned().unwrap_or_default();
    let width = limits.width.unwrap_or(SIXTY_FOUR_BITS);
    // What the schema says is narrower than what the type can hold.
    if limits.min.is_none() && limits.above.is_none() {
        limits.min = Some(Bound::of(width.least));
    }
    if limits.max.is_none() && limits.below.is_none() {
        limits.max = Some(Bound::of(width.most));
    }
    let message = format!("{} does not fit; send an integer{}", shown(sent), Range(&limits));
    refused(Code::IntegerOutOfRange, sent, message)
}

/// A value that is one of several of several …
pub(crate) fn too_composed() -> Issue {
    let message = "too many unions stand in one another from the top to here; send a flatter value";
    Issue::error(Code::TooDeep, "", message)
}

pub(crate) fn null(wanted: impl Display) -> Issue {
    refused(
        Code::NullNotAllowed,
        &Node::Null,
        format!("null is not allowed here; send {wanted}"),
    )
}

pub(crate) fn missing(name: &str, wanted: impl Display) -> Issue {
    Issue::error(
        Code::MissingRequired,
        "",
        format!("required and not sent; send {wanted}"),
    )
    .about(name)
}

/// A key that nothing takes.
pub(crate) fn unknown<'n>(
    code: Code,
    name: &str,
    mut known: impl Iterator<Item = &'n str>,
    denied: bool,
) -> Issue {
    let mut message = String::from("nothing of this name is known");
    for (place, name) in known.by_ref().take(MOST_LISTED).enumerate() {
        message.push_str(if place == 0 { "; known are " } else { ", " });
        let _ = write!(message, "`{}`", echo(name));
    }
    if known.next().is_some() {
        message.push_str(" and more");
    }
    let issue = if denied {
        Issue::error(code, "", message)
    } else {
        Issue::warning(code, "", message)
    };
    issue.about(name)
}

pub(crate) fn renamed(sent: &str, name: &str) -> Issue {
    Issue::warning(
        Code::ParameterNameNormalized,
        "",
        format!(
            "`{}` was read as `{}`, the declared spelling",
            echo(sent),
            echo(name)
        ),
    )
}

pub(crate) fn repeated(name: &str) -> Issue {
    Issue::warning(
        Code::DuplicateKey,
        "",
        "this key came more than once, the last value was taken; send it once",
    )
    .about(name)
}

/// An error about a value that was sent.
pub(crate) fn refused(
    code: Code,
    sent: &Node<'_>,
    message: impl Into<std::borrow::Cow<'static, str>>,
) -> Issue {
    Issue::error(code, "", message).sent_as(&subject(sent))
}

/// A value as the subject of a code: a string as its text, everything else as its JSON.
fn subject(sent: &Node<'_>) -> String {
    match sent {
        Node::Text(text) => echo(text).into_owned(),
        other => other.preview(),
    }
}

/// A value in a message: its JSON, cut.
pub(crate) fn shown(node: &Node<'_>) -> String {
    echo(&node.preview()).into_owned()
}

/// What a form wants: `an integer from 1 to 100`.
pub(crate) struct Wanted<'s>(pub(crate) &'s Shape, pub(crate) FormId);

impl Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = self.0.form(self.1);
        match &form.kind {
            Kind::Plain(plain) => {
                if let Some(values) = &plain.values {
                    return Listed(values).fmt(f);
                }
                types(form).fmt(f)?;
                match &plain.number {
                    Some(limits) if form.types.overlaps(Types::NUMBER) => Range(limits).fmt(f),
                    _ => Ok(()),
                }
            }
            Kind::Free | Kind::Alternatives(_) | Kind::Parts(_) => types(form).fmt(f),
        }
    }
}

/// The types of a form without `null`, unless that is all.
fn types(form: &Form) -> Types {
    match form.types.without(Types::NULL) {
        Types::NONE => form.types,
        other => other,
    }
}

/// ` from 1 to 100`, when there are limits.
pub(crate) struct Range<'a>(pub(crate) &'a NumberLimits);

impl Display for Range<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = [
            (" from ", &self.0.min),
            (" greater than ", &self.0.above),
            (if self.0.min.is_some() { " to " } else { " up to " }, &self.0.max),
            (" less than ", &self.0.below),
            (" that is a multiple of ", &self.0.multiple_of),
        ];
        for (word, bound) in bounds {
            if let Some(bound) = bound {
                write!(f, "{word}{}", bound.text)?;
            }
        }
        Ok(())
    }
}

/// `one of "a", "b"`.
pub(crate) struct Listed<'a>(pub(crate) &'a Values);

impl Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = self
            .0
            .texts
            .iter()
            .map(|text| Node::Text((&**text).into()).preview());
        let others = self
            .0
            .others
            .iter()
            .map(|value| Node::from_value(value).preview());
        let count = self.0.texts.len() + self.0.others.len();
        if count > 1 {
            f.write_str("one of ")?;
        }
        for (place, value) in texts.chain(others).take(MOST_LISTED).enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{}", echo(&value))?;
        }
        if count > MOST_LISTED {
            f.write_str(" and more")?;
        }
        Ok(())
    }
}

/// How many names or values a message lists.
const MOST_LISTED: usize = 32;
