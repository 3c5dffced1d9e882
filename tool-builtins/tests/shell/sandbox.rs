//! Confinement of commands. The tests are skipped, loudly, where the kernel has no Landlock, unless `SANDBOX_TESTS=required`.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::process::Command;

use tool_builtins::shell::{Sandbox, ShellOptions};

use crate::lab::Lab;

/// Returns whether the system confines commands completely.
fn is_supported(lab: &Lab) -> bool {
    let confinement = lab.shell().confinement();
    let is_supported =
        confinement.confines_writes() && confinement.confines_signals() && confinement.confines_network();
    if !is_supported {
        let is_required = std::env::var_os("SANDBOX_TESTS").is_some_and(|value| value == "required");
        assert!(!is_required, "commands are not confined: {confinement}");
        eprintln!("SKIPPED: this kernel does not confine commands completely: {confinement}");
    }
    is_supported
}

fn has_program(name: &str) -> bool {
    let has = Command::new("sh")
        .args(["-c", &format!("command -v {name} >/dev/null")])
        .status()
        .unwrap()
        .success();
    if !has {
        eprintln!("SKIPPED: this system has no {name}");
    }
    has
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_outside_of_the_workspace_are_refused() {
    let lab = Lab::new();
    if !is_supported(&lab) {
        return;
    }
    let outside = lab.folder.join("outside");
    fs::write(&outside, "kept").unwrap();
    let out = format!("'{}'", outside.display().to_string().replace('\'', r"'\''"));
    for command in [
        format!("echo lost > {out}"),
        format!("echo lost >> {out}"),
        format!("rm {out}"),
        format!("mv {out} here"),
        format!("ln {out} here && echo lost > here"),
        format!("ln -s {out} link && echo lost > link"),
        format!("truncate -s 0 {out}"),
        format!("cp /dev/null {out}"),
        format!("mkdir {out}.d"),
        format!("mkfifo {out}.p"),
        "echo lost > ../outside".to_owned(),
        "echo x > /tmp/tool-shell-outside".to_owned(),
        // The output of the command itself is not cut.
        "echo x; echo y > /dev/stderr".to_owned(),
    ] {
        let text = lab.bash(&command).await;
        assert!(
            text.starts_with("exit code ") && text.contains("denied")
                || text.contains("not permitted")
                || text.contains("cross-device"),
            "{command}: {text}"
        );
        assert_eq!(fs::read_to_string(&outside).unwrap(), "kept", "{command}");
        let _ = fs::remove_file(lab.work().join("link"));
    }
    let text = lab.bash("echo x > inside && echo y > \"$TMPDIR/y\" && echo z > /dev/null && echo s > /dev/shm/tool-shell-$$ && rm /dev/shm/tool-shell-$$ && mkdir d && mv inside d && ls d").await;
    assert_eq!(text, "inside");
}

#[tokio::test(flavor = "multi_thread")]
async fn workspace_is_read_only_unless_it_is_writable() {
    let lab = Lab::with(|options| options);
    if !is_supported(&lab) {
        return;
    }
    fs::write(lab.work().join("file"), "kept").unwrap();
    let text = lab.bash("cat file; echo lost > file").await;
    assert!(
        text.starts_with("exit code 1\nkept") && text.contains("denied"),
        "{text}"
    );
    assert_eq!(fs::read_to_string(lab.work().join("file")).unwrap(), "kept");
    let bash = lab.registry.get_tool("Bash").unwrap();
    assert!(
        bash.definition()
            .description
            .ends_with(" Commands can write only below $TMPDIR, and have no network.")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_can_be_limited() {
    let lab = Lab::with(|options| {
        options
            .writable(true)
            .readable(["/usr", "/bin", "/lib", "/lib64", "/etc", "/dev", "/proc"])
    });
    if !is_supported(&lab) {
        return;
    }
    fs::write(lab.folder.join("secret"), "key").unwrap();
    fs::write(lab.work().join("file"), "text").unwrap();
    let text = lab
        .bash("cat file; echo; cat ../secret; ls ..; mktemp >/dev/null")
        .await;
    assert!(
        text.contains("text") && !text.contains("key") && text.matches("denied").count() == 2,
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn other_processes_are_out_of_reach() {
    let lab = Lab::new();
    if !is_supported(&lab) {
        return;
    }
    let id = std::process::id();
    for command in [
        format!("kill -0 {id}"),
        format!("kill -CONT {id}"),
        "kill -0 $PPID".to_owned(),
        format!("cat /proc/{id}/environ"),
        format!("tr '\\0' '\\n' < /proc/{id}/environ"),
        format!("head -c1 /proc/{id}/mem"),
        "cat /proc/$PPID/environ".to_owned(),
        format!("ls -l /proc/{id}/fd"),
        format!("ls /proc/{id}/cwd/"),
    ] {
        let text = lab.bash(&command).await;
        let is_refused = ["denied", "not permitted"]
            .iter()
            .any(|reason| text.contains(reason));
        assert!(text.starts_with("exit code ") && is_refused, "{command}: {text}");
        assert!(!text.contains("CARGO_MANIFEST_DIR"), "{command}");
    }
    let text = lab
        .bash("grep -E '^(Cap(Prm|Eff|Bnd)|NoNewPrivs|Seccomp):' /proc/self/status")
        .await;
    let zero = "0000000000000000";
    assert!(
        text.contains(&format!("CapPrm:\t{zero}\nCapEff:\t{zero}\n")),
        "{text}"
    );
    assert!(
        text.contains("NoNewPrivs:\t1") && text.contains("Seccomp:\t2"),
        "{text}"
    );
    // A command cannot reach the processes of another one, either.
    lab.bash("sleep 600 & echo $! > id").await;
    assert!(lab.bash("kill $(cat id)").await.contains("not permitted"));
}

#[tokio::test(flavor = "multi_thread")]
async fn network_is_refused() {
    let lab = Lab::new();
    if !is_supported(&lab) || !has_program("python3") {
        return;
    }
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let path = lab.work().join("socket");
    let _unix = UnixListener::bind(&path).unwrap();
    let (tcp, udp) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    let python = |code: String| format!("python3 -c '{code}'");
    for command in [
        format!("exec 3<>/dev/tcp/127.0.0.1/{tcp}"),
        format!("echo x > /dev/udp/127.0.0.1/{udp}"),
        python(format!(
            "import socket; socket.create_connection((\"127.0.0.1\", {tcp}))"
        )),
        python("import socket; socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)".to_owned()),
        python("import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)".to_owned()),
        python("import socket; socket.socket(40, socket.SOCK_STREAM)".to_owned()),
        python("import socket; socket.socket(socket.AF_UNIX).connect(\"socket\")".to_owned()),
        python("import socket; socket.getaddrinfo(\"example.com\", 80)".to_owned()),
    ] {
        let text = lab.bash(&command).await;
        let is_refused = [
            "denied",
            "not permitted",
            "name resolution",
            "Name or service not known",
            "gaierror",
        ]
        .iter()
        .any(|reason| text.contains(reason));
        assert!(text.starts_with("exit code ") && is_refused, "{command}: {text}");
    }
    let text = lab
        .bash("python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); print(b.recv(1))'")
        .await;
    assert_eq!(text, "b'x'");
    let open = Lab::with(|options| options.writable(true).network(true));
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    assert_eq!(
        open.bash(&format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected"))
            .await,
        "connected"
    );
    let bash = open.registry.get_tool("Bash").unwrap();
    assert!(!bash.definition().description.contains("network"));
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_of_developers_work() {
    let lab = Lab::new();
    if !is_supported(&lab) {
        return;
    }
    if has_program("git") {
        let text = lab
            .bash("git init -q repo && cd repo && echo x > a && git add a && git -c user.name=A -c user.email=a@b commit -qm first && git log --format=%s")
            .await;
        assert_eq!(text, "first");
        lab.bash("cd ..").await;
    }
    if has_program("python3") {
        let text = lab.bash("python3 -m venv --without-pip env && ./env/bin/python -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, 2]))'").await;
        assert_eq!(text, "[1, 2]");
    }
    if has_program("cargo") {
        let text = lab
            .bash_with(serde_json::json!({ "command": "cargo new -q --vcs none hello && cd hello && cargo run -q --offline", "timeout": 300_000 }))
            .await;
        assert_eq!(text, "Hello, world!");
    }
}

#[tokio::test]
async fn root_is_refused_unless_it_is_allowed() {
    let lab = Lab::new();
    if fs::metadata("/proc/self")
        .map(|proc| std::os::unix::fs::MetadataExt::uid(&proc))
        .unwrap()
        != 0
    {
        eprintln!("SKIPPED: the tests do not run as root");
        return;
    }
    let options = ShellOptions::new(lab.work(), lab.folder.join("second"));
    let error = tool_builtins::shell::Shell::new(&options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "commands would run as root; run the process as another user, or allow root"
    );
}

#[tokio::test]
async fn sandbox_can_be_off() {
    let lab = Lab::with(|options| options.sandbox(Sandbox::Off));
    assert_eq!(lab.bash("echo x > file; cat file").await, "x");
    assert_eq!(lab.shell().confinement().to_string(), "off");
    let bash = lab.registry.get_tool("Bash").unwrap();
    assert!(
        bash.definition()
            .description
            .ends_with(" Commands are not confined.")
    );
}
