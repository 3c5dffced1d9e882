//! A user of Redis with the commands of the page about operations.

use std::collections::BTreeSet;

use super::{RedisReply, RedisServer};
use crate::session::redis::RedisStore;
use crate::session::redis::scripts::Scripts;
use crate::session::store_error::StoreError;
use crate::session::tests::conformance;

const PAGE: &str = include_str!("../../../../../docs/operations.md");

/// Returns the words of the documented command.
fn documented() -> Vec<&'static str> {
    let line = PAGE.lines().find(|line| line.starts_with("ACL SETUSER "));
    line.unwrap().split(' ').collect()
}

#[test]
fn documented_commands_are_the_commands_of_the_store() {
    let Scripts {
        find,
        load,
        session,
        save,
        prolong,
        part,
        append,
        claim,
        renew,
        release,
        has_lease,
    } = Scripts::new();
    let scripts = [
        find, load, session, save, prolong, part, append, claim, renew, release, has_lease,
    ];
    let of_scripts = scripts.iter().flat_map(|script| {
        let calls = script.code.split("redis.call('").skip(1);
        calls.map(|call| call.split('\'').next().unwrap().to_lowercase())
    });
    let own = ["ping", "get", "set", "eval", "evalsha"].map(str::to_owned);
    let used: BTreeSet<_> = of_scripts.chain(own).collect();
    let allowed = documented();
    let allowed = allowed.iter().filter_map(|word| word.strip_prefix('+'));
    let allowed: Vec<_> = allowed.map(str::to_owned).collect();
    assert_eq!(allowed.iter().cloned().collect::<BTreeSet<_>>(), used);
    assert_eq!(allowed.len(), used.len(), "each command once");
}

#[tokio::test]
async fn user_with_the_documented_commands_runs_all_operations() {
    let Some(server) = RedisServer::start() else {
        return;
    };
    assert_eq!(server.run(&documented()), RedisReply::Text("OK".to_owned()));
    let address = format!("redis://gateway@127.0.0.1:{}", server.port());
    let store = RedisStore::new(&address.parse().unwrap(), Some("PASSWORD")).unwrap();
    store.connect().await.unwrap();
    conformance::conforms(&store).await;
    // The scripts are gone, as after a restart.
    server.run(&["SCRIPT", "FLUSH"]);
    conformance::bounds_equal_histories(&store, 200).await;
    // The user has no other keys.
    let mut get = redis::cmd("GET");
    get.arg("other");
    let StoreError(denied) = store.link.command(get).await.unwrap_err();
    assert!(denied.contains("NOPERM"), "{denied}");
}
