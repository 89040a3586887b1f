use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use trunkline::Extensions;
use trunkline::access::Principal;
use trunkline::http::Peer;

use super::shared::principal_key;
use super::{Replay, Session, owner_key};
use crate::lock::Lock;

/// The sessions of HTTP clients, by id (2025-11-25, "Session Management").
#[derive(Debug)]
pub(crate) struct Sessions {
    by_id: Lock<HashMap<String, Arc<HttpSession>>>,
    /// The sessions that their clients have ended.
    ended: Lock<EndedIds>,
    max: usize,
    idle: Duration,
}

/// A session of an HTTP client.
#[derive(Debug)]
pub(crate) struct HttpSession {
    pub(crate) session: Arc<Session>,
    pub(crate) replay: Arc<Replay>,
    owner: Option<Principal>,
    /// The [key](caller_key) of the caller in whose share the session is.
    caller: String,
    last_used: Lock<Instant>,
    /// Whether the client has sent a message after `initialize`.
    is_confirmed: AtomicBool,
    /// The number of open streams and running calls.
    active: AtomicUsize,
}

/// An open stream or a running call, during which a session does not expire.
#[derive(Debug)]
pub(crate) struct Activity(Arc<HttpSession>);

/// The digests of the last ids that clients have ended, at most [`MAX_ENDED`]: these sessions are not opened again.
#[derive(Debug, Default)]
struct EndedIds {
    digests: HashSet<[u8; 16]>,
    order: VecDeque<[u8; 16]>,
}

const MAX_ENDED: usize = 10_000;

/// The reason why a message has no session, although it opens or names one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SessionError {
    /// The id is not one that this server gives, its client has ended the session, or it belongs to another caller.
    Unknown,
    /// All sessions have open streams or running calls.
    TooMany,
    /// The random number generator of the system has failed.
    Random,
}

impl HttpSession {
    pub(crate) fn new(
        sender: &Extensions,
        replay: Replay,
        closing: &CancellationToken,
        last_request: u64,
    ) -> Self {
        Self {
            session: Arc::new(Session::new(closing, last_request)),
            replay: Arc::new(replay),
            owner: Principal::of(sender).cloned(),
            caller: caller_key(sender),
            last_used: Lock::new(Instant::now()),
            is_confirmed: AtomicBool::new(false),
            active: AtomicUsize::new(0),
        }
    }

    /// The [key](owner_key) of the caller that has opened the session.
    pub(crate) fn owner_key(&self) -> Option<String> {
        self.owner.as_ref().map(principal_key)
    }

    /// The [key](caller_key) of the caller in whose share the session is.
    pub(crate) fn caller(&self) -> &str {
        &self.caller
    }

    /// Whether this sender has opened the session.
    pub(crate) fn is_of(&self, sender: &Extensions) -> bool {
        is_same(self.owner.as_ref(), Principal::of(sender))
    }

    /// Keeps the session until the activity is dropped.
    pub(crate) fn activity(self: &Arc<Self>) -> Activity {
        self.active.fetch_add(1, Ordering::Relaxed);
        Activity(Arc::clone(self))
    }

    fn touch(&self) {
        *self.last_used.lock() = Instant::now();
    }

