//! Expiration of sessions.

use std::time::Duration;

use super::{Folder, ids, known, save, save_with, session_of_key, turn, turn_of_call};
use crate::session::file::FileStore;
use crate::session::memory::MemoryStore;

#[tokio::test]
async fn complete_sessions_in_a_file_expire_and_free_space() {
    let folder = Folder::new("expiry");
    let store = FileStore::open(folder.file())
        .unwrap()
        .with_ttl(Duration::from_secs(3));
    save(&store, turn("suspended-1", "a", "1")).await;
    save_with(&store, turn("2", "b", "2"), &["call 2"], &["key b"]).await;
    save(&store, turn("3", "b", "3")).await;
    // The suspended turn waits four times as long.
    tokio::time::sleep(Duration::from_millis(4100)).await;
    assert_eq!(known(&store).await, ["a"]);
    assert_eq!(
        (ids(&store, "2").await, ids(&store, "3").await),
        (Vec::new(), Vec::new())
    );
    assert_eq!(
        ids(&store, "1").await,
        ["suspended-1"],
        "the suspended session is kept"
    );
    let store = store.with_ttl(Duration::from_secs(3600));
    save(&store, turn("4", "c", "4")).await;
    assert_eq!(session_of_key(&store, "key b").await, None);
    assert_eq!(turn_of_call(&store, "call 2").await, None);
    assert_eq!(ids(&store, "4").await, ["4"]);
    drop(store);

    // A turn takes about 1.3 KB.
    let store = FileStore::open(folder.file()).unwrap().with_max_bytes(20_000);
    for id in 0..100 {
        let id = id.to_string();
        save(&store, turn(&id, &format!("s{id}"), &id)).await;
    }
    let mut kept = 0;
    for id in 0..100 {
        kept += ids(&store, &id.to_string()).await.len();
    }
    assert!((5..20).contains(&kept), "{kept}");
    assert_eq!(ids(&store, "99").await, ["99"]);
    let size = std::fs::metadata(folder.file()).unwrap().len();
    for id in 100..1000 {
        let id = id.to_string();
        save(&store, turn(&id, &format!("s{id}"), &id)).await;
    }
    let later = std::fs::metadata(folder.file()).unwrap().len();
    assert!(later <= size * 2, "{size} → {later}");
}

/// R-GW-12
#[tokio::test(start_paused = true)]
async fn turns_expire_with_their_session_and_suspended_ones_later() {
    let store = MemoryStore::new().with_ttl(Duration::from_secs(200));
    save(&store, turn("suspended-1", "a", "1")).await;
    save_with(&store, turn("2", "b", "2"), &[], &["key b"]).await;
    assert_eq!(known(&store).await, ["a", "b"]);
    tokio::time::advance(Duration::from_secs(300)).await;
    // Expired turns are not found even before they are removed.
    assert_eq!(known(&store).await, ["a"]);
    assert_eq!(
        (ids(&store, "1").await, ids(&store, "2").await),
        (vec!["suspended-1".to_owned()], Vec::new())
    );
    assert_eq!(known(&store).await, ["a"]);
    assert_eq!(session_of_key(&store, "key b").await, None);
}
