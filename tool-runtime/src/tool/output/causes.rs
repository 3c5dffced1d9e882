//! Errors of tools: their texts for the model, and their causes, which are logged.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::iter;

use crate::tool::tool_error::Retryable;

/// An error with a text for the model.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "not `Display`, so the model would have nothing to read",
    note = "implement `std::fmt::Display` for it, or return a `String` or a `tool_runtime::ToolError`"
)]
pub trait ErrorText {
    /// Returns the text for the model.
    fn text(&self) -> String;

    /// Returns the causes that `text`, the text of the error, does not contain.
    fn causes(&self, text: &str) -> String;

    /// Returns whether the error is transient: the error or one of its sources is a
    /// [`ToolError::retry`](crate::tool::tool_error::ToolError::retry).
    fn is_retryable(&self) -> bool;
}

/// Implementation for every `Display` type. The causes are the sources of a boxed error, or the additional text of
/// `{:#}` (as for `anyhow::Error`).
#[diagnostic::do_not_recommend]
impl<E: fmt::Display + 'static> ErrorText for E {
    fn text(&self) -> String {
        self.to_string()
    }

    fn causes(&self, text: &str) -> String {
        match boxed(self) {
            Some(error) => sources(error, text),
            None => alternate(&format!("{self:#}"), text),
        }
    }

    fn is_retryable(&self) -> bool {
        match boxed(self) {
            Some(error) => is_retryable(error),
            None => has_retryable_cause(&format!("{self:#}"), &self.text()),
        }
    }
}

/// Returns the error if it is a boxed [`Error`].
fn boxed(error: &dyn Any) -> Option<&(dyn Error + 'static)> {
    if let Some(error) = error.downcast_ref::<Box<dyn Error + Send + Sync>>() {
        return Some(&**error);
    }
    error.downcast_ref::<Box<dyn Error>>().map(|error| &**error)
}

/// Returns whether an error or one of its sources is a [`ToolError::retry`](crate::tool::tool_error::ToolError::retry).
fn is_retryable(error: &(dyn Error + 'static)) -> bool {
    iter::successors(Some(error), |&error| error.source())
        .take(MAX_CAUSES)
        .any(<dyn Error>::is::<Retryable>)
}

/// Returns whether `alternate`, the text of `{:#}`, ends with a transient cause. The text is compared, since an
/// `anyhow::Error` does not implement [`Error`], and its type is unknown here.
fn has_retryable_cause(alternate: &str, text: &str) -> bool {
    strip_text(text, alternate)
        .and_then(|causes| causes.strip_suffix(Retryable::TEXT))
        .is_some_and(|before| before.is_empty() || before.ends_with(": "))
}

/// An [`Error`], whose causes are its `source()`s.
#[derive(Debug)]
pub struct WithSources<E>(pub(crate) E);

impl<E: Error + 'static> ErrorText for WithSources<E> {
    fn text(&self) -> String {
        self.0.to_string()
    }

    fn causes(&self, text: &str) -> String {
        sources(&self.0, text)
    }

    fn is_retryable(&self) -> bool {
        is_retryable(&self.0)
    }
}

/// Return type of a function that can fail.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no causes to show",
    label = "`causes` is for a tool that returns a `Result`",
    note = "return a `Result`, or remove `causes`"
)]
pub trait Fallible {}

impl<T, E> Fallible for Result<T, E> {}

/// Error type of handlers of dynamic tools. The error must convert into a boxed [`Error`], since `Display` gives no access
/// to the sources.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a dynamic tool's handler",
    label = "neither a `std::error::Error` that is `Send` and `Sync` nor a string",
    note = "return a `String`: `.map_err(|error| error.to_string())`"
)]
pub trait HandlerError: Into<Box<dyn Error + Send + Sync>> {}

#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn Error + Send + Sync>>> HandlerError for E {}

/// Maximum number of causes, in case a chain is cyclic.
const MAX_CAUSES: usize = 32;

/// Returns the texts of the error's sources as `cause: cause`. A source is omitted if the chain already contains its text,
/// since many errors include the text of their source.
fn sources(error: &dyn Error, text: &str) -> String {
    let chain = iter::successors(error.source(), |&error| error.source());
    let mut chain_text = text.to_owned();
    let causes = chain.take(MAX_CAUSES).filter(|error| !error.is::<Retryable>());
    for cause in causes.map(ToString::to_string) {
        if !mentions(&chain_text, &cause) {
            chain_text.push_str(": ");
            chain_text.push_str(&cause);
        }
    }
    strip_text(text, &chain_text).unwrap_or_default().to_owned()
}

/// Returns the causes from the text of `{:#}`, if it continues the text of `{}` as a chain: `text: cause: cause`.
fn alternate(alternate: &str, text: &str) -> String {
    let alternate = if has_retryable_cause(alternate, text) {
        let causes = alternate.strip_suffix(Retryable::TEXT).unwrap_or(alternate);
        causes.strip_suffix(": ").unwrap_or(causes)
    } else {
        alternate
    };
    match strip_text(text, alternate) {
        Some(causes) if !mentions(text, causes) => without_repetitions(causes, text),
        _ => String::new(),
    }
}

