//! Conversion of values in attributes into the parameter's type.

use std::borrow::Cow;
use std::path::PathBuf;

/// Converts a value of `default`, `values` or `example` into the parameter's type.
///
/// `Into` does not suffice: `100.into()` is not a `u32`.
#[diagnostic::on_unimplemented(
    message = "mismatched types: `{Self}` cannot be converted into a parameter of type `{T}`",
    label = "expected `{T}`",
    note = "write a value of that type: `1.0` for a float, `\"..\"` for a string, `Name::Variant` for an enum, `[a, b]` for a list, `Type::from(..)` for many other types"
)]
pub trait IntoParam<T> {
    /// Converts the value into the parameter's type.
    fn into_param(self) -> T;
}

#[diagnostic::do_not_recommend]
impl<T> IntoParam<T> for T {
    fn into_param(self) -> T {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<T> IntoParam<Option<T>> for T {
    fn into_param(self) -> Option<T> {
        Some(self)
    }
}

macro_rules! texts {
    ($($text:ty,)*) => {
        $(#[diagnostic::do_not_recommend]
        impl IntoParam<$text> for &str {
            fn into_param(self) -> $text {
                self.to_owned().into()
            }
        }

        #[diagnostic::do_not_recommend]
        impl IntoParam<Option<$text>> for &str {
            fn into_param(self) -> Option<$text> {
                Some(self.into_param())
            }
        })*
    };
}

texts!(String, Box<str>, Cow<'static, str>, PathBuf,);

#[diagnostic::do_not_recommend]
impl<T, V: IntoParam<T>, const N: usize> IntoParam<Vec<T>> for [V; N] {
    fn into_param(self) -> Vec<T> {
        self.map(IntoParam::into_param).into()
    }
}

#[diagnostic::do_not_recommend]
impl<T, V: IntoParam<T>, const N: usize> IntoParam<Option<Vec<T>>> for [V; N] {
    fn into_param(self) -> Option<Vec<T>> {
        Some(self.into_param())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_str_into_string_types() {
        let (boxed, cow): (Box<str>, Cow<'static, str>) = ("a".into_param(), "a".into_param());
        assert_eq!((&*boxed, &*cow), ("a", "a"));
        let (path, paths): (Option<PathBuf>, Vec<PathBuf>) =
            ("src".into_param(), ["src", "tests"].into_param());
        assert_eq!(path.as_deref(), paths.first().map(PathBuf::as_path));
    }
}
