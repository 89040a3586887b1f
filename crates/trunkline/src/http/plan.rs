//! What is done with a request, as far as its head tells.

#[cfg(feature = "jwt")]
use std::future::Future;
use std::net::SocketAddr;
#[cfg(feature = "jwt")]
use std::pin::Pin;

use http::request::Parts;
use http::{Method, Response, Uri};
use trunkline_core::extensions::Extensions;
use trunkline_core::format::{Format, Formats};

#[cfg(feature = "jwt")]
use super::bearer;
use super::bearer::Caller;
use super::door::Door;
use super::refusal::Refusal;
use super::reply_body::ReplyBody;
use super::route::Route;
use crate::request::Head;
use trunkline_access::Principal;

/// What is wanted of a request that may come in.
pub(super) enum Admitted {
    Call(Caller, Formats),
    Options,
}

/// A request that may come in, without its body.
pub(super) struct Arrived<'a> {
    pub(super) parts: Parts,
    pub(super) peer: Option<SocketAddr>,
    pub(super) route: Route<'a>,
    pub(super) formats: Formats,
}

impl<'a> Arrived<'a> {
    pub(super) fn of(self, caller: Caller) -> Planned<'a> {
        match caller {
            Caller::Anyone => Planned::Now(self.plan()),
            Caller::Known(principal) => Planned::Now(self.plan_for(principal)),
            #[cfg(feature = "jwt")]
            Caller::Awaited(checking) => Planned::Later(Box::pin(async move {
                match checking.await {
                    Ok(principal) => self.plan_for(principal),
                    Err(error) => Plan::Refused(bearer::refusal(&error), self.formats.reply),
                }
            })),
        }
    }

    fn plan_for(mut self, principal: Principal) -> Plan<'a> {
        self.parts.extensions.insert(principal);
        self.plan()
    }

    fn plan(self) -> Plan<'a> {
        let Self { parts, peer, route, formats } = self;
        match route {
            Route::Door(door, _) => {
                let (method, uri) = (parts.method.clone(), parts.uri.clone());
                let extensions =
                    Extensions::of(Head::new(parts, peer, route.door(), route.protocol()));
                Plan::Door(door, DoorHead { method, uri, extensions, formats })
            }
            Route::Calls | Route::Nowhere => Plan::Calls(
                Extensions::of(Head::new(parts, peer, route.door(), route.protocol())),
                formats,
            ),
        }
    }
}

/// What can be told before the body, which may still depend on who calls.
pub(super) enum Planned<'a> {
    Now(Plan<'a>),
    #[cfg(feature = "jwt")]
    Later(Pin<Box<dyn Future<Output = Plan<'a>> + Send + 'a>>),
}

/// How a request is answered, once its body is there.
pub(super) enum Plan<'a> {
    Calls(Extensions, Formats),
    Door(&'a dyn Door, DoorHead),
    Answered(Response<ReplyBody>),
    Refused(Refusal, Format),
}

/// What a door is asked, without the body.
pub(super) struct DoorHead {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) extensions: Extensions,
    pub(super) formats: Formats,
}
