//! A cluster of three servers, whose slots move while a store uses them.

use std::time::Duration;

use super::{RedisReply, RedisServer, lease_request};
use crate::session::redis::RedisStore;
use crate::session::redis::keys::ClientKeys;
use crate::session::store::{LeaseOutcome, SessionStore as _};
use crate::session::tests::{conformance, digest, ids, save, save_with, session_of_key, turn, turn_of_call};

/// Three primaries.
pub(super) struct Nodes(pub(super) [RedisServer; 3]);

/// Starts a server without slots.
pub(super) fn node(options: &[&str]) -> Option<RedisServer> {
    RedisServer::start_with(&[&["--cluster-enabled", "yes"], options].concat())
}

impl Nodes {
    fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Starts servers with further options.
    pub(super) fn start_with(options: &[&str]) -> Option<Self> {
        let nodes = [node(options)?, node(options)?, node(options)?];
        let slots = [0..5461, 5461..10_923, 10_923..16_384];
        for (index, (server, slots)) in nodes.iter().zip(slots).enumerate() {
            server.run(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]);
            server.add_slots(slots);
        }
        for server in &nodes[1..] {
            let port = server.port().to_string();
            let met = nodes[0].run(&["CLUSTER", "MEET", "127.0.0.1", &port]);
            assert_eq!(met, RedisReply::Text("OK".to_owned()));
        }
        let nodes = Self(nodes);
        for server in &nodes.0 {
            server.wait(|server| {
                let info = server.run(&["CLUSTER", "INFO"]);
                [
                    "cluster_state:ok",
                    "cluster_known_nodes:3",
                    "cluster_slots_assigned:16384",
                ]
                .iter()
                .all(|line| info.text().contains(line))
            });
        }
        Some(nodes)
    }

    pub(super) fn store(&self) -> RedisStore {
        let url = format!("redis+cluster://127.0.0.1:{}", self.0[0].port());
        RedisStore::new(&url.parse().unwrap(), None).unwrap()
    }
}

/// A slot that moves from one server to another.
struct Move<'n> {
    slot: String,
    from: &'n RedisServer,
    to: &'n RedisServer,
}

impl<'n> Move<'n> {
    /// Begins to move the slot of a client.
    fn begin(nodes: &'n Nodes, client: &str) -> Self {
        let key = ClientKeys::new(digest(client)).order();
        let slot = match nodes.0[0].run(&["CLUSTER", "KEYSLOT", &key]) {
            RedisReply::Number(slot) => slot.to_string(),
            other => panic!("{other:?}"),
        };
        let has_keys = |server: &RedisServer| {
            let count = server.run(&["CLUSTER", "COUNTKEYSINSLOT", &slot]);
            count != RedisReply::Number(0)
        };
        let owner = nodes.0.iter().position(has_keys).unwrap();
        let (from, to) = (&nodes.0[owner], &nodes.0[(owner + 1) % 3]);
        let moved = Self { slot, from, to };
        moved.set(to, "IMPORTING", from);
        moved.set(from, "MIGRATING", to);
        moved
    }

    fn set(&self, server: &RedisServer, state: &str, other: &RedisServer) {
        let id = other.run(&["CLUSTER", "MYID"]);
        let set = server.run(&["CLUSTER", "SETSLOT", &self.slot, state, id.text()]);
        assert_eq!(set, RedisReply::Text("OK".to_owned()), "{state}");
    }

    /// Returns the keys that are still on the first server.
    fn keys(&self) -> Vec<String> {
        let keys = self.from.run(&["CLUSTER", "GETKEYSINSLOT", &self.slot, "10000"]);
        keys.texts().into_iter().map(str::to_owned).collect()
    }

    fn migrate(&self, keys: &[String]) {
        let port = self.to.port().to_string();
        let mut command = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
        command.extend(keys.iter().map(String::as_str));
        assert_eq!(self.from.run(&command), RedisReply::Text("OK".to_owned()));
    }

    /// Moves all other keys, and ends.
    fn end(self) {
        self.migrate(&self.keys());
        self.set(self.to, "NODE", self.to);
        self.set(self.from, "NODE", self.to);
    }
}

#[tokio::test]
async fn store_in_a_cluster_of_three_servers_conforms() {
    let Some(nodes) = Nodes::start() else {
        return;
    };
    let store = nodes.store();
    store.connect().await.unwrap();
    conformance::conforms(&store).await;
    // Clients are on all servers.
    for client in 0..24 {
        let client = digest(&format!("client {client}"));
        let request = lease_request("request", false);
        let LeaseOutcome::Taken { lease, .. } = store.claim(client, &request).await.unwrap() else {
            panic!("another request of the client");
        };
        store.release(client, lease, true).await.unwrap();
    }
    for server in &nodes.0 {
        assert_ne!(server.run(&["DBSIZE"]), RedisReply::Number(0));
    }
    let other = nodes.store();
    other.connect().await.unwrap();
    assert_eq!(other.secret(), store.secret());
    assert_eq!(ids(&other, "one").await, ids(&store, "one").await);
}

/// Whichever keys have moved, no turn is missing, and no turn is stored by halves.
#[tokio::test]
async fn turns_are_found_and_stored_while_their_slot_moves() {
    let Some(nodes) = Nodes::start() else {
        return;
    };
    let store = nodes.store();
    store.connect().await.unwrap();
    for id in 0..10 {
        let id = id.to_string();
        save_with(
            &store,
            turn(&id, "a", "point"),
            &[&format!("call {id}")],
            &["key"],
        )
        .await;
    }
    let all: Vec<_> = (0..10).map(|id| id.to_string()).collect();
    for kind in ["T", "P", "S", "U", "C", "O", "N", "Z"] {
        let moved = Move::begin(&nodes, "client");
        let of_kind: Vec<_> = moved
            .keys()
            .into_iter()
            .filter(|key| key.contains(&format!("}}:{kind}")))
            .collect();
        assert!(!of_kind.is_empty(), "{kind}");
        moved.migrate(&of_kind);
        let id = format!("new {kind}");
        let ends = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            moved.end();
        };
        let (found, of_call, session, (), ()) = tokio::join!(
            ids(&store, "point"),
            turn_of_call(&store, "call 3"),
            session_of_key(&store, "key"),
            save(&store, turn(&id, "a", &id)),
            ends
        );
        assert_eq!(found, all, "{kind}");
        assert!(of_call.is_some() && session.is_some(), "{kind}");
        assert_eq!(ids(&store, &id).await, [id], "{kind}");
    }
}
