//! [`ImportedServers`]: servers of a `.mcp.json`, as other programs have it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::in_order::in_order;

/// A file with `mcpServers`, which it must have: another key, such as `servers`, would import nothing. Fields of other programs are ignored.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ImportedServers {
    #[serde(rename = "mcpServers", deserialize_with = "in_order")]
    pub(super) servers: Vec<(String, ImportedServer)>,
}

/// A server of such a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct ImportedServer {
    pub(super) command: Option<String>,
    pub(super) args: Vec<String>,
    pub(super) cwd: Option<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) url: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) disabled: bool,
}

impl ImportedServers {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Returns the reason if the file cannot be read, or is invalid.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| {
            let mistake = mistake(&text).unwrap_or_else(|| error.to_string());
            format!("{} is invalid: {mistake}", path.display())
        })
    }
}

impl ImportedServer {
    /// Replaces `${VAR}` and `${VAR:-default}` in all values.
    ///
    /// # Errors
    ///
    /// Returns the reason if a variable without a default is not set.
    pub(super) fn expand(&mut self, variable: impl Fn(&str) -> Option<String>) -> Result<(), String> {
        let texts = self.command.iter_mut().chain(&mut self.args).chain(&mut self.cwd);
        let texts = texts.chain(self.env.values_mut()).chain(&mut self.url);
        for text in texts.chain(self.headers.values_mut()) {
            *text = expanded(text, &variable)?;
        }
        Ok(())
    }
}

/// Returns the first value of a server that has another type than its key requires. Errors of the parser have only a position.
fn mistake(text: &str) -> Option<String> {
    let file: Value = serde_json::from_str(text).ok()?;
    file.get("mcpServers")?
        .as_object()?
        .iter()
        .find_map(|(name, server)| {
            let Some(fields) = server.as_object() else {
                return Some(format!("mcpServers.{name}: expected an object"));
            };
            fields.iter().find_map(|(key, value)| {
                let error = ImportedServer::deserialize(json!({ key: value })).err()?;
                Some(format!("mcpServers.{name}.{key}: {error}"))
            })
        })
}

/// Returns the key for a name of another program, which may have any characters.
pub(super) fn key(name: &str) -> String {
    let allowed = |character: char| {
        if character.is_ascii_alphanumeric() {
            character
        } else {
            '-'
        }
    };
    name.chars().map(allowed).take(32).collect()
}

fn expanded(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        result.push_str(before);
        let Some((inner, end)) = after.split_once('}') else {
            result.push_str("${");
            rest = after;
            continue;
        };
        let (name, default) = inner
            .split_once(":-")
            .map_or((inner, None), |(name, default)| (name, Some(default)));
        // As in a shell, an empty variable has the default, too.
        let value = variable(name).filter(|value| default.is_none() || !value.is_empty());
        match value.as_deref().or(default) {
            Some(value) => result.push_str(value),
            None => {
                return Err(format!(
                    "the variable {name} is not set; set it in the gateway's environment, or write `${{{name}:-default}}`"
                ));
            }
        }
        rest = end;
    }
    result.push_str(rest);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_in_all_values() {
        let variable = |name: &str| match name {
            "HOME" => Some("/home/ada".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, expected) in [
            ("plain $HOME $ {}", Ok("plain $HOME $ {}")),
            ("${HOME}/bin:${HOME}", Ok("/home/ada/bin:/home/ada")),
            ("${NONE:-x}${EMPTY:-y}${EMPTY}", Ok("xy")),
            ("${NONE:-}", Ok("")),
            ("${open", Ok("${open")),
            (
                "${NONE}",
                Err(
                    "the variable NONE is not set; set it in the gateway's environment, or write `${NONE:-default}`",
                ),
            ),
        ] {
            let found = expanded(text, &variable);
            assert_eq!(
                found,
                expected.map(str::to_owned).map_err(str::to_owned),
                "{text}"
            );
        }
        let text = r#"{ "mcpServers": { "z": { "type": "stdio", "command": "${HOME}/a", "args": ["${HOME}"], "cwd": "${HOME}", "env": { "K": "${HOME}" } },
             "a": { "url": "https://${NONE:-h}", "headers": { "k": "${HOME}" }, "disabled": true, "timeout": 5 } } }"#;
        let file: ImportedServers = serde_json::from_str(text).unwrap();
        let names: Vec<_> = file.servers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["z", "a"]);
        for (_, mut server) in file.servers {
            server.expand(variable).unwrap();
            let shown = format!("{server:?}");
            assert!(!shown.contains("${"), "{shown}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_named() {
        for (text, expected) in [
            (
                r#"{ "mcpServers": { "a": {}, "git": { "command": "git-mcp", "args": "x" } } }"#,
                Some("mcpServers.git.args: invalid type: string \"x\", expected a sequence"),
            ),
            (
                r#"{ "mcpServers": { "git": "git-mcp" } }"#,
                Some("mcpServers.git: expected an object"),
            ),
            (r#"{ "servers": {} }"#, None),
            ("{", None),
        ] {
            assert_eq!(mistake(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn names_become_keys() {
        assert_eq!(key("Sequential Thinking_2"), "Sequential-Thinking-2");
        assert_eq!(key(&"x".repeat(40)).len(), 32);
    }
}
