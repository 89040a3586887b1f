//! Networks that clients connect to.

use trunkline::client::http::{HttpClientConfig, Networks};
use trunkline::client::{Http, TransportError};

use super::peer::{Answer, Peer};

#[tokio::test]
async fn connects_to_permitted_networks_only() {
    let peer = Peer::always(Answer::http("200 OK", "")).await;
    let port = peer.url.rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    for host in ["127.0.0.1", "localhost"] {
        for (networks, is_permitted) in
            [(Networks::Any, true), (Networks::Private, false), (Networks::Public, false)]
        {
            let config = HttpClientConfig { networks, ..HttpClientConfig::default() };
            let url = format!("http://{host}:{port}").parse().unwrap();
            let reply = Http::with_config(url, config).unwrap().get(Default::default()).await;
            match reply {
                Ok(_) => assert!(is_permitted, "{host}: {networks:?}"),
                Err(TransportError::Connect { source, .. }) => {
                    assert!(!is_permitted, "{host}: {networks:?}: {source:?}");
                    assert!(format!("{source:?}").contains("NotPermitted"), "{source:?}");
                }
                Err(error) => panic!("{host}: {networks:?}: {error:?}"),
            }
        }
    }
}
