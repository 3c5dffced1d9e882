//! Queue of writes that share a transaction and its sync ([`WriteQueue`]).

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redb::WriteTransaction;
use tokio::sync::oneshot;

use crate::session::database::{Failed, FileDatabase};
use crate::session::store::StoreError;

/// Writes that wait for a transaction. Writes that arrive during a transaction are part of the next one.
#[derive(Debug)]
pub(super) struct WriteQueue {
    database: Arc<FileDatabase>,
    pending: Mutex<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    writes: Vec<QueuedWrite>,
    /// Whether a thread is writing.
    is_writing: bool,
    /// Duration of the last transaction.
    last_transaction: Duration,
}

type WriteFn = dyn Fn(&WriteTransaction) -> Result<(), Failed> + Send;

/// A write, and the request that waits for the write. The write is skipped if the request has stopped waiting: the request has failed, and
/// its retry may have stored newer entries.
struct QueuedWrite {
    /// Function of the write, which is called again if another write of the transaction fails.
    write: Box<WriteFn>,
    done: oneshot::Sender<Result<(), StoreError>>,
}

impl fmt::Debug for QueuedWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueuedWrite").finish_non_exhaustive()
    }
}

/// Maximum number of writes in a transaction.
const MAX_WRITES: usize = 256;

/// Maximum time for which a transaction waits for further writes.
const MAX_WAIT: Duration = Duration::from_millis(10);

/// Minimum time for which a thread sleeps. A shorter wait is skipped.
const MIN_WAIT: Duration = Duration::from_micros(100);

impl WriteQueue {
    pub(super) fn new(database: Arc<FileDatabase>) -> Self {
        Self {
            database,
            pending: Mutex::default(),
        }
    }

    /// Queues a write, and waits until the write is on the disk. Returns the value of the write.
    pub(super) async fn write<T: Send + 'static>(
        self: Arc<Self>,
        write: impl Fn(&WriteTransaction) -> Result<T, Failed> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (done, is_done) = oneshot::channel();
        let value = Arc::new(Mutex::new(None));
        let written = Arc::clone(&value);
        let write = Box::new(move |transaction: &WriteTransaction| {
            let value = write(transaction)?;
            *written.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            Ok(())
        });
        let is_first = {
            let mut pending = self.lock();
            pending.writes.push(QueuedWrite { write, done });
            !std::mem::replace(&mut pending.is_writing, true)
        };
        if is_first {
            let writer = Writer {
                queue: self,
                has_ended: false,
            };
            tokio::task::spawn_blocking(move || writer.run());
        }
        let failed = || StoreError("the thread for the file failed".to_owned());
        is_done.await.map_err(|_| failed())??;
        let value = value.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.ok_or_else(failed)
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        // No panic can leave a partial change, so the value of a poisoned lock is valid.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits a tenth of the duration of the last transaction. Requests whose writes ended together queue their next writes in this time.
    /// Without the wait, the first of these writes would be a separate transaction, and the other writes would wait for two transactions.
    fn wait_for_more(&self) {
        let last = self.lock().last_transaction;
        let time = (last / 10).min(MAX_WAIT);
        if time > MIN_WAIT {
            std::thread::sleep(time);
        }
    }

    /// Removes the writes of the next transaction from the queue.
    fn take(&self) -> Vec<QueuedWrite> {
        let mut pending = self.lock();
        let count = pending.writes.len().min(MAX_WRITES);
        pending.writes.drain(..count).collect()
    }

    /// Executes writes in one transaction. Returns their results.
    ///
    /// If a single write fails, it is removed from the transaction, and the others are executed again.
    fn commit(&self, mut writes: Vec<QueuedWrite>) -> Vec<FinishedWrite> {
        let mut answers = Vec::new();
        loop {
            writes.retain(|queued| !queued.done.is_closed());
            if writes.is_empty() {
                return answers;
            }
            let mut rejected = None;
            let began = Instant::now();
            let written = self.database.write(|transaction| {
                for (index, queued) in writes.iter().enumerate() {
                    if queued.done.is_closed() {
                        continue;
                    }
                    match (queued.write)(transaction) {
                        Err(Failed::Store(error)) => {
                            rejected = Some(index);
                            return Err(Failed::Store(error));
                        }
                        written => written?,
                    }
                }
                Ok(())
            });
            self.lock().last_transaction = began.elapsed();
            let answered = match rejected {
                Some(index) if written.is_err() => index..index + 1,
                _ => 0..writes.len(),
            };
            let answered = writes.drain(answered);
            answers.extend(answered.map(|queued| FinishedWrite {
                done: queued.done,
                written: written.clone(),
            }));
        }
    }

    /// Returns whether no writes are queued. If so, the thread ends, and the next write starts another thread.
    fn ends(&self) -> bool {
        let mut pending = self.lock();
        pending.is_writing = !pending.writes.is_empty();
        !pending.is_writing
    }
}

/// Result of a write, for its request.
struct FinishedWrite {
    done: oneshot::Sender<Result<(), StoreError>>,
    written: Result<(), StoreError>,
}

impl FinishedWrite {
    fn send(self) {
        // The request may have stopped waiting.
        let _ = self.done.send(self.written);
    }
}

/// A thread that executes queued writes.
struct Writer {
    queue: Arc<WriteQueue>,
    has_ended: bool,
}

impl Writer {
    fn run(mut self) {
        while !self.has_ended {
            self.queue.wait_for_more();
            let writes = self.queue.take();
            let answers = self.queue.commit(writes);
            if !self.queue.ends() {
                answers.into_iter().for_each(FinishedWrite::send);
                continue;
            }
            self.has_ended = true;
            // A store can be closed after the result of its last write, so this thread must release the file before it sends the result.
            drop(self);
            return answers.into_iter().for_each(FinishedWrite::send);
        }
    }
}

/// If the thread panics, or does not start because its runtime ends, the queued writes fail. The next write starts another thread.
impl Drop for Writer {
    fn drop(&mut self) {
        if !self.has_ended {
            *self.queue.lock() = Pending::default();
        }
    }
}
