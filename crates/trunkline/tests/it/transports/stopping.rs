//! Servers that stop while calls run.

use std::time::Duration;

use trunkline::client::{Error, TransportError};
use trunkline::stream::StreamError;

use super::serving::{ALL, Kind, Served};
use crate::support::in_time;

/// The transports whose servers a test can stop. Child processes have separate tests.
fn kinds() -> impl Iterator<Item = Kind> {
    ALL.into_iter().filter(|kind| !matches!(kind, Kind::Memory | Kind::Child(_)))
}

#[tokio::test]
async fn running_calls_complete() {
    for kind in kinds() {
        println!("over {kind:?}");
        let served = Served::start(kind).await;
        let waiting = tokio::spawn(served.client.call::<String>("wait", ()).into_future());
        served.until([1, 0, 0]).await;
        let stopping = served.stop().await;
        let rpc = served.rpc.clone().unwrap();
        rpc.call::<()>("open", &()).await.unwrap();
        let ended = in_time("the call's end", waiting).await.unwrap();
        assert_eq!(ended.unwrap(), "done");
        assert!(matches!(stopping.cut().await, None | Some(0)));
        let late = in_time("a late call", served.client.call::<()>("note", ()).into_future()).await;
        assert!(matches!(late, Err(Error::Transport(_))), "{kind:?}: {late:?}");
        assert!(matches!(served.ended().await, None | Some(Ok(()))));
    }
}

#[tokio::test]
async fn interrupts_calls_after_the_drain_timeout() {
    for kind in kinds() {
        println!("over {kind:?}");
        let served = Served::draining(kind, Duration::from_millis(50)).await;
        let rpc = served.rpc.clone().unwrap();
        let working = tokio::spawn(served.client.call::<()>("work", ()).into_future());
        served.until([1, 0, 0]).await;
        let stopping = served.stop().await;
        let ended = in_time("the call's end", working).await.unwrap();
        let is_broken = matches!(ended, Err(Error::Transport(TransportError::Broken { .. })));
        assert!(is_broken, "{kind:?}: {ended:?}");
        assert!(matches!(stopping.cut().await, None | Some(1)));
        assert_eq!(rpc.call::<[usize; 3]>("counts", &()).await.unwrap(), [1, 1, 0]);
        let ended = served.ended().await;
        assert!(matches!(ended, None | Some(Err(StreamError::Unfinished { calls: 1 }))));
    }
}
