//! Results that servers allow to reuse ("Caching").

use std::collections::VecDeque;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::handler::Change;
use crate::lock::Lock;
use crate::protocol::method;

/// The cached results of one client, and thus of one authorization context. The oldest are removed first.
#[derive(Debug)]
pub(super) struct Cache {
    max_bytes: usize,
    state: Lock<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// Counts invalidations: a result that was requested before one is not cached after it.
    generation: u64,
}

#[derive(Debug)]
struct Entry {
    key: Key,
    result: Box<RawValue>,
    stale_at: Instant,
}

/// A method, and the param that selects its result: a cursor or a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) method: &'static str,
    pub(super) selector: Option<String>,
}

/// The longest time to keep a result, whatever the server allows.
const MAX_TTL: Duration = Duration::from_secs(86_400);

impl Cache {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, state: Lock::default() }
    }

    pub(super) fn get(&self, key: &Key) -> Option<Box<RawValue>> {
        let state = self.state.lock();
        let now = Instant::now();
        let mut entries = state.entries.iter();
        let entry = entries.find(|entry| entry.key == *key && entry.stale_at > now)?;
        Some(entry.result.clone())
    }

    /// The present generation, for [`put`](Self::put).
    pub(super) fn generation(&self) -> u64 {
        self.state.lock().generation
    }

    /// Caches the result of a request that was sent in `generation`, if the server allows it.
    pub(super) fn put(&self, key: Key, result: &RawValue, generation: u64) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Hints {
            // Some servers send a fraction.
            #[serde(default)]
            ttl_ms: f64,
        }
        let ttl = serde_json::from_str(result.get()).map_or(0.0, |hints: Hints| hints.ttl_ms);
        let ttl = Duration::try_from_secs_f64(ttl / 1000.0).unwrap_or_default().min(MAX_TTL);
        let bytes = result.get().len();
        if ttl.is_zero() || bytes > self.max_bytes {
            return;
        }
        let mut state = self.state.lock();
        if state.generation != generation {
            return;
        }
        state.remove(|known| *known == key);
        while state.bytes + bytes > self.max_bytes
            && let Some(oldest) = state.entries.pop_front()
        {
            state.bytes -= oldest.result.get().len();
        }
        state.bytes += bytes;
        let stale_at = Instant::now() + ttl;
        state.entries.push_back(Entry { key, result: result.to_owned(), stale_at });
    }

    /// Removes the results that a change concerns.
    pub(super) fn invalidate(&self, change: &Change) {
        self.remove_if(|key| match change {
            Change::Tools => key.method == method::TOOLS_LIST,
            Change::Prompts => key.method == method::PROMPTS_LIST,
            Change::Resources => {
                key.method == method::RESOURCES_LIST || key.method == method::TEMPLATES_LIST
            }
            Change::Resource(uri) => {
                key.method == method::RESOURCES_READ && key.selector.as_ref() == Some(uri)
            }
        });
    }

    /// Removes the results of one method.
    pub(super) fn remove(&self, method: &'static str) {
        self.remove_if(|key| key.method == method);
    }

    /// Removes all results, after a change of the authorization context.
    pub(super) fn clear(&self) {
        self.remove_if(|_| true);
    }

    fn remove_if(&self, is_removed: impl Fn(&Key) -> bool) {
        let mut state = self.state.lock();
        state.generation += 1;
        state.remove(is_removed);
    }
}

impl State {
    fn remove(&mut self, is_removed: impl Fn(&Key) -> bool) {
        self.entries.retain(|entry| !is_removed(&entry.key));
        self.bytes = self.entries.iter().map(|entry| entry.result.get().len()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(selector: Option<&str>) -> Key {
        Key { method: method::RESOURCES_READ, selector: selector.map(str::to_owned) }
    }

    fn put(cache: &Cache, selector: &str, json: &str) {
        let result = RawValue::from_string(json.to_owned()).unwrap();
        cache.put(key(Some(selector)), &result, cache.generation());
    }

    #[track_caller]
    fn check(json: &str, seconds: &[(u64, bool)]) {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap()
            .block_on(async {
                let cache = Cache::new(1_000);
                put(&cache, "a", json);
                for (second, is_cached) in seconds {
                    let found = cache.get(&key(Some("a"))).is_some();
                    assert_eq!(found, *is_cached, "{json} after {second} s");
                    tokio::time::advance(Duration::from_secs(*second)).await;
                }
            });
    }

    #[test]
    fn results_are_cached_for_their_ttl() {
        check(r#"{"ttlMs": 3000}"#, &[(2, true), (2, true), (0, false)]);
        check(r#"{"ttlMs": 1e300}"#, &[(0, false)]);
        check(r#"{"ttlMs": 1e9}"#, &[(86_399, true), (2, true), (0, false)]);
        for none in ["{}", r#"{"ttlMs": 0}"#, r#"{"ttlMs": -5}"#, r#"{"ttlMs": "1"}"#, "[]"] {
            check(none, &[(0, false)]);
        }
    }

    #[tokio::test]
    async fn the_cache_is_bounded_and_invalidated() {
        const JSON: &str = r#"{"ttlMs": 60000}"#;
        let cache = Cache::new(2 * JSON.len());
        for selector in ["a", "b", "c"] {
            put(&cache, selector, JSON);
        }
        let found = |cache: &Cache| {
            ["a", "b", "c"].map(|selector| cache.get(&key(Some(selector))).is_some())
        };
        assert_eq!(found(&cache), [false, true, true]);
        put(&cache, "d", &format!(r#"{{"ttlMs": 60000, "text": "{:100}"}}"#, ""));
        assert_eq!(found(&cache), [false, true, true]);
        cache.invalidate(&Change::Resource("b".to_owned()));
        cache.invalidate(&Change::Resources);
        assert_eq!(found(&cache), [false, false, true]);

        let generation = cache.generation();
        cache.invalidate(&Change::Tools);
        let result = RawValue::from_string(JSON.to_owned()).unwrap();
        cache.put(key(Some("b")), &result, generation);
        assert_eq!(found(&cache), [false, false, true], "requested before a change");
        cache.clear();
        assert_eq!(found(&cache), [false; 3]);
    }
}
