//! The events of a session's streams, which a client that reconnects receives again (2025-11-25, "Resumability and
//! Redelivery").

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use trunkline::limits::MemoryBudget;

use crate::lock::Lock;
use crate::message_queue::{Message, Queued};

/// The number of a stream in its session. The stream of GET requests is [`StreamId::GET`], others belong to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamId(u64);

/// The position of an event, which is its id in the stream: `STREAM-NUMBER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) stream: StreamId,
    /// The number of the next event.
    pub(crate) next: u64,
}

/// The recent events of all streams of a session. They take `max_bytes`. In addition, a stream that a client reads has up
/// to `max_bytes` that it has not read, and one more event. No unread event of such a stream is removed.
#[derive(Debug)]
pub(crate) struct Replay {
    streams: Lock<Streams>,
    max_bytes: usize,
    memory: MemoryBudget,
}

#[derive(Debug)]
struct Streams {
    by_id: BTreeMap<StreamId, Stream>,
    last_id: StreamId,
    /// The number of the first event of GET requests, which other copies of the session do not use.
    first: u64,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Stream {
    events: VecDeque<Event>,
    /// The number of the first event in `events`.
    first: u64,
    /// The number of events that were sent, and may be removed.
    sent: u64,
    has_ended: bool,
    /// The number of the reader that receives the events. An earlier reader ends.
    reader: u64,
    has_reader: bool,
    changed: Arc<Notify>,
    /// Notifies the task that adds events.
    taken: Arc<Notify>,
}

#[derive(Debug)]
struct Event {
    queued: Arc<Queued>,
    bytes: usize,
}

/// A reader of a stream.
#[derive(Debug)]
pub(crate) struct EventReader {
    replay: Arc<Replay>,
    position: Position,
    reader: u64,
    changed: Arc<Notify>,
}

/// The next event of a reader.
#[derive(Debug)]
pub(crate) enum Next {
    Event(Position, Arc<Queued>),
    /// All events up to now have been read.
    Later,
    End,
}

/// The maximum number of streams with events that may be requested again.
const MAX_STREAMS: usize = 32;
/// The maximum number of events of a stream.
const MAX_EVENTS: usize = 512;

impl StreamId {
    pub(crate) const GET: Self = Self(0);

    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// Whether the number is one of a session of several nodes, which begin with a random number.
    pub(crate) fn is_of_node(self) -> bool {
        self.0 >> 20 > 0
    }
}

impl Position {
    /// The position before the first event of a stream.
    fn start(stream: StreamId) -> Self {
        Self { stream, next: 0 }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream.0, self.next)
    }
}

impl FromStr for Position {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (stream, next) = text.split_once('-').ok_or(())?;
        let number = |text: &str| text.parse().map_err(drop);
        Ok(Self { stream: StreamId(number(stream)?), next: number(next)? })
    }
}

impl Replay {
    /// At most `max_bytes`, which count in `memory`. Streams, and the events of the GET stream, have numbers from `first`
    /// on.
    pub(crate) fn new(max_bytes: usize, memory: MemoryBudget, first: u64) -> Self {
        let get = Stream { first, sent: first, ..Stream::default() };
        let by_id = BTreeMap::from([(StreamId::GET, get)]);
        let streams = Streams { by_id, last_id: StreamId(first), first, bytes: 0 };
        Self { streams: Lock::new(streams), max_bytes, memory }
    }

    /// Adds a stream, and removes the oldest ended ones if there are too many.
    pub(crate) fn open(self: &Arc<Self>) -> (StreamId, EventReader) {
        let mut streams = self.streams.lock();
        let excess = (streams.by_id.len() + 1).saturating_sub(MAX_STREAMS);
        let ended =
            streams.by_id.iter().filter(|(_, stream)| stream.has_ended && !stream.has_reader);
        let ended: Vec<_> = ended.map(|(id, _)| *id).take(excess).collect();
        for id in ended {
            streams.remove(id);
        }
        streams.last_id = StreamId(streams.last_id.0 + 1);
        let id = streams.last_id;
        let stream = Stream { has_reader: true, ..Stream::default() };
        let reader = self.reader(&stream, Position::start(id));
        streams.by_id.insert(id, stream);
        (id, reader)
    }

    /// Appends a message to a stream, after its client has read enough of the earlier ones. One that exceeds the memory
    /// budget is dropped. Returns its number.
    pub(crate) async fn send(&self, id: StreamId, queued: Queued) -> Option<u64> {
        self.space(id).await;
        self.push(id, queued)
    }

