//! [`ApiKey`]: the gateway's key for a server, and the request header for this key.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use secrecy::{ExposeSecret as _, SecretString};

use super::invalid::InvalidUpstream;

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Paths of `OpenAI`'s APIs.
const BEARER_PATHS: [&str; 2] = ["/v1/chat/completions", "/v1/responses"];

/// Headers with the account of the client's `OpenAI` key. With another key, the server would reject the request.
const OPENAI_ACCOUNT: [&str; 2] = ["openai-organization", "openai-project"];

/// A key as header values. Both header values are marked as sensitive, so that `Debug` does not show them.
pub(super) struct ApiKey {
    plain: HeaderValue,
    bearer: HeaderValue,
    /// Whether every API receives the key as `authorization: Bearer`.
    is_always_bearer: bool,
}

impl ApiKey {
    pub(super) fn new(key: &SecretString) -> Result<Self, InvalidUpstream> {
        let key = key.expose_secret();
        if key.is_empty() {
            let reason =
                "invalid API key: it is empty; set it, or configure none so that the client's is sent";
            return Err(InvalidUpstream(reason.to_owned()));
        }
        Ok(Self {
            plain: sensitive(key)?,
            bearer: sensitive(&format!("Bearer {key}"))?,
            is_always_bearer: false,
        })
    }

    /// Sends the key to every API as `authorization: Bearer`.
    pub(super) fn set_bearer(&mut self) {
        self.is_always_bearer = true;
    }

    /// Replaces the client's credentials, in the header that the API at this path uses.
    pub(super) fn replace_credentials(&self, path: &str, headers: &mut HeaderMap) {
        let (name, value, other) = if self.is_always_bearer || takes_bearer(path, headers) {
            (header::AUTHORIZATION, &self.bearer, X_API_KEY)
        } else {
            (X_API_KEY, &self.plain, header::AUTHORIZATION)
        };
        if name == header::AUTHORIZATION {
            for account in OPENAI_ACCOUNT {
                headers.remove(account);
            }
        }
        headers.remove(other);
        headers.insert(name, value.clone());
    }
}

/// Removes a client's credentials, and the account to which they belong.
pub(in crate::upstream) fn remove_credentials(headers: &mut HeaderMap) {
    for name in [X_API_KEY, header::AUTHORIZATION] {
        headers.remove(name);
    }
    for account in OPENAI_ACCOUNT {
        headers.remove(account);
    }
}

fn sensitive(text: &str) -> Result<HeaderValue, InvalidUpstream> {
    // The error of `HeaderValue` does not contain the value.
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        let reason = "invalid API key: it contains a character that a header cannot have; \
                      look for a line break at its end";
        InvalidUpstream(reason.to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns whether a request belongs to `OpenAI`'s APIs. Both vendors have `/v1/models`, but only Anthropic's clients send
/// `anthropic-version`.
fn takes_bearer(path: &str, headers: &HeaderMap) -> bool {
    let models = path.strip_prefix("/v1/models");
    let is_models = models.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    BEARER_PATHS.contains(&path) || (is_models && !headers.contains_key("anthropic-version"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace(key: Option<&str>, path: &str, headers: &mut HeaderMap) {
        if let Some(key) = key {
            let key = ApiKey::new(&key.into()).unwrap();
            key.replace_credentials(path, headers);
        }
    }

    #[test]
    fn rejects_invalid_keys_without_their_text() {
        for key in ["", "secret\n", "secret\u{1}"] {
            let error = ApiKey::new(&key.into()).map(drop).unwrap_err();
            let (shown, debug) = (error.to_string(), format!("{error:?}"));
            assert!(shown.starts_with("invalid API key: it "), "{shown}");
            assert!(!shown.contains("secret") && !debug.contains("secret"), "{debug}");
        }
    }

    #[test]
    fn key_replaces_the_clients_credentials_as_the_api_of_the_path_has_it() {
        let sent = |key: Option<&str>, path: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(X_API_KEY, HeaderValue::from_static("client"));
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer client"));
            replace(key, path, &mut headers);
            [X_API_KEY, header::AUTHORIZATION]
                .map(|name| headers.get(name).map(|value| value.to_str().unwrap().to_owned()))
        };
        let (plain, bearer) = (Some("own".to_owned()), Some("Bearer own".to_owned()));
        assert_eq!(sent(Some("own"), "/v1/messages"), [plain, None]);
        for path in BEARER_PATHS {
            assert_eq!(sent(Some("own"), path), [None, bearer.clone()]);
            let client = ["client", "Bearer client"].map(|sent| Some(sent.to_owned()));
            assert_eq!(sent(None, path), client);
        }
        let mut key = ApiKey::new(&"own".into()).unwrap();
        key.set_bearer();
        let mut headers = HeaderMap::new();
        headers.insert(X_API_KEY, HeaderValue::from_static("client"));
        key.replace_credentials("/v1/messages", &mut headers);
        assert_eq!(headers.get(header::AUTHORIZATION).unwrap(), "Bearer own");
        assert!(!headers.contains_key(X_API_KEY));
        let key = ApiKey::new(&"secret".into()).unwrap();
        assert!(key.plain.is_sensitive() && key.bearer.is_sensitive());
    }

    #[test]
    fn key_for_models_is_sent_in_the_form_of_the_client() {
        for (path, has_version, expected) in [
            ("/v1/models", false, header::AUTHORIZATION),
            ("/v1/models/m", false, header::AUTHORIZATION),
            ("/v1/models", true, X_API_KEY),
            ("/v1/models/m", true, X_API_KEY),
            ("/v1/modelsx", false, X_API_KEY),
        ] {
            let mut headers = HeaderMap::new();
            if has_version {
                headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
            }
            replace(Some("own"), path, &mut headers);
            let sent = [X_API_KEY, header::AUTHORIZATION].map(|name| headers.contains_key(name));
            let wanted = [expected == X_API_KEY, expected == header::AUTHORIZATION];
            assert_eq!(sent, wanted, "{path} {has_version}");
        }
    }

    #[test]
    fn client_account_is_forwarded_only_with_its_key() {
        let sent = |key: Option<&str>, path: &str| {
            let mut headers = HeaderMap::new();
            for name in OPENAI_ACCOUNT {
                headers.insert(name, HeaderValue::from_static("client"));
            }
            replace(key, path, &mut headers);
            OPENAI_ACCOUNT.map(|name| headers.contains_key(name))
        };
        for path in BEARER_PATHS {
            assert_eq!(sent(None, path), [true, true]);
            assert_eq!(sent(Some("own"), path), [false, false]);
        }
    }
}
