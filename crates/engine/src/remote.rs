//! A worker on a thread of its own. It opens its ring and connections there, since neither may move
//! between threads.

use crate::worker::{Lane, Worker, WorkloadSecond};
use block::{Driver, Span, Time};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use workload::Spec;

/// A worker, its driver, and a clock of its thread's processor time.
pub struct Player {
    /// The lanes.
    pub worker: Worker,
    /// The driver that waits.
    pub driver: Box<dyn Driver>,
    /// Returns the calling thread's processor time so far.
    pub cpu: fn() -> Span,
    /// Opens the lanes of a workload whose storage does not exist at the start. Called with a
    /// workload's number whenever it is reshaped to have connections; returns no lanes if it has
    /// them already.
    pub late: Late,
}

/// See [`Player::late`]. An error is one line.
pub type Late = Box<dyn FnMut(usize, Time) -> Result<Vec<Lane>, String>>;

enum Order {
    Run(Time),
    Reshape(usize, Spec),
}

struct Report {
    workloads: Vec<WorkloadSecond>,
    cpu: Span,
    /// Why late lanes could not be opened.
    failed: Option<String>,
}

/// The handle of a worker on another thread.
pub struct RemoteWorker {
    orders: Option<SyncSender<Order>>,
    reports: Receiver<Report>,
    thread: Option<JoinHandle<()>>,
}

/// Why a worker on another thread cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// Its thread ended early; the message it printed says why.
    #[error("the load thread ended early")]
    Gone,
    /// Storage that should exist by now could not be opened.
    #[error("{0}")]
    Late(String),
}

impl RemoteWorker {
    /// Starts a thread, calls `make` there, and waits until the player is made.
    ///
    /// # Errors
    /// The error of `make`, or the thread could not be started.
    pub fn start<E, F>(name: &str, make: F) -> Result<RemoteWorker, E>
    where
        F: FnOnce() -> Result<Player, E> + Send + 'static,
        E: From<std::io::Error> + Send + 'static,
    {
        let (orders, inbox) = sync_channel(1);
        let (outbox, reports) = sync_channel(1);
        let (made, is_made) = sync_channel(1);
        let body = move || match make() {
            Ok(player) => {
                let _ = made.send(Ok(()));
                serve(player, &inbox, &outbox);
            }
            Err(error) => {
                let _ = made.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(body)?;
        is_made.recv().unwrap_or_else(|_| Err(std::io::Error::other("the load thread did not start").into()))?;
        Ok(RemoteWorker { orders: Some(orders), reports, thread: Some(thread) })
    }

    /// Drives the lanes until `until`. Returns what they did since the last call, and the processor
    /// time it took.
    ///
    /// # Errors
    /// The thread has ended, or storage that a workload uses from now on could not be opened.
    pub fn run(&mut self, until: Time) -> Result<(Vec<WorkloadSecond>, Span), WorkerError> {
        self.send(Order::Run(until))?;
        let report = self.reports.recv().map_err(|_| WorkerError::Gone)?;
        report.failed.map_or(Ok((report.workloads, report.cpu)), |why| Err(WorkerError::Late(why)))
    }

    /// Changes a workload's load from now on.
    ///
    /// # Errors
    /// The thread has ended.
    pub fn reshape(&mut self, workload: usize, spec: &Spec) -> Result<(), WorkerError> {
        self.send(Order::Reshape(workload, spec.clone()))
    }

    fn send(&mut self, order: Order) -> Result<(), WorkerError> {
        self.orders.as_ref().ok_or(WorkerError::Gone)?.send(order).map_err(|_| WorkerError::Gone)
    }
}

impl Drop for RemoteWorker {
    /// Ends the thread after its current order.
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// How long the end of a run waits for outstanding requests at most, so that stalled storage does
/// not block it.
const SETTLE: Span = Span::from_secs(2);

/// Executes orders; at the end lets outstanding requests complete before connections are closed.
fn serve(mut player: Player, inbox: &Receiver<Order>, outbox: &SyncSender<Report>) {
    carry_out(&mut player, inbox, outbox);
    let latest = player.driver.now() + SETTLE;
    player.worker.settle(&mut *player.driver, latest);
}

fn carry_out(player: &mut Player, inbox: &Receiver<Order>, outbox: &SyncSender<Report>) {
    let (mut cpu_before, mut failed) = ((player.cpu)(), None);
    while let Ok(order) = inbox.recv() {
        match order {
            Order::Run(until) => {
                player.worker.run(&mut *player.driver, until);
                let cpu = (player.cpu)();
                let cpu_used = cpu.saturating_sub(cpu_before);
                let report = Report { workloads: player.worker.collect(), cpu: cpu_used, failed: failed.take() };
                cpu_before = cpu;
                if outbox.send(report).is_err() {
                    return;
                }
            }
            Order::Reshape(workload, spec) => {
                if spec.connections > 0 {
                    match (player.late)(workload, player.driver.now()) {
                        Ok(lanes) => player.worker.add(lanes),
                        Err(why) => failed = Some(why),
                    }
                }
                player.worker.reshape(player.driver.now(), workload, &spec);
            }
        }
    }
}
