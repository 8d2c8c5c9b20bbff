//! One connection: read, execute the batch, write, again.
//!
//! Between reads a connection owns no buffer: io_uring fills one of the worker's, and under
//! readiness polling the worker's own is filled once the socket is readable. Only a command that
//! arrives in pieces is kept, until the rest is there.

use std::cell::RefCell;
use std::io;
use std::ops::Deref;
use std::os::fd::AsFd;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use compio::BufResult;
use compio::buf::IoBuf;
use compio::driver::BufferRef;
use compio::io::{AsyncReadManaged, AsyncWriteExt};
use compio::runtime::fd::PollFd;
use resp::output::OutputBuffer;
use resp::reply::Reply;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::batch::{self, Input, Pause};
use crate::client::{Client, ClientInfo, Wait};
use crate::listener::{Adopted, Stream};
use crate::server::{Server, clock};
use crate::settings::LogLevel;
use crate::transaction;
use crate::worker::Local;

/// Memory for the replies to one batch that a worker keeps for the next.
const KEPT_OUTPUT_BYTES: usize = 64 << 10;
/// How many such memories a worker keeps: as many as connections wait for a send at a time.
const KEPT_OUTPUTS: usize = 64;
/// Output in a mailbox above which its client's next commands wait, and how long at a time.
const MAIL_PAUSE_BYTES: usize = 1 << 20;
const MAIL_PAUSE: Duration = Duration::from_millis(1);
/// Memory for pieces of a command that a connection may keep once the command is executed.
const KEPT_INPUT_BYTES: usize = 16 << 10;

struct Connection<'a> {
    server: &'a Server,
    local: &'a RefCell<Local>,
    client: Client,
    state: Input,
    /// Input that no command has used up.
    pending: Vec<u8>,
    /// A task of its own writes what is in the client's mailbox.
    has_writer: bool,
    /// Replies not yet sent, in memory lent by the worker.
    output: OutputBuffer,
}

/// Serves a connection to its end.
pub async fn serve(server: &Server, local: &RefCell<Local>, adopted: &mut Adopted) {
    let Adopted { client, stream, .. } = adopted;
    let mut reader = match Reader::new(stream) {
        Ok(reader) => reader,
        Err(_) => return,
    };
    let needs_password = !local.borrow().worker.settings.password.is_empty();
    let mut connection = Connection {
        server,
        local,
        client: Client::new(Arc::clone(client), !needs_password),
        state: Input::default(),
        pending: Vec::new(),
        has_writer: false,
        output: OutputBuffer::new(),
    };
    // However the connection ends, by the client or by an error, there is nobody left to tell.
    let _ = connection.run(stream, &mut reader).await;
    if let Some(wait) = connection.client.wait.take() {
        // It ended before it began to wait: nobody is to serve it.
        wait.waiter.finish(server);
    }
    transaction::discard(&mut connection.client, &server.observers);
    server.pubsub.end(&mut connection.client);
    if let Some(mailbox) = connection.client.shared.mailbox.get() {
        // Whoever writes for this client is to end, too.
        mailbox.close();
        connection.client.shared.disconnect();
    }
}

