//! Keys of the attributes, and their common grammar: `key`, `key = value`, separated by commas.

use proc_macro2::{Span, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::spanned::Spanned as _;
use syn::{Expr, Ident, Lit, LitBool, LitStr, Token};

use crate::doc::Text;
use crate::errors::Errors;
use crate::suggest;

/// Keys of an attribute.
pub(crate) trait Key: Copy + PartialEq + 'static {
    const ATTRIBUTE: &'static str;
    /// Position of the attribute.
    const PLACE: &'static str;
    const ALL: &'static [Self];

    fn name(self) -> &'static str;

    fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|key| key.name()).collect()
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|key| key.name() == name)
    }
}

macro_rules! keys {
    ($Key:ident of $attribute:literal on $place:literal { $($Variant:ident = $name:literal,)* }) => {
        #[derive(Clone, Copy, PartialEq)]
        pub(crate) enum $Key {
            $($Variant,)*
        }

        impl Key for $Key {
            const ATTRIBUTE: &'static str = $attribute;
            const PLACE: &'static str = $place;
            const ALL: &'static [Self] = &[$(Self::$Variant,)*];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)*
                }
            }
        }
    };
}

keys! {
    ToolKey of "tool" on "the function" {
        Name = "name",
        Description = "description",
        RenameAll = "rename_all",
        Strict = "strict",
        Title = "title",
        ReadOnly = "read_only",
        Destructive = "destructive",
        Idempotent = "idempotent",
        OpenWorld = "open_world",
        Deferred = "deferred",
        Timeout = "timeout",
        Errors = "errors",
        Causes = "causes",
        Blocking = "blocking",
        InputExamples = "input_examples",
        Crate = "crate",
    }
}

keys! {
    ArgKey of "arg" on "a parameter" {
        Name = "name",
        Description = "description",
        Default = "default",
        Range = "range",
        Length = "length",
        Pattern = "pattern",
        Values = "values",
        NotBlank = "not_blank",
        Example = "example",
        Strict = "strict",
        CaseSensitive = "case_sensitive",
    }
}

keys! {
    ToolsKey of "tools" on "an `impl` block" {
        Crate = "crate",
    }
}

/// A key and the tokens that follow it.
pub(crate) struct Entry<'a> {
    key: &'a Ident,
    input: ParseStream<'a>,
}

