//! Connections: how many there may be, and how long one may be silent.

use std::future::Future;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, timeout};

const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: application/json\r\n\
    Content-Length: 63\r\n\r\n{\"status\":503,\"error\":\"too many connections: try again later\"}\n";

/// How many are waited for at a time while they are refused.
const REFUSED: usize = 256;
/// For how long one is refused: its request is read, so that it reads the answer.
const REFUSAL: Duration = Duration::from_secs(1);

/// Accepts connections up to a limit; to others it says that it is busy.
pub(super) struct Limited {
    listener: TcpListener,
    free: Arc<Semaphore>,
    refused: Arc<Semaphore>,
    silence: Duration,
}

impl Limited {
    pub fn new(listener: TcpListener, most: usize, silence: Duration) -> Self {
        let refused = Arc::new(Semaphore::new(REFUSED));
        Self { listener, free: Arc::new(Semaphore::new(most)), refused, silence }
    }
}

impl axum::serve::Listener for Limited {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    let _ = stream.set_nodelay(true);
                    match self.free.clone().try_acquire_owned() {
                        Ok(permit) => return (Connection::new(stream, self.silence, permit), from),
                        Err(_) => match self.refused.clone().try_acquire_owned() {
                            Ok(permit) => drop(tokio::spawn(refuse(stream, permit))),
                            Err(_) => refuse_at_once(stream),
                        },
                    }
                }
                // No more files may be open, say: a moment later there may be.
                Err(_) => sleep(Duration::from_millis(50)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

async fn refuse(mut stream: TcpStream, _permit: OwnedSemaphorePermit) {
    let said = async {
        stream.write_all(BUSY).await?;
        stream.shutdown().await?;
        // What is closed with a request that was not read takes the answer with it.
        let mut request = [0; 1024];
        while stream.read(&mut request).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = timeout(REFUSAL, said).await;
}

/// Refuses without waiting: a request that is on its way may take the answer with it.
fn refuse_at_once(stream: TcpStream) {
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write(BUSY);
        let _ = stream.read(&mut [0; 1024]);
    }
}

/// A connection that is closed when its client is silent for too long, or takes too long to bring a request or to take an answer.
pub(super) struct Connection {
    stream: TcpStream,
    silence: Duration,
    until: Pin<Box<Sleep>>,
    /// Whether a request has begun to come: byte by byte it has no longer than at once.
    reading: bool,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    fn new(stream: TcpStream, silence: Duration, permit: OwnedSemaphorePermit) -> Self {
        Self { stream, silence, until: Box::pin(sleep(silence)), reading: false, _permit: permit }
    }

    /// What a call gave, unless it waits for too long.
    fn within<T>(
        &mut self,
        polled: Poll<io::Result<T>>,
        reads: bool,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            if std::mem::replace(&mut self.reading, reads) && reads {
                return polled;
            }
            let next = Instant::now() + self.silence;
            self.until.as_mut().reset(next);
            return polled;
        }
        match self.until.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.within(polled, true, cx)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.within(polled, false, cx)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.within(polled, false, cx)
    }
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::BUSY;

    #[test]
    fn the_refusal_has_the_length_that_it_says() {
        let text = std::str::from_utf8(BUSY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{}", body.len());
    }
}