/// Returns whether a text contains a cause as whole words: `row 10` does not contain `1`.
fn mentions(text: &str, cause: &str) -> bool {
    let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let mut places = text.match_indices(cause);
    cause.is_empty()
        || places.any(|(start, _)| {
            let (before, rest) = text.split_at(start);
            let after = rest.strip_prefix(cause).unwrap_or_default();
            !is_word(before.chars().next_back()) && !is_word(after.chars().next())
        })
}

/// Returns the part of `chain` after `text: `.
fn strip_text<'a>(text: &str, chain: &'a str) -> Option<&'a str> {
    chain.strip_prefix(text)?.strip_prefix(": ")
}

/// Returns the causes without immediate repetitions: `text: b: b` becomes `text: b`, `text: b: c: b: c` becomes `text: b: c`.
fn without_repetitions(causes: &str, text: &str) -> String {
    let mut links: Vec<&str> = text.split(": ").collect();
    let own_links = links.len();
    for link in causes.splitn(2 * MAX_CAUSES, ": ") {
        links.push(link);
        let longest = (links.len() / 2).min(links.len() - own_links);
        let repeats = |length: &usize| {
            let (before, last) = links.split_at(links.len() - length);
            before.ends_with(last)
        };
        if let Some(length) = (1..=longest).find(repeats) {
            links.truncate(links.len() - length);
        }
    }
    links.split_off(own_links).join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chain of errors: each error is the source of the previous error.
    #[derive(Debug)]
    struct Chain(&'static [&'static str], Option<Box<Chain>>);

    impl Chain {
        fn new(texts: &'static [&'static str]) -> Self {
            let rest = texts.get(1..).filter(|rest| !rest.is_empty());
            Self(texts, rest.map(|rest| Box::new(Self::new(rest))))
        }
    }

    impl fmt::Display for Chain {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0.first().copied().unwrap_or_default())
        }
    }

    impl Error for Chain {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|source| source as &dyn Error)
        }
    }

    /// Error with the format of `anyhow::Error`: `{}` shows the first text, `{:#}` shows all texts.
    struct Any(&'static [&'static str]);

    impl fmt::Display for Any {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let shown = if f.alternate() { self.0 } else { &self.0[..1] };
            f.write_str(&shown.join(": "))
        }
    }

    const CHAINS: [(&[&str], &str); 14] = [
        (&["a"], ""),
        (&["a", "b", "c"], "b: c"),
        // `#[error("a: {0}")]`, once and twice.
        (&["a: b", "b"], ""),
        (&["a: b: c", "b: c", "c"], ""),
        (&["a", "b: c", "c"], "b: c"),
        (&["a", "b: c: d", "c: d", "d", "e"], "b: c: d: e"),
        // `#[error(transparent)]`.
        (&["a", "a", "b"], "b"),
        (&["a: a", "b"], "b"),
        (&["a", "left: 1, right: 1", "b"], "left: 1, right: 1: b"),
        // The text contains the words of the cause by chance.
        (&["row 10 is bad", "1", "disk full"], "1: disk full"),
        (&["invalid input", "in"], "in"),
        (&["cannot open list 12", "2", "list 1"], "2: list 1"),
        (&["größer", "größe"], "größe"),
        (&["row 10: 1 is bad", "1 is bad", "disk full"], "disk full"),
    ];

    #[test]
    fn lists_each_source_once() {
        for (chain, causes) in CHAINS {
            let error = WithSources(Chain::new(chain));
            assert_eq!(error.causes(&error.text()), causes, "{chain:?}");
            let error: Box<dyn Error + Send + Sync> = Box::new(error.0);
            assert_eq!(error.causes(&error.to_string()), causes, "{chain:?}");
            let error: Box<dyn Error> = error;
            assert_eq!(error.causes(&error.to_string()), causes, "{chain:?}");
        }
    }

    #[test]
    fn lists_each_cause_of_the_alternate_form_once() {
        for (chain, causes) in CHAINS {
            let error = Any(chain);
            assert_eq!(error.causes(&error.text()), causes, "{chain:?}");
        }
    }

    #[test]
    fn omits_causes_contained_in_the_text() {
        let error = Chain::new(&["a (b)", "b"]);
        assert_eq!(WithSources(error).causes("a (b)"), "");
        let error = Any(&["a (b)", "b"]);
        assert_eq!(error.causes("a (b)"), "");
        let error = Chain::new(&["a", "", "b"]);
        assert_eq!(WithSources(error).causes("a"), "b");
    }

    #[test]
    fn ignores_other_alternate_forms() {
        let pretty = serde_json::json!({ "a": [1] });
        assert_eq!(pretty.causes(&pretty.text()), "");
        assert_eq!("a: b".causes("a: b"), "");
        assert_eq!(String::from("a").causes("a"), "");
    }

    /// Error whose source is the error itself.
    #[derive(Debug)]
    struct SelfSourced;

    impl fmt::Display for SelfSourced {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("on and on")
        }
    }

    impl Error for SelfSourced {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(self)
        }
    }

    #[test]
    fn terminates_on_cyclic_source_chains() {
        assert_eq!(WithSources(SelfSourced).causes("failed"), "on and on");
    }
}
