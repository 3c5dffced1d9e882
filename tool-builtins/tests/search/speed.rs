//! Times of calls, beside their targets:
//! `cargo test -p tool-builtins --release --features search,shell --test search --test shell -- --ignored --nocapture takes_little`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::folder::TestFolder;

const FOLDERS: usize = 240;
const FILES_OF_FOLDER: usize = 100;
const REPEATS: u32 = 5;

/// Returns the processor time of this process, or of its ended children, in milliseconds.
fn processor_time(of_children: bool) -> u32 {
    // Linux counts a hundred ticks in a second for programs, on every system.
    const TICK: u32 = 10;
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // `utime` and `stime` are the fields 14 and 15, `cutime` and `cstime` the next two.
    let first = if of_children { 13 } else { 11 };
    let ticks = |field: usize| fields[field].parse::<u32>().unwrap();
    TICK * (ticks(first) + ticks(first + 1))
}

fn report(what: &str, measured: f64, unit: &str, target: f64) {
    let verdict = if measured <= target { "met" } else { "MISSED" };
    println!("{what}: {measured:.2}{unit}, target {target}{unit}: {verdict}");
}

/// Returns the shortest time of a call in milliseconds.
async fn shortest(folder: &TestFolder, tool: &str, arguments: impl Fn(u32) -> Value) -> f64 {
    let mut shortest = Duration::MAX;
    for at in 0..20 {
        let began = Instant::now();
        let answer = folder.call(tool, arguments(at)).await;
        shortest = shortest.min(began.elapsed());
        answer.ok();
    }
    shortest.as_secs_f64() * 1_000.0
}

#[tokio::test]
#[ignore = "a measurement"]
async fn search_read_or_edit_takes_little_time() {
    // In memory, where there is such a disk.
    let memory = Path::new("/dev/shm");
    let outer = TestFolder::searching();
    let path = if memory.is_dir() { memory } else { &outer.path };
    let path = path.join(format!("tool-builtins-speed-{}", std::process::id()));
    fs::create_dir(&path).unwrap();
    let folder = TestFolder::searching_at(&path);
    let line = "    let value = compute(first, second, third); // a line of a source\n";
    for at in 0..FOLDERS {
        let path = folder.path.join(format!("d{at}"));
        fs::create_dir(&path).unwrap();
        for file in 0..FILES_OF_FOLDER {
            fs::write(path.join(format!("f{file}.rs")), line.repeat(20 + file)).unwrap();
        }
    }
    folder.write("d200/needle.rs", "the needle\n");
    let pattern = r"need\w+e";
    let search = json!({ "pattern": pattern });
    folder.call("Grep", search.clone()).await.ok();
    let before = processor_time(false);
    for _ in 0..REPEATS {
        assert_eq!(folder.call("Grep", search.clone()).await.ok(), "d200/needle.rs");
    }
    let ours = processor_time(false) - before;
    let ripgrep = || {
        let mut ripgrep = Command::new("rg");
        let found = ripgrep
            .current_dir(&folder.path)
            .args(["-l", "--hidden", "-e", pattern, "."]);
        found.stdin(Stdio::null()).output()
    };
    if ripgrep().is_ok() {
        let before = processor_time(true);
        for _ in 0..REPEATS {
            assert_eq!(ripgrep().unwrap().stdout, b"./d200/needle.rs\n");
        }
        let theirs = processor_time(true) - before;
        println!(
            "24,000 files, processor time of a search: {} ms, of rg {} ms",
            ours / REPEATS,
            theirs / REPEATS
        );
        report("Grep", f64::from(ours) / f64::from(theirs.max(1)), " × rg", 1.5);
    } else {
        println!("IGNORED: ripgrep is missing");
    }
    folder.write("lines", line.repeat(2_000));
    let read = shortest(&folder, "Read", |_| json!({ "file_path": "lines" })).await;
    report("Read of 2,000 lines", read, " ms", 2.0);
    folder.write(
        "large",
        format!("{}number 0;\n", line.repeat((1 << 20) / line.len())),
    );
    let edit = |at: u32| json!({ "file_path": "large", "old_string": format!("number {at};"), "new_string": format!("number {};", at + 1) });
    let edit = shortest(&folder, "Edit", edit).await;
    report("Edit of a file of 1 MB", edit, " ms", 10.0);
}
