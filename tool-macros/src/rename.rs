//! `rename_all`: case of the parameters' names in the schema.

use syn::LitStr;

#[derive(Clone, Copy)]
pub(crate) enum RenameRule {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

const RULES: [(&str, RenameRule); 8] = [
    ("lowercase", RenameRule::Lower),
    ("UPPERCASE", RenameRule::Upper),
    ("PascalCase", RenameRule::Pascal),
    ("camelCase", RenameRule::Camel),
    ("snake_case", RenameRule::Snake),
    ("SCREAMING_SNAKE_CASE", RenameRule::ScreamingSnake),
    ("kebab-case", RenameRule::Kebab),
    ("SCREAMING-KEBAB-CASE", RenameRule::ScreamingKebab),
];

impl RenameRule {
    pub(crate) fn parse(written: &LitStr) -> syn::Result<Self> {
        let value = written.value();
        if let Some((_, rule)) = RULES.iter().find(|(name, _)| *name == value) {
            return Ok(*rule);
        }
        let names = RULES.map(|(name, _)| name);
        let message = match crate::suggest::closest(&value, &names) {
            Some(name) => format!("unknown case; did you mean \"{name}\"?"),
            None => format!("unknown case; expected one of \"{}\"", names.join("\", \"")),
        };
        Err(syn::Error::new(written.span(), message))
    }

    pub(crate) fn apply(self, name: &str) -> String {
        match self {
            Self::Snake => name.to_owned(),
            Self::Lower => name.to_lowercase(),
            Self::Upper | Self::ScreamingSnake => name.to_uppercase(),
            Self::Kebab => name.replace('_', "-"),
            Self::ScreamingKebab => name.to_uppercase().replace('_', "-"),
            Self::Pascal => pascal_case(name),
            Self::Camel => {
                let pascal = pascal_case(name);
                let mut letters = pascal.chars();
                letters
                    .next()
                    .map(|first| first.to_lowercase().chain(letters).collect())
                    .unwrap_or_default()
            }
        }
    }
}

/// Converts a name from snake case to Pascal case.
fn pascal_case(name: &str) -> String {
    name.split('_')
        .flat_map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .into_iter()
                .flat_map(char::to_uppercase)
                .chain(letters)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renames_as_serde_does() {
        let renamed = RULES.map(|(_, rule)| rule.apply("max_results_2"));
        assert_eq!(
            renamed,
            [
                "max_results_2",
                "MAX_RESULTS_2",
                "MaxResults2",
                "maxResults2",
                "max_results_2",
                "MAX_RESULTS_2",
                "max-results-2",
                "MAX-RESULTS-2",
            ],
        );
        assert_eq!(RenameRule::Camel.apply("_quiet"), "quiet");
        assert_eq!(RenameRule::Camel.apply(""), "");
    }
}