/// Parses the entries of an attribute and calls `take` for each entry. A mistake in one entry does not hide mistakes in
/// other entries. Returns whether a rejected entry may be a description without its key.
pub(crate) fn parse_entries<K: Key>(
    input: ParseStream<'_>,
    errors: &Errors,
    mut take: impl FnMut(K, &Entry<'_>) -> syn::Result<()>,
) -> bool {
    let mut seen: Vec<K> = Vec::new();
    let mut describes = false;
    let mut rejected = false;
    while !input.is_empty() {
        if std::mem::take(&mut rejected) && input.peek(Lit) {
            // Skips the rest of a rejected value: `values = "a", "b"`.
            skip_entry(input);
            let _: Option<Token![,]> = input.parse().ok();
            rejected = true;
            continue;
        }
        describes |= input.peek(LitStr) || looks_like_description::<K>(input);
        if let Err(error) = entry(input, &mut seen, &mut take) {
            errors.push(error);
            skip_entry(input);
            rejected = true;
        }
        // Skips the comma, unless the attribute ends.
        let _: Option<Token![,]> = input.parse().ok();
    }
    describes
}

fn entry<K: Key>(
    input: ParseStream<'_>,
    seen: &mut Vec<K>,
    take: &mut impl FnMut(K, &Entry<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    let word = parse_word::<K>(input)?;
    let key = K::from_name(&word.to_string()).ok_or_else(|| unknown::<K>(&word))?;
    if seen.contains(&key) {
        return Err(syn::Error::new(
            word.span(),
            format!("duplicate key `{}`", key.name()),
        ));
    }
    seen.push(key);
    let entry = Entry { key: &word, input };
    take(key, &entry)?;
    end_of_entry(&entry)
}

/// Returns whether the next key is a misspelt `description`.
fn looks_like_description<K: Key>(input: ParseStream<'_>) -> bool {
    let next = input.fork().call(Ident::parse_any);
    next.is_ok_and(|word| {
        let word = word.to_string();
        K::from_name(&word).is_none() && suggest::closest(&word, &K::names()) == Some("description")
    })
}

fn parse_word<K: Key>(input: ParseStream<'_>) -> syn::Result<Ident> {
    let span = input.span();
    Ident::parse_any(input).map_err(|_| {
        let message = match input.parse::<LitStr>() {
            Ok(text) if K::from_name("description").is_some() => {
                let text = text.token();
                format!("missing key of this text; write `description = {text}` or `name = {text}`")
            }
            _ => format!(
                "expected a key of `#[{}(..)]`: one of `{}`",
                K::ATTRIBUTE,
                K::names().join("`, `")
            ),
        };
        syn::Error::new(span, message)
    })
}

fn unknown<K: Key>(key: &Ident) -> syn::Error {
    let written = key.to_string();
    let attribute = K::ATTRIBUTE;
    let instead = suggest::alternative(&written, attribute)
        .map(str::to_owned)
        .or_else(|| belongs_to::<K, ToolKey>(&written))
        .or_else(|| belongs_to::<K, ArgKey>(&written))
        .or_else(|| suggest::closest(&written, &K::names()).map(|word| format!("did you mean `{word}`?")))
        .unwrap_or_else(|| format!("expected {}", one_of(&K::names())));
    syn::Error::new(
        key.span(),
        format!("unknown key `{key}` in `#[{attribute}]`; {instead}"),
    )
}

fn one_of(names: &[&str]) -> String {
    let one_of = if names.len() == 1 { "" } else { "one of " };
    format!("{one_of}`{}`", names.join("`, `"))
}

/// Returns a hint if another attribute supports the key; `None` otherwise.
fn belongs_to<K: Key, Other: Key>(key: &str) -> Option<String> {
    let is_other = K::ATTRIBUTE != Other::ATTRIBUTE && Other::from_name(key).is_some();
    is_other.then(|| format!("it belongs to `#[{}(..)]` on {}", Other::ATTRIBUTE, Other::PLACE))
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

    /// Parses `key` or `key = true`.
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
                format!(
                    "expected `true` or `false`; write `{0}` or `{0} = false`",
                    self.key
                ),
            )
        })
    }

    /// Parses `key = ".."`; `form` is an example for the error message.
    pub(crate) fn literal(&self, form: &str) -> syn::Result<LitStr> {
        self.equals(form)?;
        let span = self.input.span();
        self.input
            .parse()
            .map_err(|_| syn::Error::new(span, format!("expected a string; write `{} = {form}`", self.key)))
    }

    /// Parses `key = ".."`, or an expression that the compiler evaluates to a string.
    pub(crate) fn text(&self) -> syn::Result<Text> {
        let expr = self.expr("\"..\"")?;
        match &ungrouped(expr) {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Str(text) if text.value().trim().is_empty() => Err(syn::Error::new(
                    text.span(),
                    format!("empty {0}; write one, or remove `{0}`", self.key),
                )),
                Lit::Str(text) => Ok(Text::Literal(text.clone())),
                other => Err(syn::Error::new(
                    other.span(),
                    format!("expected a string; write `{} = \"..\"`", self.key),
                )),
            },
            Expr::Macro(call) if call.mac.path.is_ident("format") => Err(syn::Error::new(
                call.mac.path.span(),
                format!(
                    "`{}` must be a constant; write `concat!(..)` or the name of a `const`",
                    self.key
                ),
            )),
            computed => Ok(Text::Computed(quote::quote!(#computed))),
        }
    }

    /// Parses `key = <form>`, any expression.
    pub(crate) fn expr(&self, form: &str) -> syn::Result<Expr> {
        self.equals(form)?;
        let expr: syn::Result<Expr> = self.input.parse();
        expr.map_err(|error| {
            syn::Error::new(
                error.span(),
                format!("expected a value; write `{} = {form}`", self.key),
            )
        })
    }

    /// Parses the `=` and checks that a value follows.
    pub(crate) fn equals(&self, form: &str) -> syn::Result<()> {
        let equals: Option<Token![=]> = self.input.parse().ok();
        if equals.is_none() || self.input.is_empty() || self.input.peek(Token![,]) {
            return Err(syn::Error::new(
                self.key.span(),
                format!("missing value of `{0}`; write `{0} = {form}`", self.key),
            ));
        }
        Ok(())
    }

    pub(crate) fn input(&self) -> ParseStream<'_> {
        self.input
    }
}

/// Removes the invisible group around an `expr` from a `macro_rules!` macro.
pub(crate) fn ungrouped(expr: Expr) -> Expr {
    match expr {
        Expr::Group(group) => ungrouped(*group.expr),
        other => other,
    }
}
