//! Subscriptions of clients to changes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use trunkline::protocol::CallFuture;
use trunkline::{Call, Outcome};

use super::context::Context;
use super::prebuilt::Declared;
use super::{Server, StartedCall, ready};
use crate::fault::Fault;
use crate::message_queue::MessageQueue;
use crate::protocol::error_code::RESOURCE_NOT_FOUND;
use crate::protocol::meta;
use crate::request::{is_object, members, string};
use crate::subscription::{Filter, Subscription};

impl Server {
    /// Adds a resource to the subscription of a session.
    pub(super) fn subscribe(
        &self,
        call: &Call,
        context: Context<'_>,
    ) -> Result<StartedCall, Fault> {
        let uri = uri(call)?;
        let session = context.session.ok_or(Fault::Request(NO_SESSION))?;
        if self.catalog.find_resource(&uri).is_none() {
            let uri = uri.into_owned();
            return Err(Fault::UnknownResource { uri, code: RESOURCE_NOT_FOUND });
        }
        if !session.subscription.add_resource(&uri, self.settings.subscriptions) {
            return Err(Fault::Params(TOO_MANY));
        }
        Ok(ready(b"{}"))
    }

    /// Removes a resource from the subscription of a session.
    pub(super) fn unsubscribe(
        &self,
        call: &Call,
        context: Context<'_>,
    ) -> Result<StartedCall, Fault> {
        let uri = uri(call)?;
        if let Some(session) = context.session {
            session.subscription.remove_resource(&uri);
        }
        Ok(ready(b"{}"))
    }

    /// Opens a subscription of the stateless era. The call ends when its client cancels it or the server stops.
    pub(super) fn listen(&self, call: &Call, context: Context<'_>) -> Result<StartedCall, Fault> {
        let [filter] = members(call, ["notifications"])?;
        let filter = filter.filter(|part| is_object(call, *part)).map(|part| call.text(part));
        let filter = filter.and_then(|json| serde_json::from_slice::<Filter>(json).ok());
        let wanted = self.supported(filter.ok_or(Fault::Params(BAD_FILTER))?);
        if wanted.resource_subscriptions.len() > self.settings.subscriptions {
            return Err(Fault::Params(TOO_MANY));
        }
        let id = call.id().ok_or(Fault::Request("a subscription needs an id"))?;
        let raw: Value = serde_json::from_str(id.as_raw()).unwrap_or_default();
        let subscription = Arc::new(Subscription::of_request(id, wanted));
        let messages = Arc::new(MessageQueue::default());
        messages.push_first(subscription.acknowledgement());
        self.subscribers.add(&subscription);
        let (queue, closing) = (Arc::clone(&messages), self.settings.closing.clone());
        let ended = context.session.map(|channel| channel.ended.clone()).unwrap_or_default();
        let notify = async move {
            loop {
                let message = subscription.next().await;
                queue.send(message).await;
            }
        };
        let future = CallFuture::from_future(async move {
            tokio::select! {
                biased;
                () = closing.cancelled() => {}
                () = ended.cancelled() => {}
                () = notify => {}
            }
            Outcome::result(&json!({
                "resultType": "complete",
                "_meta": { meta::SUBSCRIPTION_ID: raw },
            }))
        });
        Ok(StartedCall { future, messages: Some(messages) })
    }

    /// The part of a filter that this server supports.
    fn supported(&self, wanted: Filter) -> Filter {
        let has_lists = self.rpc.has_dynamic_operations();
        let Declared { resources, prompts, .. } = self.catalog.declared();
        let uris = wanted.resource_subscriptions;
        Filter {
            tools_list_changed: wanted.tools_list_changed && has_lists,
            prompts_list_changed: wanted.prompts_list_changed && has_lists && prompts,
            resources_list_changed: wanted.resources_list_changed && has_lists && resources,
            resource_subscriptions: if resources { uris } else { BTreeSet::new() },
        }
    }
}

const NO_SESSION: &str =
    "subscriptions need a session; send the `Mcp-Session-Id` that `initialize` returned";
const TOO_MANY: &str = "too many resources; unsubscribe from others first";
const BAD_FILTER: &str = "`notifications` must be an object of the changes to listen to";

fn uri(call: &Call) -> Result<Cow<'_, str>, Fault> {
    let [uri] = members(call, ["uri"])?;
    string(call, uri).ok_or(Fault::Params("`uri` must be a string: the URI of the resource"))
}