    fn is_expired(&self, idle: Duration) -> bool {
        self.active.load(Ordering::Relaxed) == 0 && self.last_used.lock().elapsed() >= idle
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        self.0.touch();
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Sessions {
    /// At most `max` sessions, which expire after they were `idle`.
    pub(crate) fn new(max: usize, idle: Duration) -> Self {
        Self { by_id: Lock::default(), ended: Lock::default(), max, idle }
    }

    /// Whether sessions are enabled.
    pub(crate) fn is_enabled(&self) -> bool {
        self.max > 0
    }

    /// Adds a session with a new id. If there are too many, another one without streams and calls is removed, of the caller
    /// who has most sessions, including the new one: first those whose client has sent nothing since `initialize`, then
    /// the least recently used.
    ///
    /// If there is a session with this id, since another message of its client has opened it again, returns that one.
    pub(crate) fn insert(
        &self,
        id: &str,
        session: Arc<HttpSession>,
    ) -> Result<Arc<HttpSession>, SessionError> {
        let mut by_id = self.by_id.lock();
        if let Some(found) = by_id.get(id) {
            return Ok(Arc::clone(found));
        }
        self.make_space(&mut by_id, &session.caller)?;
        by_id.insert(id.to_owned(), Arc::clone(&session));
        Ok(session)
    }

    /// Whether its client has ended the session with this id.
    pub(crate) fn has_ended(&self, id: &str) -> bool {
        self.ended.lock().digests.contains(&digest_of(id))
    }

    /// Remembers that its client has ended the session with this id.
    pub(crate) fn remember_end(&self, id: &str) {
        let digest = digest_of(id);
        let mut ended = self.ended.lock();
        if !ended.digests.insert(digest) {
            return;
        }
        ended.order.push_back(digest);
        if ended.order.len() > MAX_ENDED
            && let Some(oldest) = ended.order.pop_front()
        {
            ended.digests.remove(&oldest);
        }
    }

    /// Adds a session of several nodes, unless there is one with this id. Returns whether it was added. Others are
    /// removed as by [`insert`](Self::insert), if possible: nodes read them again.
    pub(crate) fn put(&self, id: &str, session: &Arc<HttpSession>) -> bool {
        let mut by_id = self.by_id.lock();
        if by_id.contains_key(id) {
            return false;
        }
        if self.make_space(&mut by_id, &session.caller).is_err() {
            tracing::warn!("more sessions are in use than the maximum");
        }
        session.is_confirmed.store(true, Ordering::Relaxed);
        by_id.insert(id.to_owned(), Arc::clone(session));
        true
    }

    /// The session with this id, which is used now.
    pub(crate) fn peek(&self, id: &str) -> Option<Arc<HttpSession>> {
        let found = self.by_id.lock().get(id).cloned()?;
        found.touch();
        Some(found)
    }

    /// Ends the session with this id and its calls.
    pub(crate) fn end(&self, id: &str) {
        let removed = self.by_id.lock().remove(id);
        if let Some(removed) = removed {
            removed.session.delete();
        }
    }

    /// The sessions with open streams or running calls.
    pub(crate) fn active_ids(&self) -> Vec<String> {
        let by_id = self.by_id.lock();
        let active = by_id.iter().filter(|(_, session)| session.active.load(Ordering::Relaxed) > 0);
        active.map(|(id, _)| id.clone()).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_id.lock().is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.lock().len()
    }

    /// The maximum number of sessions.
    pub(crate) fn max(&self) -> usize {
        self.max
    }

    fn make_space(
        &self,
        by_id: &mut HashMap<String, Arc<HttpSession>>,
        caller: &str,
    ) -> Result<(), SessionError> {
        by_id.retain(|_, session| !session.is_expired(self.idle));
        if by_id.len() < self.max {
            return Ok(());
        }
        let mut counts = HashMap::from([(caller, 1)]);
        for session in by_id.values() {
            *counts.entry(&*session.caller).or_default() += 1;
        }
        let count = |session: &HttpSession| counts.get(&*session.caller).copied().unwrap_or(0);
        // A caller with fewer sessions than this one would have keeps them.
        let own = counts.get(caller).copied().unwrap_or(1);
        let removable = by_id.iter().filter(|(_, session)| {
            session.active.load(Ordering::Relaxed) == 0 && count(session) >= own
        });
        let oldest = removable.min_by_key(|(_, session)| {
            let is_confirmed = session.is_confirmed.load(Ordering::Relaxed);
            let is_other = session.caller != caller;
            (Reverse(count(session)), is_other, is_confirmed, *session.last_used.lock())
        });
        let oldest = oldest.map(|(id, _)| id.clone()).ok_or(SessionError::TooMany)?;
        by_id.remove(&oldest);
        Ok(())
    }

    /// The session with this id, if this sender has opened it and it has not expired.
    pub(crate) fn find(&self, id: &str, sender: &Extensions) -> Option<Arc<HttpSession>> {
        let mut by_id = self.by_id.lock();
        let found = by_id.get(id)?;
        if !found.is_of(sender) {
            return None;
        }
        if found.is_expired(self.idle) {
            by_id.remove(id);
            return None;
        }
        found.touch();
        if !found.is_confirmed.swap(true, Ordering::Relaxed) {
            found.session.confirm();
        }
        Some(Arc::clone(found))
    }

    /// Ends a session, if this sender has opened it.
    pub(crate) fn remove(&self, id: &str, sender: &Extensions) -> Option<Arc<HttpSession>> {
        let mut by_id = self.by_id.lock();
        let found = by_id.get(id)?;
        if !found.is_of(sender) {
            return None;
        }
        // Before the session is removed: another message must not open it again in between.
        self.remember_end(id);
        let removed = by_id.remove(id)?;
        removed.session.save_end(&removed.caller);
        Some(removed)
    }

    /// Whether there is a session with this id.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.by_id.lock().contains_key(id)
    }

    /// The session with this id, without using it.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<HttpSession>> {
        self.by_id.lock().get(id).cloned()
    }

