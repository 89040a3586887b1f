//! Signed tokens (JSON Web Tokens) for authentication and authorization.
//!
//! `cargo run -p trunkline --example jwt` signs two tokens, makes calls with them, and prints the results. Real
//! services do not sign tokens: they fetch the keys of their issuer with `Keys::url`.
#![expect(clippy::print_stdout, reason = "examples print their results")]

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

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

/// The claims of the tokens of this service, other than the subject.
#[derive(Deserialize)]
struct Employee {
    team: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rpc = Router::new()
        .method("whoami", |caller: Principal, Claims(Employee { team }): Claims<Employee>| {
            format!("{} of {team}", caller.name())
        })
        .method("admin.stop", || "stopped")
        .authorize(Rules::new().require("admin.*", claim("role", "admin")))
        .build()?;

    let mut config = JwtConfig::default();
    config.audiences.push("example".to_owned());
    let keys = Keys::fixed([Key::secret(Algorithm::Hs256, SECRET)?]);
    let bearer = Jwt::new(keys, config).into();
    let service = rpc.http_with(http::HttpConfig { bearer, ..Default::default() });
    let server = Server::bind("127.0.0.1:0").serve(service).await?;

    let url: client::http::Url = format!("http://{}", server.local_addr()).parse()?;
    for (name, role) in [("alice", "admin"), ("bob", "user")] {
        let claims = json!({ "sub": name, "team": "blue", "role": role, "aud": "example" });
        let bearer = Some(token(claims)?.parse()?);
        let config = client::http::HttpClientConfig { bearer, ..Default::default() };
        let client = Client::new(Http::with_config(url.clone(), config)?);
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

/// Signs a token that is valid for a minute, as an issuer does.
fn token(mut claims: Value) -> Result<String, std::time::SystemTimeError> {
    let now = std::time::UNIX_EPOCH.elapsed()?.as_secs();
    claims["exp"] = json!(now + 60);
    let header = BASE64.encode(json!({ "alg": "HS256" }).to_string());
    let message = format!("{header}.{}", BASE64.encode(claims.to_string()));
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET);
    let signature = BASE64.encode(hmac::sign(&key, message.as_bytes()));
    Ok(format!("{message}.{signature}"))
}
