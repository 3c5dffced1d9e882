//! `key`, `key = value`, `key, key`: the grammar that `#[tool(..)]` and `#[arg(..)]` share.

use proc_macro2::{Span, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::spanned::Spanned as _;
use syn::{Expr, Ident, Lit, LitBool, LitStr, Token};

use crate::doc::Text;
use crate::errors::Errors;
use crate::suggest;

pub(crate) const TOOL_KEYS: &[&str] = &[
    "name",
    "description",
    "rename_all",
    "strict",
    "title",
    "read_only",
    "destructive",
    "idempotent",
    "timeout",
    "errors",
    "causes",
    "input_examples",
    "crate",
];

pub(crate) const ARG_KEYS: &[&str] = &[
    "name",
    "description",
    "default",
    "range",
    "length",
    "pattern",
    "values",
    "not_blank",
    "example",
    "strict",
    "case_sensitive",
];

/// Each attribute, its keys, and where it stands.
const KEYS: [(&str, &[&str], &str); 2] = [
    ("tool", TOOL_KEYS, "the function"),
    ("arg", ARG_KEYS, "a parameter"),
];

/// A key with what follows it.
pub(crate) struct Entry<'a> {
    key: &'a Ident,
    input: ParseStream<'a>,
}

/// Gives each key to `take`; a mistake in one does not hide those in the others. Tells whether what was refused may
/// have been meant for the description.
pub(crate) fn each(
    input: ParseStream<'_>,
    of: &str,
    known: &[&'static str],
    errors: &Errors,
    mut take: impl FnMut(&'static str, &Entry<'_>) -> syn::Result<()>,
) -> bool {
    let mut seen: Vec<&str> = Vec::new();
    let mut describes = false;
    let mut refused = false;
    while !input.is_empty() {
        if std::mem::take(&mut refused) && input.peek(Lit) {
            // More of the value that was refused: `values = "a", "b"`.
            skip_entry(input);
            let _: Option<Token![,]> = input.parse().ok();
            refused = true;
            continue;
        }
        describes |= input.peek(LitStr) || meant_to_describe(input, known);
        let result = key(input, of, known).and_then(|key| match known.iter().find(|word| key == **word) {
            None => Err(unknown(&key, of, known)),
            Some(word) if seen.contains(word) => {
                Err(syn::Error::new(key.span(), format!("`{word}` is given twice")))
            }
            Some(word) => {
                seen.push(word);
                let entry = Entry { key: &key, input };
                take(word, &entry)?;
                end_of_entry(&entry)
            }
        });
        if let Err(error) = result {
            errors.push(error);
            skip_entry(input);
            refused = true;
        }
        // Either at the end or at a comma.
        let _: Option<Token![,]> = input.parse().ok();
    }
    describes
}

/// Whether a misspelt `description` is next.
fn meant_to_describe(input: ParseStream<'_>, known: &[&str]) -> bool {
    let next = input.fork().call(Ident::parse_any);
    next.is_ok_and(|key| suggest::meant(&key.to_string(), known) == Some("description"))
}

fn key(input: ParseStream<'_>, of: &str, known: &[&str]) -> syn::Result<Ident> {
    let span = input.span();
    Ident::parse_any(input).map_err(|_| {
        let message = match input.parse::<LitStr>() {
            Ok(text) if known.contains(&"description") => {
                let text = text.token();
                format!("a text needs its key; write `description = {text}` or `name = {text}`")
            }
            _ => format!("expected a key of `#[{of}(..)]`; it has `{}`", known.join("`, `")),
        };
        syn::Error::new(span, message)
    })
}

fn unknown(key: &Ident, of: &str, known: &[&str]) -> syn::Error {
    let written = key.to_string();
    let way = suggest::otherwise(&written, of).map(str::to_owned);
    let instead = match (
        way.or_else(|| elsewhere(&written, of)),
        suggest::meant(&written, known),
    ) {
        (Some(way), _) => way,
        (None, Some(word)) => format!("did you mean `{word}`?"),
        (None, None) => format!("it has `{}`", known.join("`, `")),
    };
    let message = format!("`#[{of}]` has no `{key}`; {instead}");
    syn::Error::new(key.span(), message)
}

/// Where a key belongs that another attribute has.
fn elsewhere(key: &str, of: &str) -> Option<String> {
    let has = |(attribute, keys, place): &(&str, &[&str], &str)| {
        (*attribute != of && keys.contains(&key))
            .then(|| format!("it belongs on {place}, into `#[{attribute}(..)]`"))
    };
    KEYS.iter().find_map(has)
}

fn end_of_entry(entry: &Entry<'_>) -> syn::Result<()> {
    if entry.input.is_empty() || entry.input.peek(Token![,]) {
        return Ok(());
    }
    Err(entry
        .input
        .error(format_args!("expected `,` after `{}`", entry.key)))
}

fn skip_entry(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        let _: Result<TokenTree, _> = input.parse();
    }
}

