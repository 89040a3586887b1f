//! The events of a session's streams, which a client that reconnects receives again (2025-11-25, "Resumability and
//! Redelivery").

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use trunkline::limits::{MemoryBudget, Reservation};

use crate::message_queue::Queued;

/// The number of a stream in its session. The stream of GET requests is [`StreamId::GET`], others belong to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamId(u64);

/// The position of an event, which is its id in the stream: `STREAM-NUMBER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) stream: StreamId,
    /// The number of the next event.
    next: u64,
}

/// The recent events of all streams of a session. They take `max_bytes`, and in addition the last event of each running
/// call, until it is sent.
#[derive(Debug)]
pub(crate) struct Replay {
    streams: Mutex<Streams>,
    max_bytes: usize,
    memory: MemoryBudget,
}

#[derive(Debug)]
struct Streams {
    by_id: BTreeMap<StreamId, Stream>,
    last_id: StreamId,
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
    /// The reader that receives the events. An earlier reader ends.
    reader: u64,
    changed: Arc<Notify>,
}

#[derive(Debug)]
struct Event {
    queued: Arc<Queued>,
    bytes: usize,
    _memory: Reservation,
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
    /// At most `max_bytes`, which count in `memory`.
    pub(crate) fn new(max_bytes: usize, memory: MemoryBudget) -> Self {
        let by_id = BTreeMap::from([(StreamId::GET, Stream::default())]);
        let streams = Streams { by_id, last_id: StreamId::GET, bytes: 0 };
        Self { streams: Mutex::new(streams), max_bytes, memory }
    }

    /// Adds a stream, and removes the oldest ended ones if there are too many.
    pub(crate) fn open(self: &Arc<Self>) -> (StreamId, EventReader) {
        let mut streams = self.lock();
        let excess = (streams.by_id.len() + 1).saturating_sub(MAX_STREAMS);
        let ended = streams.by_id.iter().filter(|(_, stream)| stream.has_ended);
        let ended: Vec<_> = ended.map(|(id, _)| *id).take(excess).collect();
        for id in ended {
            streams.remove(id);
        }
        streams.last_id = StreamId(streams.last_id.0 + 1);
        let id = streams.last_id;
        let stream = Stream::default();
        let reader = self.reader(&stream, Position::start(id));
        streams.by_id.insert(id, stream);
        (id, reader)
    }

    /// Appends an event to a stream. One that exceeds the memory budget is dropped; replies have a reservation.
    pub(crate) fn push(&self, id: StreamId, queued: Queued, memory: Option<Reservation>) {
        let bytes = match &queued {
            Queued::Message(json) => json.len(),
            Queued::Close(_) => 0,
        };
        let memory = match memory.map_or_else(|| self.memory.reserve(bytes), Ok) {
            Ok(memory) => memory,
            Err(error) => return tracing::warn!(%error, "an event of a session is dropped"),
        };
        let mut streams = self.lock();
        let Some(stream) = streams.by_id.get_mut(&id) else { return };
        stream.events.push_back(Event { queued: Arc::new(queued), bytes, _memory: memory });
        stream.changed.notify_one();
        streams.bytes += bytes;
        streams.trim(id, self.max_bytes);
    }

    /// Ends a stream after its last event.
    pub(crate) fn end(&self, id: StreamId) {
        if let Some(stream) = self.lock().by_id.get_mut(&id) {
            stream.has_ended = true;
            stream.changed.notify_one();
        }
    }

    /// Reads a stream from a position on, or from its beginning. An earlier reader of the stream ends. `None` if the
    /// stream is unknown.
    pub(crate) fn read(
        self: &Arc<Self>,
        stream: StreamId,
        from: Option<Position>,
    ) -> Option<EventReader> {
        let mut streams = self.lock();
        let found = streams.by_id.get_mut(&stream)?;
        found.reader += 1;
        // Wakes the earlier reader, which keeps the old signal.
        std::mem::take(&mut found.changed).notify_one();
        Some(self.reader(found, from.unwrap_or_else(|| Position::start(stream))))
    }

    fn reader(self: &Arc<Self>, stream: &Stream, position: Position) -> EventReader {
        let (reader, changed) = (stream.reader, Arc::clone(&stream.changed));
        EventReader { replay: Arc::clone(self), position, reader, changed }
    }

