//! [`Packing`]: the form of records in Redis.

use std::fmt;
use std::io::Read as _;
use std::sync::Arc;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::session::store_error::StoreError;

/// Size in bytes from which a record is compressed.
const MIN_COMPRESSED: usize = 1024;

/// Maximum size of a packed record in bytes.
const MAX_PACKED: usize = 64 << 20;

/// Maximum size of an unpacked record in bytes.
const MAX_UNPACKED: usize = 256 << 20;

/// First byte of a record without compression.
const PLAIN: u8 = 0;

/// First byte of a record that is compressed with zstd. The next four bytes are the size before the compression.
const ZSTD: u8 = 1;

/// First byte of a part of a packed record before its last part.
const PART: u8 = 3;

/// First byte of the last part of a packed record.
const LAST_PART: u8 = 4;

/// Maximum size of a part in bytes, without its first byte. Redis executes no other command while it receives or sends a value.
const MAX_PART: usize = 16 << 20;

/// First byte of an encrypted record, before the nonce and the encrypted form of the record that is compressed or not.
const ENCRYPTED: u8 = 2;

/// Converts records between their bytes and the form in which they are stored.
#[derive(Clone)]
pub(super) struct Packing {
    key: Option<Arc<LessSafeKey>>,
    max_part: usize,
}

impl Default for Packing {
    fn default() -> Self {
        Self {
            key: None,
            max_part: MAX_PART,
        }
    }
}

impl fmt::Debug for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_encrypted = self.key.is_some();
        f.debug_struct("Packing")
            .field("is_encrypted", &is_encrypted)
            .finish_non_exhaustive()
    }
}

impl Packing {
    /// Creates a packing that encrypts records with AES-256-GCM. The name of a record's key in Redis is authenticated, so that a record is
    /// readable only under its own key.
    pub(super) fn encrypted(key: &[u8; 32]) -> Self {
        let key = UnboundKey::new(&AES_256_GCM, key).ok();
        Self {
            key: key.map(|key| Arc::new(LessSafeKey::new(key))),
            ..Self::default()
        }
    }

    #[cfg(test)]
    pub(super) fn with_max_part(mut self, bytes: usize) -> Self {
        self.max_part = bytes;
        self
    }

    /// Packs a record that is stored under a key, in one or more parts.
    pub(super) fn pack_parts(&self, name: &str, record: &[u8]) -> Result<Vec<Vec<u8>>, StoreError> {
        let packed = self.pack(name, record)?;
        if packed.len() <= self.max_part {
            return Ok(vec![packed]);
        }
        let count = packed.len().div_ceil(self.max_part);
        let parts = packed.chunks(self.max_part).enumerate();
        Ok(parts
            .map(|(at, part)| {
                let kind = if at + 1 == count { LAST_PART } else { PART };
                [&[kind], part].concat()
            })
            .collect())
    }

    /// Unpacks records that were stored under a key, each in one or more parts.
    pub(super) fn unpack_parts(
        &self,
        name: &str,
        parts: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let (mut records, mut begun) = (Vec::new(), Vec::new());
        for part in parts {
            match part.split_first() {
                Some((&PART, part)) => begun.extend_from_slice(part),
                Some((&LAST_PART, part)) => {
                    begun.extend_from_slice(part);
                    records.push(self.unpack(name, &std::mem::take(&mut begun))?);
                }
                _ if begun.is_empty() => records.push(self.unpack(name, &part)?),
                _ => break,
            }
        }
        if begun.is_empty() {
            return Ok(records);
        }
        Err(damaged("a part is missing"))
    }

    /// Packs a record that is stored under a key.
    pub(super) fn pack(&self, name: &str, record: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut packed = if record.len() < MIN_COMPRESSED {
            [&[PLAIN], record].concat()
        } else {
            let size = u32::try_from(record.len()).unwrap_or(u32::MAX).to_le_bytes();
            let compressed = compress_to_vec(record, CompressionLevel::Fastest);
            [&[ZSTD], &size[..], &compressed].concat()
        };
        if let Some(key) = &self.key {
            let bytes: [u8; NONCE_LEN] = crate::random::bytes();
            let nonce = Nonce::assume_unique_for_key(bytes);
            key.seal_in_place_append_tag(nonce, Aad::from(name), &mut packed)
                .map_err(|_| StoreError("a record cannot be encrypted".to_owned()))?;
            packed = [&[ENCRYPTED], &bytes[..], &packed].concat();
        }
        if packed.len() > MAX_PACKED || record.len() > MAX_UNPACKED {
            return Err(StoreError(format!(
                "a record of {} bytes is larger than {MAX_PACKED}",
                packed.len()
            )));
        }
        Ok(packed)
    }

    /// Unpacks a record that was stored under a key. With a key of encryption, only encrypted records are read.
    pub(super) fn unpack(&self, name: &str, packed: &[u8]) -> Result<Vec<u8>, StoreError> {
        match (&self.key, packed.split_first()) {
            (None, Some((&ENCRYPTED, _))) => Err(damaged("encrypted with an unknown key")),
            (None, _) => decompressed(packed),
            (Some(key), Some((&ENCRYPTED, rest))) => {
                let (nonce, sealed) = rest
                    .split_first_chunk::<NONCE_LEN>()
                    .ok_or_else(|| damaged("too short"))?;
                let mut sealed = sealed.to_vec();
                let nonce = Nonce::assume_unique_for_key(*nonce);
                let opened = key.open_in_place(nonce, Aad::from(name), &mut sealed);
                decompressed(opened.map_err(|_| damaged("another key, or changed"))?)
            }
            (Some(_), _) => Err(damaged("not encrypted")),
        }
    }
}