    /// The sessions that the store has, and that were used within `recent`.
    pub(crate) fn stored_ids(&self, recent: Duration) -> Vec<String> {
        let by_id = self.by_id.lock();
        let stored = by_id
            .iter()
            .filter(|(_, session)| session.session.is_stored() && !session.is_expired(recent));
        stored.map(|(id, _)| id.clone()).collect()
    }
}

fn digest_of(id: &str) -> [u8; 16] {
    let mut digest = [0; 16];
    digest.copy_from_slice(
        &ring::digest::digest(&ring::digest::SHA256, id.as_bytes()).as_ref()[..16],
    );
    digest
}

/// Whether two messages have the same sender. A renewed token counts as the same if it names the same owner.
pub(crate) fn is_same(one: Option<&Principal>, other: Option<&Principal>) -> bool {
    let key = |principal: Option<&Principal>| principal.and_then(Principal::owner_key);
    one == other || (key(one).is_some() && key(one) == key(other))
}

/// The key of a caller in bounded stores: its principal, or else its [address](Peer::network). Senders without both are one
/// caller.
pub(crate) fn caller_key(sender: &Extensions) -> String {
    if let Some(owner) = owner_key(sender) {
        return owner;
    }
    Peer::of(sender).network().map(|address| address.to_string()).unwrap_or_default()
}

