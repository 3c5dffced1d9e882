//! Serializes records as versioned JSON, for durable stores.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::store_error::StoreError;

/// Version of the records, and of the tables of a file.
pub(super) const VERSION: u32 = 6;

/// Oldest version that this program reads.
pub(super) const OLDEST_VERSION: u32 = 5;

/// Maximum size of a record in bytes. A turn contains the content of its requests and responses.
const MAX_BYTES: usize = 256 << 20;

#[derive(Serialize)]
struct WrittenRecord<'r, R> {
    version: u32,
    record: &'r R,
}

#[derive(Deserialize)]
struct ReadRecord<R> {
    record: R,
}

/// The field that is common to the records of all versions.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Serializes a record.
pub(crate) fn encode<R: Serialize>(record: &R) -> Result<Vec<u8>, StoreError> {
    let written = WrittenRecord {
        version: VERSION,
        record,
    };
    let bytes = serde_json::to_vec(&written)
        .map_err(|error| StoreError(format!("a record cannot be written as JSON: {error}")))?;
    if bytes.len() > MAX_BYTES {
        return Err(StoreError(format!(
            "a record of {} bytes is larger than {MAX_BYTES}",
            bytes.len()
        )));
    }
    Ok(bytes)
}

/// Reads the version of a record.
pub(crate) fn version(bytes: &[u8]) -> Result<u32, StoreError> {
    let Version { version } = serde_json::from_slice(bytes).map_err(|error| corrupted(&error))?;
    Ok(version)
}

fn corrupted(error: &serde_json::Error) -> StoreError {
    StoreError(format!("a record is corrupted: {error}"))
}

/// Deserializes a record.
pub(crate) fn decode<R: DeserializeOwned>(bytes: &[u8]) -> Result<R, StoreError> {
    let version = version(bytes)?;
    if !(OLDEST_VERSION..=VERSION).contains(&version) {
        return Err(StoreError(format!(
            "unknown version {version} of a record; expected {OLDEST_VERSION} to {VERSION}; use the version of the program that wrote the record, or specify another file"
        )));
    }
    let ReadRecord { record } = serde_json::from_slice(bytes).map_err(|error| corrupted(&error))?;
    Ok(record)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn records_round_trip_and_other_versions_are_rejected() {
        let record = json!({ "a": [1, "b"] });
        let bytes = encode(&record).unwrap();
        assert_eq!(decode::<serde_json::Value>(&bytes), Ok(record.clone()));
        let of_version = |version: u32| {
            let text = String::from_utf8(bytes.clone()).unwrap();
            text.replace("\"version\":6", &format!("\"version\":{version}"))
        };
        assert_eq!(decode::<serde_json::Value>(of_version(5).as_bytes()), Ok(record));
        for other in [4, 7] {
            let StoreError(error) = decode::<serde_json::Value>(of_version(other).as_bytes()).unwrap_err();
            let expected = format!(
                "unknown version {other} of a record; expected 5 to 6; use the version of the program that wrote the record, or specify another file"
            );
            assert_eq!(error, expected);
        }
        let StoreError(error) = decode::<serde_json::Value>(b"{\"version\":6,").unwrap_err();
        assert!(error.starts_with("a record is corrupted: EOF"), "{error}");
    }
}