fn damaged(reason: &str) -> StoreError {
    StoreError(format!("a record is corrupted: {reason}"))
}

/// Returns a record that is not encrypted.
fn decompressed(packed: &[u8]) -> Result<Vec<u8>, StoreError> {
    match packed.split_first() {
        Some((&PLAIN, record)) => Ok(record.to_vec()),
        Some((&ZSTD, rest)) => {
            let (size, compressed) = rest.split_first_chunk().ok_or_else(|| damaged("too short"))?;
            let size = usize::try_from(u32::from_le_bytes(*size)).unwrap_or(usize::MAX);
            if size > MAX_UNPACKED {
                return Err(damaged("too large"));
            }
            let decoder = StreamingDecoder::new(compressed).map_err(|error| damaged(&error.to_string()))?;
            let mut record = Vec::new();
            // A frame may be longer than its size states.
            let read = decoder.take(size as u64 + 1).read_to_end(&mut record);
            read.map_err(|error| damaged(&error.to_string()))?;
            if record.len() != size {
                return Err(damaged("another size"));
            }
            Ok(record)
        }
        Some((other, _)) => Err(damaged(&format!("unknown kind {other}"))),
        None => Err(damaged("empty")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_round_trip_and_large_ones_are_compressed() {
        let plain = Packing::default();
        let encrypted = Packing::encrypted(&[7; 32]);
        let lines: Vec<_> = (0..20_000)
            .map(|line| format!("a line of a text with the number {line}\n"))
            .collect();
        let text = lines.concat();
        for length in [0, 1, 1023, 1024, 200_000] {
            let record = text.as_bytes()[..length].to_vec();
            for packing in [&plain, &encrypted] {
                let packed = packing.pack("name", &record).unwrap();
                assert_eq!(packing.unpack("name", &packed), Ok(record.clone()), "{length}");
                assert!(
                    length < 10_000 || packed.len() < record.len() / 2,
                    "{length} {}",
                    packed.len()
                );
            }
        }
        assert_eq!(format!("{encrypted:?}"), "Packing { is_encrypted: true, .. }");
    }

    #[test]
    fn rejects_changed_records_and_records_of_other_names_and_keys() {
        let plain = Packing::default();
        let encrypted = Packing::encrypted(&[7; 32]);
        let record = b"a record ".repeat(200);
        let sealed = encrypted.pack("name", &record).unwrap();
        for (packing, name, packed) in [
            (&encrypted, "other name", sealed.clone()),
            (&Packing::encrypted(&[8; 32]), "name", sealed.clone()),
            (&plain, "name", sealed.clone()),
            (&encrypted, "name", plain.pack("name", &record).unwrap()),
            (&plain, "name", Vec::new()),
            (&plain, "name", vec![9, 1, 2]),
            (&plain, "name", vec![ZSTD, 0, 0]),
            (&plain, "name", vec![ZSTD, 255, 255, 255, 255, 0]),
        ] {
            assert!(packing.unpack(name, &packed).is_err(), "{name} {packed:?}");
        }
        // Each changed byte is an error, or the frame of zstd is still the same record.
        for packing in [plain, encrypted] {
            let packed = packing.pack("name", &record).unwrap();
            for at in 0..packed.len() {
                let mut changed = packed.clone();
                changed[at] ^= 1;
                let unpacked = packing.unpack("name", &changed);
                assert!(packing.key.is_none() || unpacked.is_err(), "{at}");
            }
            for length in 0..packed.len() {
                assert!(packing.unpack("name", &packed[..length]).is_err(), "{length}");
            }
        }
    }

    #[test]
    fn large_records_are_packed_in_parts() {
        for packing in [Packing::default(), Packing::encrypted(&[7; 32])] {
            let packing = packing.with_max_part(100);
            let records =
                [5_usize, 99, 400, 901].map(|length| crate::random::bytes::<901>()[..length].to_vec());
            let parts = |record: &Vec<u8>| packing.pack_parts("name", record).unwrap();
            let all: Vec<_> = records.iter().flat_map(parts).collect();
            assert!(all.len() > 12 && all.iter().all(|part| part.len() <= 101));
            assert_eq!(packing.unpack_parts("name", all.clone()).unwrap(), records);
            let without = |lost: usize| {
                let mut rest = all.clone();
                rest.remove(lost);
                packing.unpack_parts("name", rest)
            };
            assert!(without(all.len() - 1).is_err());
            // A record without encryption is shorter without a part.
            assert!(without(all.len() - 2).is_err() || packing.key.is_none());
        }
    }

    #[test]
    fn rejects_a_frame_that_is_longer_than_its_size() {
        let packing = Packing::default();
        let mut packed = packing.pack("name", &vec![b'x'; 5000]).unwrap();
        packed[1..5].copy_from_slice(&4000_u32.to_le_bytes());
        assert!(packing.unpack("name", &packed).is_err());
    }
}