impl Connection<'_> {
    async fn run(&mut self, stream: &mut Stream, reader: &mut Reader) -> io::Result<()> {
        while let Some(buffer) = reader.read(stream, self.local).await? {
            self.local.borrow().worker.stats.input_bytes.add(buffer.len() as u64);
            self.client.shared.input_bytes.add(buffer.len() as u64);
            let mut pause = if self.pending.is_empty() {
                let (consumed, pause) = self.execute(&buffer);
                self.pending.extend_from_slice(&buffer[consumed..]);
                pause
            } else {
                self.pending.extend_from_slice(&buffer);
                self.execute_pending()
            };
            // The buffer goes back to the worker before this task waits.
            buffer.give_back(self.local);
            if self.pending.len() > self.local.borrow().worker.settings.query_bytes_max {
                let text = "Closing client that reached max query buffer length";
                self.server.log(LogLevel::Warning, text);
                return Ok(());
            }
            loop {
                self.write_within_limits(stream).await?;
                match pause {
                    Pause::Closes => return Ok(()),
                    Pause::NeedsWrite => pause = self.execute_pending(),
                    Pause::Waits => {
                        self.wait(stream).await?;
                        pause = self.execute_pending();
                    }
                    Pause::NeedsInput(bytes) => {
                        self.rest(bytes);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Executes what stands in `input`; how much of it is used up, and why it ended.
    fn execute(&mut self, input: &[u8]) -> (usize, Pause) {
        if let Some(mailbox) = self.client.shared.mailbox.get() {
            mailbox.hold();
        }
        let local = &mut *self.local.borrow_mut();
        local.refresh_settings(self.server);
        if self.output.is_empty() {
            self.output = local.outputs.pop().unwrap_or_default();
        }
        batch::run(
            self.server,
            &mut local.worker,
            &mut local.scratch,
            &mut self.client,
            &mut self.state,
            input,
            &mut self.output,
        )
    }

    fn execute_pending(&mut self) -> Pause {
        let pending = std::mem::take(&mut self.pending);
        let (consumed, pause) = self.execute(&pending);
        self.pending = pending;
        self.pending.drain(..consumed);
        pause
    }

    /// Waits until the client is served or its time is up, and answers it. What it sends meanwhile
    /// is kept, and that it has gone is noticed.
    async fn wait(&mut self, stream: &Stream) -> io::Result<()> {
        let Some(wait) = self.client.wait.take() else { return Ok(()) };
        let shared = Arc::clone(&self.client.shared);
        shared.is_blocked.store(true, Ordering::Relaxed);
        let waited = self.wait_or_hear(stream, &wait).await;
        shared.is_blocked.store(false, Ordering::Relaxed);
        let reply = wait.waiter.finish(self.server);
        if let Some(mailbox) = shared.mailbox.get() {
            mailbox.hold();
        }
        match reply {
            Some(reply) => self.output.raw(&reply),
            None => {
                let mut reply = Reply::new(&mut self.output, self.client.protocol);
                wait.waiter.wish.answer_nothing(&mut reply);
            }
        }
        waited
    }

    async fn wait_or_hear(&mut self, stream: &Stream, wait: &Wait) -> io::Result<()> {
        let socket = stream.to_poll_fd()?;
        let mut served = pin!(wait.waiter.served());
        let mut time_up = pin!(async {
            match wait.deadline {
                Some(deadline) => compio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        });
        loop {
            let mut readable = pin!(socket.read_ready());
            let is_over = std::future::poll_fn(|context| {
                if served.as_mut().poll(context).is_ready()
                    || time_up.as_mut().poll(context).is_ready()
                {
                    return Poll::Ready(Ok(true));
                }
                readable.as_mut().poll(context).map(|result| result.map(|()| false))
            });
            if is_over.await? {
                return Ok(());
            }
            self.receive_meanwhile(&socket)?;
        }
    }

    /// Keeps what has arrived from a client that waits.
    fn receive_meanwhile(&mut self, socket: &PollFd<socket2::Socket>) -> io::Result<()> {
        let mut buffer = [0; 4096];
        match rustix::net::recv(socket.as_fd(), &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((length, _)) => {
                self.pending.extend_from_slice(&buffer[..length]);
                let limit_bytes = self.local.borrow().worker.settings.query_bytes_max;
                if self.pending.len() > limit_bytes {
                    return Err(io::ErrorKind::OutOfMemory.into());
                }
                Ok(())
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Prepares for a wait for at least `bytes` more of input.
    fn rest(&mut self, bytes: usize) {
        if self.pending.is_empty() {
            if self.pending.capacity() > KEPT_INPUT_BYTES {
                self.pending = Vec::new();
            }
        } else {
            // A large argument that has been announced gets its room at once, within reason.
            self.pending.reserve(bytes.min(1 << 20));
        }
        self.client.shared.query_bytes.store(self.pending.len(), Ordering::Relaxed);
    }

    /// Sends all output, unless it is more than the limits of output allow, or stays so for too long.
    async fn write_within_limits(&mut self, stream: &mut Stream) -> io::Result<()> {
        if self.client.shared.mailbox.get().is_some() {
            return self.post(stream).await;
        }
        let limit = self.local.borrow().worker.settings.output_limits.normal;
        let length = self.output.len_bytes() as u64;
        let is_over = |limit_bytes| limit_bytes != 0 && length >= limit_bytes;
        let result = if is_over(limit.hard_bytes) {
            Err(io::ErrorKind::TimedOut.into())
        } else if is_over(limit.soft_bytes) {
            let patience = Duration::from_secs(limit.soft_seconds.into());
            let sent = compio::time::timeout(patience, self.write(stream)).await;
            sent.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        } else {
            return self.write(stream).await;
        };
        if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            let text = "Client closed for overcoming of output buffer limits.";
            self.server.log(LogLevel::Warning, text);
        }
        result
    }

    /// Puts all output into the client's mailbox, whose writer sends it. Waits where much is waiting,
    /// as [`Self::write`] does, and for all of it before the connection closes.
    async fn post(&mut self, stream: &Stream) -> io::Result<()> {
        let shared = Arc::clone(&self.client.shared);
        let Some(mailbox) = shared.mailbox.get() else { return Ok(()) };
        if !std::mem::replace(&mut self.has_writer, true) {
            let (stream, shared) = (stream.clone(), Arc::clone(&shared));
            compio::runtime::spawn(async move { write_mail(stream, &shared).await }).detach();
        }
        mailbox.post_replies(self.output.chunks());
        self.local.borrow().worker.stats.output_bytes.add(self.output.len_bytes() as u64);
        self.output.clear();
        let waits_for_bytes = if self.client.closes_after_reply { 0 } else { MAIL_PAUSE_BYTES };
        while mailbox.pending_bytes() > waits_for_bytes {
            compio::time::sleep(MAIL_PAUSE).await;
        }
        if mailbox.is_closed() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }

    /// Sends all output. A client that does not take it holds this up, and with it the execution of
    /// what it sent: it costs no more memory than one pause's output, however much it asks for.
    async fn write(&mut self, stream: &mut Stream) -> io::Result<()> {
        let length = self.output.len_bytes();
        if length > 0 {
            self.send(stream).await?;
        }
        let local = &mut *self.local.borrow_mut();
        let mut output = std::mem::take(&mut self.output);
        if output.capacity_bytes() <= KEPT_OUTPUT_BYTES && local.outputs.len() < KEPT_OUTPUTS {
            output.clear();
            local.outputs.push(output);
        }
        local.worker.stats.output_bytes.add(length as u64);
        self.client.shared.sent_bytes.add(length as u64);
        Ok(())
    }

    /// Waits until all output is gone. The sends of all connections that ran in one round of the
    /// worker go to the kernel together, which measures better than one system call each.
    async fn send(&mut self, stream: &mut Stream) -> io::Result<()> {
        let shared = &self.client.shared;
        shared.output_bytes.store(self.output.len_bytes(), Ordering::Relaxed);
        if let Some(bytes) = self.output.take_contiguous() {
            let BufResult(result, bytes) = stream.write_all(bytes).await;
            self.output.restore(bytes);
            result?;
        } else {
            let output = Rc::new(std::mem::take(&mut self.output));
            let chunks: Vec<Chunk> = (0..output.chunks().count())
                .map(|index| Chunk { output: Rc::clone(&output), index })
                .collect();
            stream.write_vectored_all(chunks).await.0?;
        }
        shared.output_bytes.store(0, Ordering::Relaxed);
        if self.local.borrow().worker.settings.timeout_s != 0 {
            // Taking a long reply is no idleness.
            shared.last_active_ms.store(clock().now_ms, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Writes what comes into the client's mailbox, until that is closed or the client is gone.
async fn write_mail(mut stream: Stream, client: &ClientInfo) {
    let Some(mailbox) = client.mailbox.get() else { return };
    while mailbox.wait().await {
        while let Some(bytes) = mailbox.take() {
            let length = bytes.len();
            if stream.write_all(bytes).await.0.is_err() {
                mailbox.close();
                client.disconnect();
                return;
            }
            client.sent_bytes.add(length as u64);
        }
    }
}

/// How a connection reads, which depends on what its runtime waits on.
enum Reader {
    /// The kernel fills a buffer of the runtime's.
    Filled,
    /// The socket becomes readable, then the worker's own buffer is filled.
    Ready(PollFd<socket2::Socket>),
}

impl Reader {
    fn new(stream: &Stream) -> io::Result<Reader> {
        if compio::runtime::Runtime::with_current(|runtime| runtime.driver_type().is_iouring()) {
            Ok(Reader::Filled)
        } else {
            stream.to_poll_fd().map(Reader::Ready)
        }
    }

    /// What has arrived; `None` at the end of the connection.
    async fn read(
        &mut self,
        stream: &mut Stream,
        local: &RefCell<Local>,
    ) -> io::Result<Option<Arrived>> {
        let socket = match self {
            Reader::Filled => return read_filled(stream).await,
            Reader::Ready(socket) => socket,
        };
        loop {
            socket.read_ready().await?;
            let mut buffer = std::mem::take(&mut local.borrow_mut().read_buffer);
            match rustix::net::recv(socket.as_fd(), &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => {
                    local.borrow_mut().read_buffer = buffer;
                    return Ok(None);
                }
                Ok((length, _)) => return Ok(Some(Arrived::Lent { buffer, length })),
                Err(error) => {
                    local.borrow_mut().read_buffer = buffer;
                    if error != Errno::AGAIN && error != Errno::INTR {
                        return Err(error.into());
                    }
                }
            }
        }
    }
}

/// Reads into a buffer of the runtime's. Where more connections have input at one moment than there
/// are buffers, those left over wait until the others' input is executed.
async fn read_filled(stream: &mut Stream) -> io::Result<Option<Arrived>> {
    loop {
        match stream.read_managed(0).await {
            Ok(buffer) => return Ok(buffer.map(Arrived::Filled)),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => yield_once().await,
            Err(error) => return Err(error),
        }
    }
}

/// Lets every other task of the worker that can run do so.
async fn yield_once() {
    let mut has_yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Input in a buffer that is the worker's.
enum Arrived {
    Filled(BufferRef),
    Lent { buffer: Vec<u8>, length: usize },
}

impl Arrived {
    fn give_back(self, local: &RefCell<Local>) {
        match self {
            Arrived::Filled(buffer) => drop(buffer),
            Arrived::Lent { buffer, .. } => local.borrow_mut().read_buffer = buffer,
        }
    }
}

impl Deref for Arrived {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Arrived::Filled(buffer) => buffer,
            Arrived::Lent { buffer, length } => &buffer[..*length],
        }
    }
}

/// One piece of an output that the kernel reads in place.
struct Chunk {
    output: Rc<OutputBuffer>,
    index: usize,
}

impl IoBuf for Chunk {
    fn as_init(&self) -> &[u8] {
        self.output.chunks().nth(self.index).unwrap_or_default()
    }
}