    fn lock(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Streams {
    fn remove(&mut self, id: StreamId) {
        if let Some(stream) = self.by_id.remove(&id) {
            self.bytes -= stream.events.iter().map(|event| event.bytes).sum::<usize>();
        }
    }

    /// Removes events until the limits hold: first sent ones, from the oldest stream on, then unsent ones, except for the
    /// last event of each stream.
    fn trim(&mut self, grown: StreamId, max_bytes: usize) {
        if let Some(stream) = self.by_id.get_mut(&grown) {
            while stream.events.len() > MAX_EVENTS {
                self.bytes -= stream.pop();
            }
        }
        for only_sent in [true, false] {
            for stream in self.by_id.values_mut() {
                while self.bytes > max_bytes {
                    let is_sent = stream.first < stream.sent;
                    let is_last = stream.events.len() <= 1;
                    if stream.events.is_empty() || (only_sent && !is_sent) || (is_last && !is_sent)
                    {
                        break;
                    }
                    self.bytes -= stream.pop();
                }
            }
        }
    }
}

impl Stream {
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
        let mut streams = self.replay.lock();
        let found = streams.by_id.get_mut(&self.position.stream);
        let Some(stream) = found.filter(|stream| stream.reader == self.reader) else {
            return Next::End;
        };
        self.position.next = self.position.next.max(stream.first);
        while let Some(event) = stream.events.get((self.position.next - stream.first) as usize) {
            let was_sent = self.position.next < stream.sent;
            self.position.next += 1;
            stream.sent = stream.sent.max(self.position.next);
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

/// The time after which a client reconnects to a stream that is lost.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trunkline::Limits;

    use super::{MAX_EVENTS, MAX_STREAMS, Next, Position, RETRY, Replay, StreamId};
    use crate::message_queue::Queued;

    fn replay(max_bytes: usize) -> Arc<Replay> {
        Arc::new(Replay::new(max_bytes, Limits::default().memory))
    }

    fn push(replay: &Replay, stream: StreamId, text: &str) {
        replay.push(stream, Queued::Message(text.as_bytes().to_vec()), None);
    }

    /// The events from a position on, and whether the stream has ended.
    fn read(replay: &Arc<Replay>, stream: StreamId, from: Option<Position>) -> (String, bool) {
        let mut reader = replay.read(stream, from).unwrap();
        let mut texts = Vec::new();
        loop {
            match reader.take() {
                Next::Event(position, queued) => match &*queued {
                    Queued::Message(json) => {
                        texts.push(format!("{position}:{}", String::from_utf8_lossy(json)));
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
        assert_eq!(read(&replay, stream, "1-9".parse().ok()), (String::new(), true));
        assert_eq!(read(&replay, StreamId::GET, None), (String::new(), false));
        let (closed, _) = replay.open();
        replay.push(closed, Queued::Close(RETRY), None);
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
    fn limits_bytes_and_keeps_the_last_event() {
        let replay = replay(10);
        let ((one, _), (two, _)) = (replay.open(), replay.open());
        for text in ["aaaa", "bbbb", "cccc"] {
            push(&replay, one, text);
        }
        assert_eq!(read(&replay, one, None), ("1-2:bbbb 1-3:cccc".to_owned(), false));
        push(&replay, two, "dddddddddddddddd");
        assert_eq!(read(&replay, one, None).0, "");
        assert_eq!(read(&replay, two, None).0, "2-1:dddddddddddddddd");
        push(&replay, two, "e");
        assert_eq!(read(&replay, two, None).0, "2-2:e");
        assert_eq!(replay.lock().bytes, 1);
    }

    #[test]
    fn limits_events_and_ended_streams() {
        let replay = replay(usize::MAX);
        let (first, _) = replay.open();
        for _ in 0..=MAX_EVENTS {
            push(&replay, first, "a");
        }
        assert_eq!(replay.lock().by_id[&first].events.len(), MAX_EVENTS);
        replay.end(first);
        let (running, _) = replay.open();
        for _ in 0..MAX_STREAMS {
            let (stream, _) = replay.open();
            replay.end(stream);
        }
        let streams = replay.lock();
        assert!(streams.by_id.len() <= MAX_STREAMS, "{}", streams.by_id.len());
        assert!(!streams.by_id.contains_key(&first));
        assert!(streams.by_id.contains_key(&running));
    }
}
