//! [`RepairedStream`]: a `Stream` of bytes that is repaired while it is polled.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use futures_core::stream::FusedStream;
use pin_project_lite::pin_project;

use super::repairer::StreamRepairer;
use crate::stream::call::record::RepairRecord;

pin_project! {
    /// A stream of bytes whose tool calls are repaired while it is polled, such as the body of an upstream's
    /// response.
    ///
    /// Errors of the inner stream are returned at their position. If no bytes follow an error, the repair is
    /// [aborted](StreamRepairer::abort). Held bytes are returned at the end of the inner stream. If the stream is dropped
    /// before its end, the inner stream and the held bytes are dropped.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use futures_core::Stream;
    /// use tool_repair::FormatFixing;
    /// use tool_repair::stream::{Dialect, RepairedStream, StreamRepairer};
    ///
    /// fn repaired(body: impl Stream<Item = Result<Vec<u8>, Infallible>>) -> impl Stream {
    ///     let repairer = StreamRepairer::new(Dialect::ChatCompletions, FormatFixing::default());
    ///     RepairedStream::new(body, repairer)
    /// }
    /// ```
    #[derive(Debug)]
    pub struct RepairedStream<S> {
        #[pin]
        inner: S,
        repairer: StreamRepairer,
        out: Vec<u8>,
        // Whether the last item was an error.
        broken: bool,
        ended: bool,
    }
}

impl<S> RepairedStream<S> {
    /// Creates a stream that repairs `inner` with a new repairer.
    pub fn new(inner: S, repairer: StreamRepairer) -> Self {
        Self {
            inner,
            repairer,
            out: Vec::new(),
            broken: false,
            ended: false,
        }
    }

    /// Returns the records, as [`StreamRepairer::take_records`] does.
    #[must_use = "each record is returned once"]
    pub fn take_records(self: Pin<&mut Self>) -> Vec<RepairRecord> {
        self.project().repairer.take_records()
    }

    /// Returns the repairer, with the names of the [skipped](StreamRepairer::skipped) tools.
    pub fn repairer(&self) -> &StreamRepairer {
        &self.repairer
    }

    /// Returns the inner stream.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns the inner stream. Bytes taken from it are missing from the repaired stream.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Returns the inner stream, pinned. Bytes taken from it are missing from the repaired stream.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut S> {
        self.project().inner
    }

    /// Returns the rest of the inner stream. Held bytes are lost.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, B, E> Stream for RepairedStream<S>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
{
    type Item = Result<Bytes, E>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        while !*this.ended {
            match ready!(this.inner.as_mut().poll_next(context)) {
                Some(Ok(bytes)) => {
                    *this.broken &= bytes.as_ref().is_empty();
                    this.repairer.push(bytes.as_ref(), this.out);
                }
                Some(Err(error)) => {
                    *this.broken = true;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    if *this.broken {
                        this.repairer.abort(this.out);
                    } else {
                        this.repairer.finish(this.out);
                    }
                    *this.ended = true;
                }
            }
            // After an error that ends the stream no bytes are sent, so the inner stream is not read further.
            *this.ended |= this.repairer.failed();
            if !this.out.is_empty() {
                return Poll::Ready(Some(Ok(Bytes::from(std::mem::take(this.out)))));
            }
        }
        Poll::Ready(None)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.ended.then_some(0))
    }
}

