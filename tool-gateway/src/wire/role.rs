//! [`Role`]: the author of a message.

use serde::{Deserialize, Serialize, Serializer};

/// Role of a message. The type is small, since a request may have 100,000 messages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub(crate) enum Role {
    User,
    Assistant,
    /// Instructions between other messages, which are not part of the conversation's history.
    System,
    /// Any other role, which the upstream accepts or rejects.
    Other(Box<OtherRole>),
}

/// Name of another role. It is boxed twice, since a `Box<str>` would make each [`Role`] larger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OtherRole(Box<str>);

impl OtherRole {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Role {
    /// Returns the role's name in the API.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Other(name) => name.as_str(),
        }
    }
}

impl From<&str> for Role {
    fn from(name: &str) -> Self {
        match name {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "system" => Self::System,
            _ => Self::Other(Box::new(OtherRole(name.into()))),
        }
    }
}

impl From<String> for Role {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_round_trip() {
        for (name, expected) in [
            ("user", Role::User),
            ("assistant", Role::Assistant),
            ("system", Role::System),
            ("Assistant", Role::from("Assistant")),
            ("", Role::from("")),
        ] {
            let text = format!("\"{name}\"");
            assert_eq!(serde_json::from_str::<Role>(&text).unwrap(), expected);
            assert_eq!(serde_json::to_string(&expected).unwrap(), text);
        }
    }
}
