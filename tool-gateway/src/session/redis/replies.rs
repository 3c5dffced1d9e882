//! [`ScriptReply`]: the values that scripts return.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::Value;

use crate::session::store::{FoundTurn, TurnRef};
use crate::session::store_error::StoreError;

/// Value of Redis.
pub(super) struct ScriptReply(pub(super) Value);

/// Returns the error of a value in another form than the script returns.
pub(super) fn invalid() -> StoreError {
    StoreError("Redis: unexpected reply of a script".to_owned())
}

/// Reply to `INFO`: lines of `name:value`.
pub(super) struct ServerInfo(String);

impl ServerInfo {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut lines = self.0.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(value.trim())
    }
}

impl ScriptReply {
    pub(super) fn bytes(self) -> Result<Vec<u8>, StoreError> {
        match self.0 {
            Value::BulkString(bytes) => Ok(bytes),
            Value::SimpleString(text) => Ok(text.into_bytes()),
            _ => Err(invalid()),
        }
    }

    /// Returns the reply to `INFO`: of the server, or of the first node of a cluster.
    pub(super) fn info(self) -> Option<ServerInfo> {
        match self.0 {
            Value::Map(nodes) => nodes.into_iter().find_map(|(_, info)| Self(info).info()),
            Value::VerbatimString { text, .. } => Some(ServerInfo(text)),
            other => Self(other).text().ok().map(ServerInfo),
        }
    }

    pub(super) fn text(self) -> Result<String, StoreError> {
        String::from_utf8(self.bytes()?).map_err(|_| invalid())
    }

    pub(super) fn number(self) -> Result<u64, StoreError> {
        match self.0 {
            Value::Int(number) => u64::try_from(number).map_err(|_| invalid()),
            _ => self.text()?.parse().map_err(|_| invalid()),
        }
    }

    /// Returns a time that the script wrote in milliseconds since 1970.
    pub(super) fn time(self) -> Result<SystemTime, StoreError> {
        let since = Duration::from_millis(self.number()?);
        UNIX_EPOCH.checked_add(since).ok_or_else(invalid)
    }

    pub(super) fn list(self) -> Result<Vec<ScriptReply>, StoreError> {
        match self.0 {
            Value::Array(values) => Ok(values.into_iter().map(ScriptReply).collect()),
            _ => Err(invalid()),
        }
    }

    /// Returns the values of a list with this length; `None` for an empty list.
    pub(super) fn parts<const LENGTH: usize>(self) -> Result<Option<[ScriptReply; LENGTH]>, StoreError> {
        let parts = self.list()?;
        if parts.is_empty() {
            return Ok(None);
        }
        parts.try_into().map(Some).map_err(|_| invalid())
    }

    /// Returns the turns of a list of ids and revisions, the latest turn first. The result has the oldest turn first.
    pub(super) fn turns(self) -> Result<Vec<FoundTurn>, StoreError> {
        let mut found = self.list()?.into_iter();
        let mut turns = Vec::new();
        while let Some(id) = found.next() {
            let id = id.text()?;
            let revision = found.next().ok_or_else(invalid)?.number()?;
            turns.push(FoundTurn::Ref(TurnRef { id, revision }));
        }
        turns.reverse();
        Ok(turns)
    }

    /// Returns a number, or `None` for an empty string.
    pub(super) fn optional_number(self) -> Result<Option<u64>, StoreError> {
        match &self.0 {
            Value::BulkString(bytes) if bytes.is_empty() => Ok(None),
            _ => self.number().map(Some),
        }
    }

    /// Returns the name of a state and its numbers: 0 if the state has no first number.
    pub(super) fn state(self) -> Result<(String, u64, Option<u64>), StoreError> {
        let mut parts = self.list()?.into_iter();
        let state = parts.next().ok_or_else(invalid)?.text()?;
        let number = parts.next().map_or(Ok(0), ScriptReply::number)?;
        let second = parts.next().map_or(Ok(None), ScriptReply::optional_number)?;
        Ok((state, number, second))
    }
}
