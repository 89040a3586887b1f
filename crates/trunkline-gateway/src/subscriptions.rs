//! Subscriptions of clients to resources of an upstream.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::stream;
use trunkline_mcp::SubscribedResource;
use trunkline_mcp::client::{Client, Error};

/// The resources of an upstream to which clients have subscribed.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    /// By URI. A resource is that of a server; there is one for each server that has the operations of the gateway.
    resources: Mutex<BTreeMap<String, Vec<SubscribedResource>>>,
    /// Locked while subscriptions at the upstream change.
    changing: tokio::sync::Mutex<()>,
}

/// The reason why a subscription is refused.
#[derive(Debug)]
pub(crate) enum Refusal {
    TooMany,
    Upstream(Error),
}

/// A new resource, which is removed if its subscription fails or is cancelled.
struct Added<'s> {
    subscriptions: &'s Subscriptions,
    uri: &'s str,
    is_kept: bool,
}

/// The maximum number of resources.
const MAX: usize = 1_000;
/// The maximum number of concurrent requests.
const CONCURRENT: usize = 16;

impl Subscriptions {
    /// Adds a resource, and subscribes to it if this is the first subscription.
    pub(crate) async fn add(
        &self,
        client: Option<&Client>,
        resource: SubscribedResource,
    ) -> Result<(), Refusal> {
        let uri = resource.uri().to_owned();
        let _turn = self.changing.lock().await;
        {
            let mut resources = self.lock();
            if let Some(known) = resources.get_mut(&uri) {
                if !known.iter().any(|known| known.is_same(&resource)) {
                    known.push(resource);
                }
                return Ok(());
            }
            if resources.len() >= MAX {
                return Err(Refusal::TooMany);
            }
            resources.insert(uri.clone(), vec![resource]);
        }
        let mut added = Added { subscriptions: self, uri: &uri, is_kept: false };
        // Without a connection, the next one subscribes.
        if let Some(client) = client {
            client.subscribe(&uri).await.map_err(Refusal::Upstream)?;
        }
        added.is_kept = true;
        Ok(())
    }

    /// Subscribes to all resources over a new connection, and reports that they may have changed meanwhile.
    pub(crate) async fn restore(&self, client: &Client) {
        let _turn = self.changing.lock().await;
        let uris: Vec<_> = self.lock().keys().cloned().collect();
        let subscribed =
            stream::iter(uris).for_each_concurrent(CONCURRENT, async |uri| {
                match client.subscribe(&uri).await {
                    Ok(()) => self.updated(&uri),
                    Err(error) => {
                        tracing::warn!(uri, %error, "cannot subscribe to a resource again");
                    }
                }
            });
        subscribed.await;
    }

    /// Ends the subscriptions to resources to which no client subscribes any more.
    pub(crate) async fn release(&self, client: &Client) {
        let _turn = self.changing.lock().await;
        let unused: Vec<_> = {
            let mut resources = self.lock();
            let is_used = |known: &Vec<SubscribedResource>| {
                known.iter().any(SubscribedResource::is_subscribed)
            };
            resources.extract_if(.., |_, known| !is_used(known)).map(|(uri, _)| uri).collect()
        };
        let ended = stream::iter(unused).for_each_concurrent(CONCURRENT, async |uri| {
            if let Err(error) = client.unsubscribe(&uri).await {
                tracing::debug!(uri, %error, "cannot end the subscription to a resource");
            }
        });
        ended.await;
    }

    /// Notifies the clients of a change.
    pub(crate) fn updated(&self, uri: &str) {
        if let Some(resources) = self.lock().get(uri) {
            resources.iter().for_each(SubscribedResource::updated);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<SubscribedResource>>> {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Added<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.subscriptions.lock().remove(self.uri);
        }
    }
}