/// 128 random bits in hexadecimal. `None` if the random number generator of the system fails.
pub(crate) fn random_id() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// The start of the numbers that one copy of a session gives to its streams, and to its requests to the client. Other
/// copies, on this node and on others, have other numbers with high probability. They are exact as JSON numbers. `None`
/// if the random number generator of the system fails.
pub(crate) fn random_start() -> Option<u64> {
    Some(u64::from(getrandom::u32().ok()?.max(1)) << 20)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;
    use trunkline::access::Principal;
    use trunkline::http::Peer;
    use trunkline::{Extensions, Limits};

    use super::{HttpSession, MAX_ENDED, Replay, SessionError, Sessions, caller_key, random_id};

    const IDLE: Duration = Duration::from_secs(60);

    fn session() -> Arc<HttpSession> {
        session_of(&Extensions::new())
    }

    fn session_of(sender: &Extensions) -> Arc<HttpSession> {
        let replay = Replay::new(0, Limits::default().memory, 0);
        Arc::new(HttpSession::new(sender, replay, &CancellationToken::new(), 0))
    }

    /// Adds a session with a random id, and returns the id.
    fn insert(sessions: &Sessions, session: Arc<HttpSession>) -> Result<String, SessionError> {
        let id = random_id().unwrap();
        sessions.insert(&id, session).map(|_| id)
    }

    fn has(sessions: &Sessions, id: &str) -> bool {
        sessions.find(id, &Extensions::new()).is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_expire_when_idle() {
        let sessions = Sessions::new(2, IDLE);
        let id = insert(&sessions, session()).unwrap();
        tokio::time::advance(IDLE / 2).await;
        assert!(has(&sessions, &id));
        tokio::time::advance(IDLE / 2).await;
        let activity = sessions.find(&id, &Extensions::new()).unwrap().activity();
        tokio::time::advance(IDLE).await;
        drop(activity);
        assert!(has(&sessions, &id));
        tokio::time::advance(IDLE).await;
        assert!(!has(&sessions, &id));
        assert!(!has(&sessions, "unknown"));
    }

    /// A caller at an address.
    fn at(address: &str) -> Extensions {
        let mut sender = Extensions::new();
        sender.insert(Peer(Some(address.parse().unwrap())));
        sender
    }

    #[test]
    fn keys_of_callers() {
        let mut ada = at("192.0.2.1:1");
        ada.insert(Principal::new("ada"));
        let mut unnamed = at("192.0.2.1:1");
        unnamed.insert(Principal::new(""));
        let senders = [
            (Extensions::new(), ""),
            (at("192.0.2.1:1"), "192.0.2.1"),
            (at("[::ffff:192.0.2.1]:2"), "192.0.2.1"),
            (at("[2001:db8:1:2:3:4:5:6]:7"), "2001:db8:1:2::"),
            (ada, r#"[null,"ada"]"#),
            (unnamed, "{}"),
        ];
        for (sender, expected) in senders {
            assert_eq!(caller_key(&sender), expected);
        }
    }

    /// Callers add sessions, by their letters, and use them at once. `expected` has the callers of those that remain.
    #[track_caller]
    fn check_shares(max: usize, added: &str, expected: &str) {
        let sessions = Sessions::new(max, IDLE);
        let mut ids = Vec::new();
        for letter in added.bytes() {
            let sender = at(&format!("192.0.2.{letter}:1"));
            let id = insert(&sessions, session_of(&sender)).unwrap();
            sessions.find(&id, &sender).unwrap();
            ids.push((id, letter));
        }
        let rest = ids.iter().filter(|(id, _)| sessions.peek(id).is_some());
        let mut rest: Vec<u8> = rest.map(|(_, letter)| *letter).collect();
        rest.sort_unstable();
        assert_eq!(String::from_utf8_lossy(&rest), expected, "{max} {added}");
    }

    #[tokio::test]
    async fn callers_have_shares() {
        // A caller with many sessions removes its own.
        check_shares(3, "abbbbbbbbb", "abb");
        check_shares(3, "aabbbbbbbb", "aab");
        check_shares(4, "aabbbbbbbb", "aabb");
        check_shares(4, "aaaabcddddd", "abcd");
        // Others get space from it.
        check_shares(3, "aaab", "aab");
        check_shares(3, "aaabc", "abc");
        check_shares(3, "aaabb", "aab");
        // More callers than sessions: each can replace one.
        check_shares(2, "abc", "bc");
        check_shares(2, "abccc", "bc");
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_without_a_second_message_are_replaced_first() {
        let sessions = Sessions::new(3, IDLE);
        let used = insert(&sessions, session()).unwrap();
        assert!(has(&sessions, &used));
        let unused = insert(&sessions, session()).unwrap();
        tokio::time::advance(IDLE / 2).await;
        let later = insert(&sessions, session()).unwrap();
        let last = insert(&sessions, session()).unwrap();
        for (id, expected) in [(&used, true), (&unused, false), (&later, true), (&last, true)] {
            assert_eq!(has(&sessions, id), expected);
        }
        // All are used: the least recently used one without activity is replaced.
        let find = |id: &str| sessions.find(id, &Extensions::new()).unwrap();
        let _active = find(&used).activity();
        tokio::time::advance(Duration::from_secs(1)).await;
        find(&last);
        insert(&sessions, session()).unwrap();
        for (id, expected) in [(&used, true), (&later, false), (&last, true)] {
            assert_eq!(has(&sessions, id), expected);
        }
        let _active = (find(&used).activity(), find(&last).activity());
        let newest = insert(&sessions, session()).unwrap();
        let _also_active = find(&newest).activity();
        assert_eq!(insert(&sessions, session()), Err(SessionError::TooMany));
    }

    #[tokio::test]
    async fn the_last_ended_ids_are_known() {
        let sessions = Sessions::new(2, IDLE);
        let sender = Extensions::new();
        let end = |id: &str| {
            sessions.insert(id, session()).unwrap();
            assert!(sessions.remove(id, &sender).is_some());
            assert!(sessions.remove(id, &sender).is_none());
        };
        for number in 0..=MAX_ENDED {
            end(&number.to_string());
        }
        for (id, expected) in [("0", false), ("1", true), ("10000", true), ("10001", false)] {
            assert_eq!(sessions.has_ended(id), expected, "{id}");
        }
        // An id that ends again is stored once.
        end("1");
        assert_eq!(sessions.ended.lock().order.len(), MAX_ENDED);
    }
}