    /// Appends a message to a stream without waiting. Returns its number.
    pub(crate) fn push(&self, id: StreamId, queued: Queued) -> Option<u64> {
        let queued = match queued {
            Queued::Message(Message { json, memory: None }) => {
                Message::reserved(&self.memory, json).map(Queued::Message)
            }
            queued => Ok(queued),
        };
        match queued {
            Ok(queued) => self.append(id, queued),
            Err(error) => {
                tracing::warn!(%error, "an event of a session is dropped");
                None
            }
        }
    }

    /// Waits until the client of a stream has read enough of it, or has gone.
    async fn space(&self, id: StreamId) {
        loop {
            let taken = match self.streams.lock().by_id.get(&id) {
                Some(stream) if stream.has_reader && stream.is_full(self.max_bytes) => {
                    Arc::clone(&stream.taken)
                }
                _ => return,
            };
            taken.notified().await;
        }
    }

    fn append(&self, id: StreamId, queued: Queued) -> Option<u64> {
        let bytes = queued.size();
        let mut streams = self.streams.lock();
        let stream = streams.by_id.get_mut(&id)?;
        let number = stream.first + stream.events.len() as u64;
        stream.events.push_back(Event { queued: Arc::new(queued), bytes });
        stream.changed.notify_one();
        streams.bytes += bytes;
        streams.trim(id, self.max_bytes);
        Some(number)
    }

    /// Adds an empty copy of a stream of another node, for a reader. `None` if there is one already.
    pub(crate) fn open_copy(self: &Arc<Self>, position: Position) -> Option<EventReader> {
        let mut streams = self.streams.lock();
        if streams.by_id.contains_key(&position.stream) {
            return None;
        }
        let Position { stream: id, next } = position;
        let stream = Stream { first: next, sent: next, has_reader: true, ..Stream::default() };
        let reader = self.reader(&stream, position);
        streams.by_id.insert(id, stream);
        Some(reader)
    }

    /// Removes a copy. Its reader ends.
    pub(crate) fn close_copy(&self, id: StreamId) {
        let mut streams = self.streams.lock();
        if let Some(stream) = streams.by_id.get(&id) {
            stream.changed.notify_one();
        }
        streams.remove(id);
    }

    /// Whether a client reads a stream.
    pub(crate) fn is_read(&self, id: StreamId) -> bool {
        self.streams.lock().by_id.get(&id).is_some_and(|stream| stream.has_reader)
    }

    /// Ends a stream after its last event.
    pub(crate) fn end(&self, id: StreamId) {
        if let Some(stream) = self.streams.lock().by_id.get_mut(&id) {
            stream.has_ended = true;
            stream.changed.notify_one();
        }
    }

    /// Reads a stream from a position on, or from its beginning. An earlier reader of the stream ends. `None` if the
    /// stream or the position is unknown.
    pub(crate) fn read(
        self: &Arc<Self>,
        stream: StreamId,
        from: Option<Position>,
    ) -> Option<EventReader> {
        let mut streams = self.streams.lock();
        let first = streams.first;
        let found = streams.by_id.get_mut(&stream)?;
        // The position of another copy of the session has no meaning here. That copy may have sent the events that this
        // one has not.
        let is_foreign = |position: Position| {
            first > 0 && stream == StreamId::GET && position.next >> 20 != first >> 20
        };
        let from = match from {
            Some(position) if is_foreign(position) => Some(Position { stream, next: found.sent }),
            from => from,
        };
        if from.is_some_and(|position| position.next > found.first + found.events.len() as u64) {
            return None;
        }
        found.reader += 1;
        found.has_reader = true;
        // Wakes the earlier reader, which keeps the old signal.
        std::mem::take(&mut found.changed).notify_one();
        let start = Position { stream, next: found.first };
        Some(self.reader(found, from.unwrap_or(start)))
    }

    fn reader(self: &Arc<Self>, stream: &Stream, position: Position) -> EventReader {
        let (reader, changed) = (stream.reader, Arc::clone(&stream.changed));
        EventReader { replay: Arc::clone(self), position, reader, changed }
    }
}

impl Streams {
    fn remove(&mut self, id: StreamId) {
        if let Some(stream) = self.by_id.remove(&id) {
            self.bytes -= stream.events.iter().map(|event| event.bytes).sum::<usize>();
        }
    }