impl Entry<'_> {
    pub(crate) fn span(&self) -> Span {
        self.key.span()
    }

    /// `key` or `key = true`.
    pub(crate) fn flag(&self) -> syn::Result<bool> {
        if !self.input.peek(Token![=]) {
            return Ok(true);
        }
        let _: Token![=] = self.input.parse()?;
        let span = self.input.span();
        let flag: Result<LitBool, _> = self.input.parse();
        flag.map(|flag| flag.value).map_err(|_| {
            syn::Error::new(
                span,
                format!("`{0}` is a flag; write `{0}` or `{0} = false`", self.key),
            )
        })
    }

    /// `key = ".."`; `form` shows what such a text looks like.
    pub(crate) fn literal(&self, form: &str) -> syn::Result<LitStr> {
        self.equals(form)?;
        let span = self.input.span();
        self.input
            .parse()
            .map_err(|_| syn::Error::new(span, format!("expected a text; write `{} = {form}`", self.key)))
    }

    /// `key = ".."`, or an expression for a text.
    pub(crate) fn text(&self) -> syn::Result<Text> {
        let expr = self.expr("\"..\"")?;
        match &ungrouped(expr) {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Str(text) if text.value().trim().is_empty() => Err(syn::Error::new(
                    text.span(),
                    format!("the {0} is empty; write one, or remove `{0}`", self.key),
                )),
                Lit::Str(text) => Ok(Text::Known(text.clone())),
                other => Err(syn::Error::new(
                    other.span(),
                    format!("expected a text; write `{} = \"..\"`", self.key),
                )),
            },
            Expr::Macro(call) if call.mac.path.is_ident("format") => Err(syn::Error::new(
                call.mac.path.span(),
                format!(
                    "the {} is fixed when this is compiled; write `concat!(..)` or a constant",
                    self.key
                ),
            )),
            computed => Ok(Text::Computed(quote::quote!(#computed))),
        }
    }

    /// `key = <form>`, any expression.
    pub(crate) fn expr(&self, form: &str) -> syn::Result<Expr> {
        self.equals(form)?;
        let expr: syn::Result<Expr> = self.input.parse();
        expr.map_err(|error| {
            syn::Error::new(
                error.span(),
                format!("expected a value here; write `{} = {form}`", self.key),
            )
        })
    }

    /// Takes the `=`, and makes sure that something follows.
    pub(crate) fn equals(&self, form: &str) -> syn::Result<()> {
        let equals: Option<Token![=]> = self.input.parse().ok();
        if equals.is_none() || self.input.is_empty() || self.input.peek(Token![,]) {
            return Err(syn::Error::new(
                self.key.span(),
                format!("`{0}` needs a value; write `{0} = {form}`", self.key),
            ));
        }
        Ok(())
    }

    pub(crate) fn input(&self) -> ParseStream<'_> {
        self.input
    }
}

/// What a macro of the user's passed on as an `expr`.
pub(crate) fn ungrouped(expr: Expr) -> Expr {
    match expr {
        Expr::Group(group) => ungrouped(*group.expr),
        other => other,
    }
}
