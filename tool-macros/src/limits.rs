//! A literal default against the limits beside it; other expressions are checked at registration.

use std::fmt::Display;

use quote::ToTokens;
use syn::{Expr, ExprRange, Lit, RangeLimits, UnOp};

use crate::attr::ArgAttr;
use crate::errors::Errors;

pub(crate) fn check(arg: &ArgAttr, errors: &Errors) {
    let limits = [("range", &arg.range), ("length", &arg.length)];
    for (key, range) in limits {
        if let Some(range) = range
            .as_ref()
            .filter(|range| Limits::of(&range.value).are_empty())
        {
            errors.over(&range.value, format_args!("no value is in this `{key}`"));
            return;
        }
    }
    let Some(default) = &arg.default else { return };
    let Some(literal) = Literal::of(&default.value) else {
        return;
    };
    let refuse = |limit: &dyn Display| {
        errors.over(
            &default.value,
            format_args!("the default is outside of its own {limit}"),
        );
    };
    if let Some(range) = &arg.range
        && literal
            .number()
            .is_some_and(|number| !Limits::of(&range.value).hold(number))
    {
        refuse(&written("range", &range.value));
    }
    if let (Some(length), Literal::Text(text)) = (&arg.length, &literal) {
        #[allow(clippy::cast_precision_loss, reason = "no default is that long")]
        if !Limits::of(&length.value).hold(text.chars().count() as f64) {
            refuse(&written("length", &length.value));
        }
    }
    if let (Some(_), Literal::Text(text)) = (&arg.not_blank, &literal)
        && text.trim().is_empty()
    {
        errors.over(
            &default.value,
            "the default is blank, and `not_blank` refuses that",
        );
    }
    if let Some(values) = &arg.values {
        let known: Option<Vec<Literal>> = values.value.elems.iter().map(Literal::of).collect();
        if known.is_some_and(|known| !known.contains(&literal)) {
            refuse(&"`values`");
        }
    }
}

fn written(key: &str, range: &ExprRange) -> String {
    let range: String = range
        .to_token_stream()
        .into_iter()
        .map(|token| token.to_string())
        .collect();
    format!("`{key} = {range}`")
}

#[derive(PartialEq)]
enum Literal {
    Number(f64),
    Text(String),
    Truth(bool),
}

impl Literal {
    fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Int(int) => int.base10_digits().parse().ok().map(Self::Number),
                Lit::Float(float) => float.base10_digits().parse().ok().map(Self::Number),
                Lit::Str(text) => Some(Self::Text(text.value())),
                Lit::Bool(truth) => Some(Self::Truth(truth.value)),
                _ => None,
            },
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => Self::of(&unary.expr)?
                .number()
                .map(|number| Self::Number(-number)),
            Expr::Paren(paren) => Self::of(&paren.expr),
            Expr::Group(group) => Self::of(&group.expr),
            _ => None,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// The literal ends of a range; an end that is no literal limits nothing here.
struct Limits {
    least: Option<f64>,
    most: Option<f64>,
    most_included: bool,
}

impl Limits {
    fn of(range: &ExprRange) -> Self {
        let end = |end: &Option<Box<Expr>>| end.as_deref().and_then(Literal::of)?.number();
        Self {
            least: end(&range.start),
            most: end(&range.end),
            most_included: matches!(range.limits, RangeLimits::Closed(_)),
        }
    }

    fn hold(&self, number: f64) -> bool {
        self.least.is_none_or(|least| least <= number)
            && self
                .most
                .is_none_or(|most| number < most || (self.most_included && number <= most))
    }

    fn are_empty(&self) -> bool {
        match (self.least, self.most) {
            (Some(least), Some(most)) => most < least || (most <= least && !self.most_included),
            _ => false,
        }
    }
}