    /// Removes events until the limits hold: first those that were sent, from the oldest stream on, then all of streams
    /// that no client reads.
    fn trim(&mut self, grown: StreamId, max_bytes: usize) {
        if let Some(stream) = self.by_id.get_mut(&grown) {
            while stream.events.len() > MAX_EVENTS {
                self.bytes -= stream.pop();
            }
        }
        for only_sent in [true, false] {
            for stream in self.by_id.values_mut() {
                if self.bytes <= max_bytes {
                    return;
                }
                while self.bytes > max_bytes && stream.can_pop(only_sent) {
                    self.bytes -= stream.pop();
                }
            }
        }
    }
}

impl Stream {
    fn can_pop(&self, only_sent: bool) -> bool {
        let is_sent = self.first < self.sent;
        !self.events.is_empty() && (is_sent || (!only_sent && !self.has_reader))
    }

    /// Whether the events that were not sent have more than `max_bytes`, or another one would remove the first of them.
    fn is_full(&self, max_bytes: usize) -> bool {
        let sent = self.sent.saturating_sub(self.first) as usize;
        let unsent = self.events.iter().skip(sent);
        unsent.len() >= MAX_EVENTS || unsent.map(|event| event.bytes).sum::<usize>() > max_bytes
    }

    /// Removes the first event. Returns its size.
    fn pop(&mut self) -> usize {
        let Some(event) = self.events.pop_front() else { return 0 };
        self.first += 1;
        event.bytes
    }
}

impl EventReader {
    /// The next event, without waiting. Events that were removed are skipped.
    pub(crate) fn take(&mut self) -> Next {
        let mut streams = self.replay.streams.lock();
        let found = streams.by_id.get_mut(&self.position.stream);
        let Some(stream) = found.filter(|stream| stream.reader == self.reader) else {
            return Next::End;
        };
        self.position.next = self.position.next.max(stream.first);
        while let Some(event) = stream.events.get((self.position.next - stream.first) as usize) {
            let was_sent = self.position.next < stream.sent;
            self.position.next += 1;
            stream.sent = stream.sent.max(self.position.next);
            stream.taken.notify_one();
            // A stream is closed once only.
            if !(was_sent && matches!(*event.queued, Queued::Close(_))) {
                return Next::Event(self.position, Arc::clone(&event.queued));
            }
        }
        if stream.has_ended { Next::End } else { Next::Later }
    }

    /// Waits until there may be another event.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The position of the last event that was read.
    pub(crate) fn position(&self) -> Position {
        self.position
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        let max_bytes = self.replay.max_bytes;
        let id = self.position.stream;
        let mut streams = self.replay.streams.lock();
        let found = streams.by_id.get_mut(&id);
        if let Some(stream) = found.filter(|stream| stream.reader == self.reader) {
            stream.has_reader = false;
            stream.taken.notify_one();
            streams.trim(id, max_bytes);
        }
    }
}