impl<S, B, E> FusedStream for RepairedStream<S>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
{
    fn is_terminated(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::task::Waker;

    use super::*;
    use crate::FormatFixing;
    use crate::stream::read::dialect::Dialect;

    /// A body of prepared items that is pending once before each item.
    struct Body(VecDeque<Result<Vec<u8>, &'static str>>, bool);

    impl Stream for Body {
        type Item = Result<Vec<u8>, &'static str>;

        fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            self.1 = !self.1;
            if self.1 {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(self.0.pop_front())
        }
    }

    fn collect(
        body: Vec<Result<&str, &'static str>>,
        fixing: FormatFixing,
    ) -> Vec<Result<String, &'static str>> {
        let body = body
            .into_iter()
            .map(|item| item.map(|text| text.as_bytes().to_vec()));
        let repairer = StreamRepairer::new(Dialect::ChatCompletions, fixing);
        let mut stream = Box::pin(RepairedStream::new(Body(body.collect(), false), repairer));
        let mut context = Context::from_waker(Waker::noop());
        let mut items = Vec::new();
        loop {
            match stream.as_mut().poll_next(&mut context) {
                Poll::Pending => {}
                Poll::Ready(Some(item)) => {
                    items.push(item.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()));
                }
                Poll::Ready(None) => break,
            }
        }
        assert!(stream.is_terminated());
        assert!(matches!(
            stream.as_mut().poll_next(&mut context),
            Poll::Ready(None)
        ));
        items
    }

    const OPEN: &str = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":\
        {\"name\":\"TodoWrite\",\"arguments\":\"{}\"}}]}}]}\n\n";

    #[test]
    fn returns_the_output_of_the_repairer() {
        let (left, right) = OPEN.split_at(20);
        let items = collect(
            vec![Ok(left), Ok(right), Err("slow"), Ok("")],
            FormatFixing::default(),
        );
        assert_eq!(items.len(), 3, "{items:?}");
        assert_eq!(items[1], Err("slow"));
        assert!(items[0].as_ref().unwrap().contains(r#""arguments":"{""#));
        assert!(items[2].as_ref().unwrap().contains(r#""arguments":"}""#));
    }

    #[test]
    fn returns_the_inner_stream() {
        let python = OPEN.replace("{}", "{'a': 1}").into_bytes();
        let body = Body(VecDeque::from([Ok(python), Ok(b"data: 1\n\n".to_vec())]), false);
        let repairer = StreamRepairer::new(Dialect::ChatCompletions, FormatFixing::default());
        let mut stream = Box::pin(RepairedStream::new(body, repairer));
        let mut context = Context::from_waker(Waker::noop());
        while stream.as_mut().poll_next(&mut context).is_pending() {}
        assert_eq!(stream.get_ref().0.len(), 1);
        stream.as_mut().get_pin_mut().0.push_back(Err("reset"));
        stream.get_mut().0.push_back(Ok(Vec::new()));
        let inner = Pin::into_inner(stream).into_inner();
        let left = [Ok(b"data: 1\n\n".to_vec()), Err("reset"), Ok(Vec::new())];
        assert_eq!(Vec::from(inner.0), left);
    }

    #[test]
    fn aborted_streams_end_no_call() {
        let python = OPEN.replace("{}", "{'a': 1}");
        let items = collect(
            vec![Ok(&python), Ok("data: half"), Err("reset")],
            FormatFixing::default(),
        );
        assert_eq!(items[1], Err("reset"));
        let rest = items[2].as_ref().unwrap();
        assert!(
            rest.contains(r#""arguments":"'a': 1}""#) && rest.ends_with("data: half"),
            "{rest}"
        );
        let items = collect(vec![Ok(&python), Err("reset"), Ok("")], FormatFixing::default());
        assert!(items[2].as_ref().unwrap().contains(r#""arguments":"'a': 1}""#));
        let items = collect(vec![Ok(&python), Err("slow"), Ok("\n")], FormatFixing::default());
        assert!(items[3].as_ref().unwrap().contains(r#"\"a\": 1}"#));
    }

    #[test]
    fn ends_after_its_own_error() {
        let fixing = FormatFixing {
            fallback_on_error: false,
            ..FormatFixing::default()
        };
        let broken = OPEN.replace("{}", "@");
        let items = collect(
            vec![
                Ok(&broken),
                Ok("data: [DONE]\n\n"),
                Ok("data: more\n\n"),
                Err("late"),
            ],
            fixing,
        );
        assert_eq!(items.len(), 2, "{items:?}");
        assert!(items[1].as_ref().unwrap().starts_with("data: {\"error\":"));
    }
}
