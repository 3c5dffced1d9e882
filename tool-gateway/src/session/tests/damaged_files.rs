//! Damaged files, and the permissions of files.

use redb::TableDefinition;

use super::model::{Expect, follows_a_model};
use super::{Folder, Random, is_long, save, turn};
use crate::session::file::FileStore;
use crate::session::store::StoreError;

/// A file with changed bytes, or a part of a file, gives an error or the stored turns.
#[tokio::test]
async fn corrupted_file_gives_an_error_or_the_stored_data() {
    let folder = Folder::new("bytes");
    let store = FileStore::open(folder.file()).unwrap();
    let before = follows_a_model(&store, 11, 40).await;
    let mut model = before.clone();
    model.save_one(&store, &mut Random(12), "").await;
    // The state of a file after a crash.
    let killed = std::fs::read(folder.file()).unwrap();
    drop(store);
    let closed = std::fs::read(folder.file()).unwrap();
    let mut random = Random(5);
    let mut errors = 0;
    let samples = if is_long() { 1_000 } else { 80 };
    for sample in 0..samples {
        let is_killed = sample % 2 == 0;
        let mut bytes = if is_killed { killed.clone() } else { closed.clone() };
        match sample / 2 % 4 {
            // The header has many fields in few bytes.
            0 => bytes[random.below(512)] ^= 1 << random.below(8),
            1 => {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            2 => {
                let at = random.below(bytes.len());
                let end = bytes.len().min(at + 1 + random.below(4096));
                bytes[at..end].fill(u8::try_from(random.below(256)).unwrap());
            }
            _ => bytes.truncate(random.below(bytes.len())),
        }
        std::fs::write(folder.file(), &bytes).unwrap();
        let error = match FileStore::open(folder.file()) {
            Ok(store) => match model.differs(&store, Expect::All).await {
                // After a crash, the last write may be missing.
                Ok(Some(_)) if is_killed => before.differs(&store, Expect::All).await,
                compared => compared,
            }
            .map(|difference| assert_eq!(difference, None, "{sample}"))
            .err(),
            Err(error) => Some(error),
        };
        if let Some(StoreError(error)) = error {
            assert!(error.contains("sessions.redb: "), "{error}");
            errors += 1;
        }
    }
    assert!(errors > samples / 4, "{errors}");
}

#[tokio::test]
async fn rejects_other_files_by_their_name() {
    let folder = Folder::new("corrupted");
    let store = FileStore::open(folder.file()).unwrap();
    save(&store, turn("1", "a", "one")).await;
    drop(store);
    let bytes = std::fs::read(folder.file()).unwrap();
    for wrong in [
        &b"a file that is long enough, but not a database"[..],
        &bytes[..bytes.len() / 2],
    ] {
        std::fs::write(folder.file(), wrong).unwrap();
        let error = FileStore::open(folder.file()).unwrap_err().to_string();
        assert!(
            error.contains("sessions.redb") && error.contains("specify another file"),
            "{error}"
        );
        assert_eq!(
            std::fs::read(folder.file()).unwrap(),
            wrong,
            "the file is unchanged"
        );
    }
    let error = FileStore::open(&folder.0).unwrap_err().to_string();
    assert!(error.contains("directory"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn file_is_private_and_opened_once() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("once");
    let store = FileStore::open(folder.file()).unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder.file()), mode(&folder.0)), (0o600, 0o700));
    let error = FileStore::open(folder.file()).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "sessions.redb: another process has the file open; stop that process, or specify another file"
        ),
        "{error}"
    );
    drop(store);
    FileStore::open(folder.file()).unwrap();
}

/// With a new secret, no stored session would be found.
#[tokio::test]
async fn rejects_a_file_that_has_lost_its_secret() {
    const SECRET: TableDefinition<'_, (), &[u8; 32]> = TableDefinition::new("secret");
    let folder = Folder::new("lost");
    let store = FileStore::open(folder.file()).unwrap();
    save(&store, turn("1", "a", "one")).await;
    assert!(!format!("{store:?}").contains("secret"));
    drop(store);
    let change = |change: fn(&redb::WriteTransaction)| {
        let database = redb::Database::open(folder.file()).unwrap();
        let transaction = database.begin_write().unwrap();
        change(&transaction);
        transaction.commit().unwrap();
    };
    let open = || FileStore::open(folder.file()).unwrap_err().to_string();
    change(|transaction| {
        transaction.open_table(SECRET).unwrap().remove(()).unwrap();
    });
    assert!(
        open().ends_with(
            "sessions.redb: cannot read the secret of the session file: missing secret; restore the file from a backup, or specify another file"
        ),
        "{}",
        open()
    );
    change(|transaction| {
        transaction.delete_table(SECRET).unwrap();
        let short: TableDefinition<'_, (), &[u8; 16]> = TableDefinition::new("secret");
        transaction
            .open_table(short)
            .unwrap()
            .insert((), &[0; 16])
            .unwrap();
    });
    assert!(
        open().contains("sessions.redb: cannot read the secret of the session file: "),
        "{}",
        open()
    );
}