/// The time after which a client reconnects to a stream that is lost.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trunkline::Limits;

    use super::{MAX_EVENTS, MAX_STREAMS, Next, Position, RETRY, Replay, StreamId};
    use crate::message_queue::Queued;

    fn replay(max_bytes: usize) -> Arc<Replay> {
        Arc::new(Replay::new(max_bytes, Limits::default().memory, 0))
    }

    fn push(replay: &Replay, stream: StreamId, text: &str) {
        replay.push(stream, Queued::Message(text.as_bytes().to_vec().into()));
    }

    /// The events from a position on, and whether the stream has ended.
    fn read(replay: &Arc<Replay>, stream: StreamId, from: Option<Position>) -> (String, bool) {
        let mut reader = replay.read(stream, from).unwrap();
        let mut texts = Vec::new();
        loop {
            match reader.take() {
                Next::Event(position, queued) => match &*queued {
                    Queued::Message(message) => {
                        let text = String::from_utf8_lossy(&message.json);
                        texts.push(format!("{position}:{text}"));
                    }
                    Queued::Close(_) => texts.push(format!("{position}:close")),
                },
                Next::Later => return (texts.join(" "), false),
                Next::End => return (texts.join(" "), true),
            }
        }
    }

    #[test]
    fn replays_events_from_a_position_on() {
        let replay = replay(100);
        let (stream, _) = replay.open();
        push(&replay, stream, "a");
        push(&replay, stream, "b");
        assert_eq!(read(&replay, stream, None), ("1-1:a 1-2:b".to_owned(), false));
        let after = "1-1".parse().ok();
        assert_eq!(read(&replay, stream, after), ("1-2:b".to_owned(), false));
        replay.end(stream);
        assert_eq!(read(&replay, stream, after), ("1-2:b".to_owned(), true));
        assert!(replay.read(stream, "1-3".parse().ok()).is_none());
        assert_eq!(read(&replay, StreamId::GET, None), (String::new(), false));
        let (closed, _) = replay.open();
        replay.push(closed, Queued::Close(RETRY));
        push(&replay, closed, "c");
        assert_eq!(read(&replay, closed, None).0, "2-1:close 2-2:c");
        assert_eq!(read(&replay, closed, None).0, "2-2:c");
        assert!(replay.read(StreamId(9), None).is_none());
        for text in ["", "1", "1-", "-1", "a-1", "1-18446744073709551616"] {
            text.parse::<Position>().unwrap_err();
        }
    }

    #[test]
    fn a_new_reader_replaces_the_earlier_one() {
        let replay = replay(100);
        let mut earlier = replay.read(StreamId::GET, None).unwrap();
        let mut later = replay.read(StreamId::GET, None).unwrap();
        push(&replay, StreamId::GET, "a");
        assert!(matches!(earlier.take(), Next::End));
        assert!(matches!(later.take(), Next::Event(..)));
    }

    #[test]
    fn limits_the_bytes_of_streams_without_a_reader() {
        let replay = replay(10);
        let ((one, _), (two, reader)) = (replay.open(), replay.open());
        for text in ["aaaa", "bbbb", "cccc"] {
            push(&replay, one, text);
        }
        assert_eq!(read(&replay, one, None), ("1-2:bbbb 1-3:cccc".to_owned(), false));
        // The unsent events of a stream with a reader remain.
        push(&replay, two, "dddddddddddddddd");
        push(&replay, two, "e");
        assert_eq!(replay.streams.lock().bytes, 17);
        assert_eq!(read(&replay, one, None).0, "");
        drop(reader);
        assert_eq!(read(&replay, two, None).0, "2-2:e");
        assert_eq!(replay.streams.lock().bytes, 1);
    }

    #[tokio::test]
    async fn messages_wait_for_the_reader() {
        let replay = replay(10);
        let (stream, mut reader) = replay.open();
        let message = |text: &str| Queued::Message(text.as_bytes().to_vec().into());
        replay.send(stream, message("aaaaaaaaaaaa")).await;
        let mut waiting = Box::pin(replay.send(stream, message("b")));
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        assert!(matches!(reader.take(), Next::Event(..)));
        waiting.await;
        replay.send(stream, message("cccccccccccc")).await;
        let mut waiting = Box::pin(replay.send(stream, message("d")));
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        drop(reader);
        waiting.await;
        assert_eq!(read(&replay, stream, None).0, "1-4:d");
    }

    #[tokio::test]
    async fn unread_events_are_not_removed() {
        let replay = replay(usize::MAX);
        let (stream, mut reader) = replay.open();
        let message = || Queued::Message(b"a".to_vec().into());
        for _ in 0..MAX_EVENTS {
            replay.send(stream, message()).await;
        }
        let mut waiting = Box::pin(replay.send(stream, message()));
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        let Next::Event(position, _) = reader.take() else { panic!("no event") };
        assert_eq!(position.to_string(), "1-1");
        waiting.await;
        for number in 2..=MAX_EVENTS + 1 {
            let Next::Event(position, _) = reader.take() else { panic!("no event {number}") };
            assert_eq!(position.to_string(), format!("1-{number}"));
        }
    }

    #[test]
    fn limits_events_and_ended_streams() {
        let replay = replay(usize::MAX);
        let (first, reader) = replay.open();
        drop(reader);
        for _ in 0..=MAX_EVENTS {
            push(&replay, first, "a");
        }
        assert_eq!(replay.streams.lock().by_id[&first].events.len(), MAX_EVENTS);
        replay.end(first);
        let (running, _) = replay.open();
        for _ in 0..MAX_STREAMS {
            let (stream, _) = replay.open();
            replay.end(stream);
        }
        let streams = replay.streams.lock();
        assert!(streams.by_id.len() <= MAX_STREAMS, "{}", streams.by_id.len());
        assert!(!streams.by_id.contains_key(&first));
        assert!(streams.by_id.contains_key(&running));
    }
}
