//! A measured process, with its processor time and memory from the operating system.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// A process that is killed on drop.
pub struct Process(Child);

impl Process {
    /// Starts a server, and waits until it listens.
    pub fn start(command: &mut Command, address: SocketAddr) -> Result<Self, String> {
        let shown = format!("{command:?}");
        let failed = |what: &str| format!("{what}; to see why, run {shown}");
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut process = Self(child.map_err(|error| failed(&error.to_string()))?);
        let begin = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Ok(Some(status)) = process.0.try_wait() {
                return Err(failed(&format!("it ended with {status}")));
            }
            if begin.elapsed() > Duration::from_secs(30) {
                return Err(failed("it did not listen within 30 s"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(process)
    }

    /// Ends the process, and waits for its end.
    pub fn terminate(mut self) {
        kill(self.id(), Signal::SIGTERM).expect("a running process");
        self.0.wait().expect("a child process");
    }

    fn id(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.0.id()).expect("an id of a process"))
    }

    /// Returns the processor time of all threads.
    pub fn processor_time(&self) -> Duration {
        let clock = clock_getcpuclockid(self.id()).expect("a clock");
        clock_gettime(clock).expect("a time").into()
    }

    /// Returns the resident memory in MB.
    pub fn memory(&self) -> f64 {
        self.status("VmRSS:")
    }

    /// Returns the peak memory in MB.
    pub fn peak(&self) -> f64 {
        self.status("VmHWM:")
    }

    fn status(&self, field: &str) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).expect("a running process");
        let value = status
            .lines()
            .find_map(|line| line.strip_prefix(field))
            .expect("a figure");
        let kilobytes: f64 = value.trim().trim_end_matches(" kB").parse().expect("a number");
        kilobytes * 1024.0 / 1e6
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a free port.
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("an address")
}
