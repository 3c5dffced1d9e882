//! `Read`: lines with numbers, parts of large files, images, and files that are not text.

use serde_json::json;

use crate::folder::TestFolder;

#[tokio::test]
async fn lines_have_the_numbers_of_the_file() {
    let folder = TestFolder::new();
    folder.write("a.txt", "one\r\n\ttwo\n\nlast");
    let all = folder.call("Read", json!({ "file_path": "a.txt" })).await;
    assert_eq!(all.ok(), "1\tone\n2\t\ttwo\n3\t\n4\tlast");
    let part = folder
        .call("Read", json!({ "file_path": "./a.txt", "offset": 2, "limit": 2 }))
        .await;
    assert_eq!(
        part.ok(),
        "2\t\ttwo\n3\t\n(lines 2 to 3 of 4; continue with `offset` 4)"
    );
    let path = folder.path.join("a.txt");
    let end = folder
        .call("Read", json!({ "file_path": path, "offset": 4 }))
        .await;
    assert_eq!(end.ok(), "4\tlast\n(the end: the file has 4 lines)");
    let beyond = folder
        .call("Read", json!({ "file_path": "a.txt", "offset": 5 }))
        .await;
    assert_eq!(
        beyond.text(),
        "not_found: `a.txt` has 4 lines; send an `offset` of at most 4"
    );
    folder.write("empty", "");
    let empty = folder
        .call("Read", json!({ "file_path": "empty", "offset": 5 }))
        .await;
    assert_eq!(empty.ok(), "`empty` is empty");
}

#[tokio::test]
async fn long_files_and_lines_are_shown_in_parts() {
    let folder = TestFolder::new();
    folder.write("lines", "line\n".repeat(5_000));
    let lines = folder.call("Read", json!({ "file_path": "lines" })).await;
    assert!(
        lines
            .ok()
            .ends_with("\n(lines 1 to 2000 of 5000; continue with `offset` 2001)")
    );
    assert_eq!(lines.text().lines().count(), 2_001);
    folder.write("long", format!("{}\nb\n", "é".repeat(3_000)));
    let long = folder.call("Read", json!({ "file_path": "long" })).await;
    assert_eq!(
        long.ok(),
        format!("1\t{}… [+1000 characters]\n2\tb", "é".repeat(2_000))
    );
    folder.write("bytes", format!("{}\n", "a".repeat(1_999)).repeat(500));
    let bytes = folder.call("Read", json!({ "file_path": "bytes" })).await;
    assert!(bytes.ok().len() <= 100 << 10, "{}", bytes.text().len());
    assert!(
        bytes.text().ends_with("of 500; continue with `offset` 52)"),
        "{}",
        bytes.text()
    );
}

#[tokio::test]
async fn file_over_20_mib_is_not_counted() {
    let folder = TestFolder::new();
    folder.write("big", "0123456789\r\n".repeat(2 << 20));
    let start = folder
        .call(
            "Read",
            json!({ "file_path": "big", "offset": 1_000_000, "limit": 2 }),
        )
        .await;
    assert_eq!(
        start.ok(),
        "1000000\t0123456789\n1000001\t0123456789\n(lines 1000000 to 1000001 of a file of 25165824 bytes; continue with `offset` 1000002)"
    );
    let past = folder
        .call("Read", json!({ "file_path": "big", "offset": 9_000_000 }))
        .await;
    assert!(past.text().contains("has 2097152 lines"), "{}", past.text());
}

#[tokio::test]
async fn images_are_recognized_by_their_bytes() {
    let folder = TestFolder::new();
    folder.write("a.txt", b"\x89PNG\r\n\x1a\n and more");
    let image = folder.call("Read", json!({ "file_path": "a.txt" })).await;
    let shown = serde_json::to_value(&image.0.result).unwrap();
    assert_eq!(shown["content"][0]["type"], "image");
    assert_eq!(shown["content"][0]["source"]["media_type"], "image/png");
    folder.write("a.png", "text");
    assert_eq!(
        folder.call("Read", json!({ "file_path": "a.png" })).await.ok(),
        "1\ttext"
    );
    folder.write("big.gif", [b"GIF89a".to_vec(), vec![0; 6 << 20]].concat());
    assert_eq!(
        folder
            .call("Read", json!({ "file_path": "big.gif" }))
            .await
            .code(),
        "too_large"
    );
}

#[tokio::test]
async fn bytes_that_are_not_text_are_reported() {
    let folder = TestFolder::with(|options| options.legacy_encoding("shift_jis"));
    folder.write("binary", b"a\0b");
    assert_eq!(
        folder.call("Read", json!({ "file_path": "binary" })).await.code(),
        "binary"
    );
    folder.write("invalid", b"a\nb\x81\n");
    let invalid = folder.call("Read", json!({ "file_path": "invalid" })).await;
    assert_eq!(
        invalid.ok(),
        "1\ta\n2\tb\u{fffd}\n(Line 2 has the byte 0x81, which is invalid in the file's encoding and shown as \u{fffd}. The file cannot be \
         edited.)"
    );
    let edit = json!({ "file_path": "invalid", "old_string": "a", "new_string": "b" });
    assert_eq!(folder.call("Edit", edit).await.code(), "not_text");
    folder.write("legacy", b"\x93\xfa\x96{\n");
    assert_eq!(
        folder.call("Read", json!({ "file_path": "legacy" })).await.ok(),
        "1\t日本"
    );
    let edit = json!({ "file_path": "legacy", "old_string": "本", "new_string": "曜" });
    folder.call("Edit", edit).await.ok();
    assert_eq!(folder.bytes("legacy"), b"\x93\xfa\x97j\n");
    let edit = json!({ "file_path": "legacy", "old_string": "曜", "new_string": "🦀" });
    assert_eq!(folder.call("Edit", edit).await.code(), "not_text");
    let pages = folder
        .call("Read", json!({ "file_path": "legacy", "pages": "1-2" }))
        .await;
    assert!(
        pages.text().contains("`pages` is for PDF files"),
        "{}",
        pages.text()
    );
}

#[tokio::test]
async fn folders_and_missing_files_have_advice() {
    let folder = TestFolder::with(|options| options.deny(["**/.env*"]));
    folder.write("src/main.rs", "");
    folder.write(".env", "");
    let directory = folder.call("Read", json!({ "file_path": "src" })).await;
    assert_eq!(
        directory.text(),
        "is_a_directory: `src` is a folder; LS lists a folder, and Glob and Grep search it"
    );
    let similar = folder.call("Read", json!({ "file_path": "src/main.py" })).await;
    assert_eq!(
        similar.text(),
        "not_found: `src/main.py` does not exist; similar existing names: main.rs"
    );
    let above = folder.call("Read", json!({ "file_path": "scr/main.rs" })).await;
    assert!(
        above
            .text()
            .contains("nor does its folder `scr`; similar existing names: src"),
        "{}",
        above.text()
    );
    // A denied file is not named.
    let similar = folder.call("Read", json!({ "file_path": "env" })).await;
    assert_eq!(similar.text(), "not_found: `env` does not exist");
}
