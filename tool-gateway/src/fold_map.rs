//! [`FoldMap`]: a hash map with a quick hash.

use std::collections::HashMap;

/// A map whose keys are no input of clients, but digests with a secret key and random ids. `SipHash`, which protects maps against chosen keys,
/// takes ten times the instructions, and a request has 40 to 60 accesses to maps.
pub(crate) type FoldMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
