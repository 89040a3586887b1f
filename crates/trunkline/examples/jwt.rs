//! Signed tokens: who calls, and what they may.
//!
//! `cargo run --example jwt` makes two tokens, calls with them, and shows what comes back. A service
//! has no secret of its own: it takes the keys of its issuer, with `Keys::url`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::hmac;
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::access::jwt::{Algorithm, Jwt, JwtConfig, Key, Keys};
use trunkline::access::{Claims, Principal};
use trunkline::client::{self, Client, Http};
use trunkline::layers::authorize::{Rules, claim};
use trunkline::server::Server;
use trunkline::{Router, http};

const SECRET: &[u8] = b"who knows this can make any token";

/// What this service's tokens say, besides who has them.
#[derive(Deserialize)]
struct Employee {
    team: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rpc = Router::new()
        .method("whoami", |who: Principal, Claims(Employee { team }): Claims<Employee>| {
            format!("{} of {team}", who.name())
        })
        .method("admin.stop", || "stopped")
        .authorize(Rules::new().require("admin.*", claim("role", "admin")))
        .build()?;

    let mut settings = JwtConfig::default();
    settings.audiences.push("example".to_owned());
    let keys = Keys::fixed([Key::secret(Algorithm::Hs256, SECRET)?]);
    let bearer = Jwt::new(keys, settings).into();
    let service = rpc.http_with(http::HttpConfig { bearer, ..Default::default() });
    let server = Server::bind("127.0.0.1:0").serve(service).await?;

    let url: client::http::Url = format!("http://{}", server.local_addr()).parse()?;
    for (name, role) in [("alice", "admin"), ("bob", "user")] {
        let claims = json!({ "sub": name, "team": "blue", "role": role, "aud": "example" });
        let bearer = Some(token(claims)?.parse()?);
        let settings = client::http::HttpClientConfig { bearer, ..Default::default() };
        let client = Client::new(Http::with_config(url.clone(), settings)?);
        for method in ["whoami", "admin.stop"] {
            match client.call::<String>(method, ()).await {
                Ok(result) => println!("{name}: {method}: {result}"),
                Err(error) => println!("{name}: {method}: {error}"),
            }
        }
    }
    server.stop().await;
    Ok(())
}

/// A token that is good for a minute, as the issuer makes it.
fn token(mut claims: Value) -> Result<String, std::time::SystemTimeError> {
    let now = std::time::UNIX_EPOCH.elapsed()?.as_secs();
    claims["exp"] = json!(now + 60);
    let header = BASE64.encode(json!({ "alg": "HS256" }).to_string());
    let message = format!("{header}.{}", BASE64.encode(claims.to_string()));
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET);
    let signature = BASE64.encode(hmac::sign(&key, message.as_bytes()));
    Ok(format!("{message}.{signature}"))
}
