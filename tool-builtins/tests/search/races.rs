//! Searches of a folder that another thread exchanges for a link which leads out.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::folder::TestFolder;

#[tokio::test]
async fn search_of_a_folder_that_is_swapped_for_a_link_leads_nowhere() {
    let outer = TestFolder::new();
    outer.write("outside/hidden", "needle of the outside\n");
    outer.write("root/name/file", "needle\n");
    let root = outer.path.join("root");
    let folder = TestFolder::searching_at(&root);
    let is_done = Arc::new(AtomicBool::new(false));
    let swapping = {
        let (is_done, root, outside) = (Arc::clone(&is_done), root.clone(), outer.path.join("outside"));
        std::thread::spawn(move || {
            let (name, other) = (root.join("name"), root.join("other"));
            symlink(&outside, &other).unwrap();
            while !is_done.load(Ordering::Relaxed) {
                renameat_with(CWD, &name, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
            fs::remove_file(if name.is_symlink() { name } else { other }).unwrap();
        })
    };
    for _ in 0..500 {
        for (tool, arguments) in [
            ("Grep", json!({ "pattern": "needle", "output_mode": "content" })),
            (
                "Grep",
                json!({ "pattern": "needle", "output_mode": "content", "path": "name" }),
            ),
            ("Glob", json!({ "pattern": "**/*" })),
            ("Glob", json!({ "pattern": "*", "path": "name" })),
        ] {
            let answer = folder.call(tool, arguments).await;
            let text = answer.text();
            assert!(!text.contains("outside\n") && !text.contains("hidden"), "{text}");
            assert!(!text.contains("of the outside"), "{text}");
        }
    }
    is_done.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
}
