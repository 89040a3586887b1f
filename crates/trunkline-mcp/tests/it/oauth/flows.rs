//! Flows from a refused request to a token.

use std::sync::Arc;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};
use trunkline::access::jwt::{Algorithm, SigningKey};
use trunkline_mcp::client::Authorization;
use trunkline_mcp::client::oauth::{
    ClientAuthentication, Grant, IdentityProvider, Loopback, OAuth, OAuthConfig, OAuthError,
    RegisteredClient, Secret,
};

use super::world::{Rules, World, location};
use super::{challenge, interactive};
use crate::support::in_time;

const RESOURCE: &str = "GET /.well-known/oauth-protected-resource/mcp";
const SERVER: &str = "GET /.well-known/oauth-authorization-server";
const REGISTER: &str = "register MCP client none native";
const AUTHORIZE: &str = "authorize client=dynamic scope=- resource=O/mcp";
const TOKEN: &str = "token authorization_code public(dynamic) resource=O/mcp";

/// A 401 with this challenge obtains the token `t1`, or fails with an error. The servers log these requests.
async fn check(
    rules: Rules,
    config: OAuthConfig,
    value: &str,
    expected: Result<(), &str>,
    log: &[&str],
) {
    let world = World::start(rules).await;
    let oauth = OAuth::new(&world.mcp(), config).unwrap();
    let found = in_time("the challenge", challenge(&oauth, &world, 401, value)).await;
    let token = oauth.token().await.unwrap();
    match expected {
        Ok(()) => assert_eq!((found, token.as_deref()), (Ok(true), Some("t1")), "{log:?}"),
        Err(expected) => {
            let found = found.unwrap_err();
            assert!(found.contains(expected), "{found}");
            assert_eq!(token, None, "{found}");
        }
    }
    assert_eq!(world.log(), log);
}

#[tokio::test]
async fn registers_and_requests_a_token() {
    let all = [RESOURCE, SERVER, REGISTER, AUTHORIZE, TOKEN];
    check(Rules::default(), interactive(), "Bearer", Ok(()), &all).await;
}

#[tokio::test]
async fn metadata_of_the_resource() {
    let rest = [SERVER, REGISTER, AUTHORIZE, TOKEN];
    let at = |resource_path| Rules { resource_path, ..Rules::default() };
    let with = |resource: Value| Rules { resource, ..Rules::default() };

    // At the URL of the challenge only.
    let custom = "Bearer resource_metadata=\"O/custom\"";
    let log = [&["GET /custom"][..], &rest].concat();
    check(at("/custom"), interactive(), custom, Ok(()), &log).await;
    let expected = Err("/custom returned status 404");
    check(Rules::default(), interactive(), custom, expected, &["GET /custom"]).await;

    // At the origin.
    let root = "/.well-known/oauth-protected-resource";
    let get_root = format!("GET {root}");
    let log = [&[RESOURCE, &get_root][..], &rest].concat();
    check(at(root), interactive(), "Bearer", Ok(()), &log).await;

    // The resource may be the origin, which is then the audience of tokens.
    let (authorize, token) = (AUTHORIZE.replace("/mcp", ""), TOKEN.replace("/mcp", ""));
    let log = [RESOURCE, SERVER, REGISTER, &authorize, &token];
    check(with(json!({ "resource": "O" })), interactive(), "Bearer", Ok(()), &log).await;

    for (changes, expected) in [
        (
            json!({ "resource": "https://evil.example.com/mcp" }),
            "the metadata are those of the resource `https://evil.example.com/mcp`",
        ),
        (json!({ "resource": "O/other" }), "but the server is"),
        (json!({ "authorization_servers": [] }), "name no authorization server"),
        (json!({ "authorization_servers": ["http://as.example.com"] }), "https is required"),
        (json!({ "authorization_servers": ["O?a"] }), "neither a query nor a fragment"),
        (json!({ "authorization_servers": "O" }), "invalid type"),
        (json!({ "a": "x".repeat(300 << 10) }), "request to http://127.0.0.1"),
    ] {
        check(with(changes), interactive(), "Bearer", Err(expected), &[RESOURCE]).await;
    }
    let plain = "Bearer resource_metadata=\"http://192.0.2.1/\"";
    check(Rules::default(), interactive(), plain, Err("https is required"), &[]).await;
}

#[tokio::test]
async fn metadata_of_the_authorization_server() {
    // OpenID Connect, with and without a path.
    const OPENID: &str = "GET /.well-known/openid-configuration";
    let server_path = "/.well-known/openid-configuration";
    let log = [RESOURCE, SERVER, OPENID, REGISTER, AUTHORIZE, TOKEN];
    check(Rules { server_path, ..Rules::default() }, interactive(), "Bearer", Ok(()), &log).await;

    let rules = Rules {
        resource: json!({ "authorization_servers": ["O/a", "https://b.invalid"] }),
        server_path: "/a/.well-known/openid-configuration",
        server: json!({ "issuer": "O/a" }),
        redirect: "code=c0de&iss=O/a",
        ..Rules::default()
    };
    let inserted = [SERVER, OPENID].map(|line| format!("{line}/a"));
    let appended = "GET /a/.well-known/openid-configuration";
    let log = [RESOURCE, &inserted[0], &inserted[1], appended, REGISTER, AUTHORIZE, TOKEN];
    check(rules, interactive(), "Bearer", Ok(()), &log).await;

    let rules = Rules { server_path: "", ..Rules::default() };
    let expected = Err("does not support metadata");
    check(rules, interactive(), "Bearer", expected, &[RESOURCE, SERVER, OPENID]).await;

    for (server, expected) in [
        (
            json!({ "issuer": "https://honest.example" }),
            "is `https://honest.example` instead of `http://127.0.0.1",
        ),
        (json!({ "issuer": "O/" }), "instead of"),
        (json!({ "code_challenge_methods_supported": null }), "does not support PKCE"),
        (json!({ "code_challenge_methods_supported": ["plain"] }), "does not support PKCE"),
        (json!({ "authorization_endpoint": null }), "does not support authorization requests"),
        (json!({ "authorization_endpoint": "http://as.example.com" }), "https is required"),
        (json!({ "authorization_endpoint": "file:///etc/passwd" }), "unsupported scheme file"),
        (json!({ "registration_endpoint": null }), "no client id for the authorization server"),
        (json!({ "registration_endpoint": "http://192.0.2.1" }), "https is required"),
    ] {
        let rules = Rules { server, ..Rules::default() };
        check(rules, interactive(), "Bearer", Err(expected), &[RESOURCE, SERVER]).await;
    }
}

#[tokio::test]
async fn servers_without_metadata() {
    // The rules of 2025-03-26.
    let root = "GET /.well-known/oauth-protected-resource";
    let openid = "GET /.well-known/openid-configuration";
    let rules = Rules { resource_path: "", ..Rules::default() };
    let log = [RESOURCE, root, SERVER, REGISTER, AUTHORIZE, TOKEN];
    check(rules.clone(), interactive(), "Bearer", Ok(()), &log).await;

    let register = "register MCP client client_secret_basic native";
    let rules = Rules {
        server_path: "",
        client: json!({ "client_secret": "s" }),
        redirect: "code=c0de",
        ..rules
    };
    let token = TOKEN.replace("public(dynamic)", "basic(dynamic:s)");
    let log = [RESOURCE, root, SERVER, openid, register, AUTHORIZE, &token];
    check(rules, interactive(), "Bearer", Ok(()), &log).await;
}

#[tokio::test]
async fn scopes() {
    let rules = Rules {
        resource: json!({ "scopes_supported": ["a", "b"] }),
        server: json!({ "scopes_supported": ["a", "offline_access"] }),
        ..Rules::default()
    };
    let log = |scope: &str| AUTHORIZE.replace("scope=-", &format!("scope={scope}"));
    let without_offline = OAuthConfig { offline_access: false, ..interactive() };
    let with_more = OAuthConfig { scopes: vec!["d".to_owned(), "a".to_owned()], ..interactive() };
    for (rules, config, value, expected) in [
        (rules.clone(), interactive(), "Bearer scope=\"c a\"", "c a offline_access"),
        (rules.clone(), interactive(), "Bearer", "a b offline_access"),
        (rules.clone(), without_offline, "Bearer", "a b"),
        (rules, with_more, "Bearer scope=a", "a d offline_access"),
        // Requests without scopes mean the default ones.
        (
            Rules { server: json!({ "scopes_supported": ["offline_access"] }), ..Rules::default() },
            interactive(),
            "Bearer",
            "-",
        ),
    ] {
        let authorize = log(expected);
        let log = [RESOURCE, SERVER, REGISTER, &authorize, TOKEN];
        check(rules, config, value, Ok(()), &log).await;
    }
}

#[tokio::test]
async fn authorization_responses() {
    for (redirect, is_announced, expected) in [
        ("code=c0de&iss=O", true, Ok(())),
        ("code=c0de&iss=O", false, Ok(())),
        ("code=c0de", false, Ok(())),
        ("code=c0de", true, Err("`iss` is missing")),
        ("code=c0de&iss=O/", false, Err("the issuer in the authorization response")),
        ("code=c0de&iss=https://evil.example.com", true, Err("https://evil.example.com")),
        ("error=access_denied&iss=O", true, Err("refused the authorization: access_denied")),
        ("iss=O", true, Err("`code` is missing")),
        ("code=c0de&iss=O&state=other", true, Err("duplicate parameter")),
    ] {
        let server = json!({ "authorization_response_iss_parameter_supported": is_announced });
        let rules = Rules { server, redirect, ..Rules::default() };
        let all = [RESOURCE, SERVER, REGISTER, AUTHORIZE, TOKEN];
        // A code of another issuer is not sent to any token endpoint.
        let log = if expected.is_ok() { &all[..] } else { &all[..4] };
        check(rules, interactive(), "Bearer", expected, log).await;
    }
}

#[tokio::test]
async fn replies_to_token_requests() {
    for (token_status, token, expected) in [
        (400, json!({ "error": "invalid_grant" }), "refused the token request: invalid_grant"),
        (200, json!({ "token_type": "DPoP" }), "`token_type` is not `Bearer`"),
        (200, json!({ "access_token": "a b" }), "not visible ASCII"),
        (302, json!({}), "returned status 302"),
        (500, json!({ "error": "e" }), "returned status 500"),
    ] {
        let rules = Rules { token, token_status, ..Rules::default() };
        let log = [RESOURCE, SERVER, REGISTER, AUTHORIZE, TOKEN];
        check(rules, interactive(), "Bearer", Err(expected), &log).await;
    }
}

#[tokio::test]
async fn dynamic_registration() {
    for (methods, client, register, token) in [
        (json!(["client_secret_post", "none"]), json!({}), "none", "public(dynamic)"),
        (
            json!(["client_secret_post"]),
            json!({ "client_secret": "s", "token_endpoint_auth_method": "client_secret_post" }),
            "client_secret_post",
            "post(dynamic:s)",
        ),
        (
            json!(["client_secret_post", "client_secret_basic"]),
            json!({ "client_secret": "s" }),
            "client_secret_basic",
            "basic(dynamic:s)",
        ),
        // A secret that is not needed.
        (json!(["none"]), json!({ "client_secret": "s" }), "none", "public(dynamic)"),
    ] {
        let server = json!({ "token_endpoint_auth_methods_supported": methods });
        let rules = Rules { server, client, ..Rules::default() };
        let register = REGISTER.replace("none", register);
        let token = TOKEN.replace("public(dynamic)", token);
        let log = [RESOURCE, SERVER, &register, AUTHORIZE, &token];
        check(rules, interactive(), "Bearer", Ok(()), &log).await;
    }
    let client = json!({ "error": "invalid_redirect_uri", "error_description": "not this one" });
    let rules = Rules { client, ..Rules::default() };
    let expected = Err("refused the client registration: invalid_redirect_uri (not this one)");
    check(rules, interactive(), "Bearer", expected, &[RESOURCE, SERVER, REGISTER]).await;
}

#[tokio::test]
async fn client_ids() {
    const DOCUMENT: &str = "https://client.example.com/mcp.json";
    let document =
        || OAuthConfig { client_metadata_url: Some(DOCUMENT.to_owned()), ..interactive() };
    let registered = |client| OAuthConfig { clients: vec![client], ..interactive() };
    let supported = json!({ "client_id_metadata_document_supported": true });
    let supported = || Rules { server: supported.clone(), ..Rules::default() };
    let log_of = |client: &str, authentication: &str| {
        let authorize = AUTHORIZE.replace("dynamic", client);
        [authorize, TOKEN.replace("public(dynamic)", authentication)]
    };

    // Metadata documents are preferred to registrations, and registered clients to both.
    let [authorize, token] = &log_of(DOCUMENT, &format!("public({DOCUMENT})"));
    let log = [RESOURCE, SERVER, authorize, token];
    check(supported(), document(), "Bearer", Ok(()), &log).await;
    let log = [RESOURCE, SERVER, REGISTER, AUTHORIZE, TOKEN];
    check(Rules::default(), document(), "Bearer", Ok(()), &log).await;

    let secret = || ClientAuthentication::Secret("s".into());
    let client = || RegisteredClient::new("known").authenticate(secret());
    let [authorize, token] = &log_of("known", "basic(known:s)");
    let log = [RESOURCE, SERVER, authorize, token];
    let both = OAuthConfig { clients: vec![client()], ..document() };
    check(supported(), both, "Bearer", Ok(()), &log).await;

    let post = json!({ "token_endpoint_auth_methods_supported": ["client_secret_post"] });
    let [authorize, token] = &log_of("known", "post(known:s)");
    let log = [RESOURCE, SERVER, authorize, token];
    let rules = Rules { server: post, ..Rules::default() };
    check(rules, registered(client()), "Bearer", Ok(()), &log).await;

    // Clients of other authorization servers are not used, and no other client is.
    let elsewhere =
        OAuthConfig { clients: vec![client().at("https://as.example.com")], ..document() };
    let expected = Err("no client id for the authorization server `http://127.0.0.1");
    check(supported(), elsewhere, "Bearer", expected, &[RESOURCE, SERVER]).await;

    for url in ["http://client.example.com/mcp.json", "https://client.example.com", "mcp.json"] {
        let config = OAuthConfig { client_metadata_url: Some(url.to_owned()), ..interactive() };
        let error = OAuth::new("https://mcp.example.com/mcp", config).unwrap_err();
        assert!(matches!(error, OAuthError::Url { .. }), "{error:?}");
    }
}

fn signing_key() -> SigningKey {
    use base64::Engine;
    let random = SystemRandom::new();
    let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let text = base64::prelude::BASE64_STANDARD.encode(der);
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----");
    SigningKey::from_pem(Algorithm::Es256, &pem).unwrap()
}

#[tokio::test]
async fn grants_without_a_user() {
    let with = |grant, authentication| {
        let client = RegisteredClient::new("job").authenticate(authentication);
        OAuthConfig { clients: vec![client], ..OAuthConfig::new(grant) }
    };
    let key = ClientAuthentication::PrivateKeyJwt(Arc::new(signing_key()));
    let basic = ClientAuthentication::SecretBasic("s:".into());
    let workload = Grant::JwtBearer(Box::new(Secret::from("e30")));
    // The PKCE of users is not needed.
    let rules = || Rules {
        server: json!({ "code_challenge_methods_supported": null }),
        ..Rules::default()
    };
    for (config, token) in [
        (with(Grant::ClientCredentials, basic), "client_credentials basic(job:s%3A) scope=a"),
        (with(Grant::ClientCredentials, key), "client_credentials jwt(job) scope=a"),
        (with(workload, ClientAuthentication::None), "jwt-bearer public(job) scope=a"),
    ] {
        let is_assertion = token.starts_with("jwt-bearer");
        let rest = if is_assertion { " resource=O/mcp assertion=e30" } else { " resource=O/mcp" };
        let token = format!("token {token}{rest}");
        check(rules(), config, "Bearer scope=a", Ok(()), &[RESOURCE, SERVER, &token]).await;
    }
    let config = OAuthConfig::new(Grant::ClientCredentials);
    check(rules(), config, "Bearer", Err("no client id"), &[RESOURCE, SERVER]).await;
}

#[tokio::test]
async fn identity_providers_issue_assertions() {
    let provider = World::start(Rules {
        token: json!({
            "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "token_type": "N_A",
            "access_token": "jag",
        }),
        ..Rules::default()
    })
    .await;
    let identity = || {
        let endpoint = format!("{}/token", provider.origin());
        let client = RegisteredClient::new("sso");
        let provider = IdentityProvider::new(provider.origin(), endpoint, client, "id".into());
        let client = RegisteredClient::new("known")
            .authenticate(ClientAuthentication::SecretBasic("s".into()));
        let grant = Grant::JwtBearer(Box::new(provider.unwrap()));
        OAuthConfig { clients: vec![client], ..OAuthConfig::new(grant) }
    };
    let token = "token jwt-bearer basic(known:s) resource=O/mcp assertion=jag";
    let log = [RESOURCE, SERVER, token];
    check(Rules::default(), identity(), "Bearer", Ok(()), &log).await;
    let [exchange] = &provider.log()[..] else { panic!("one request") };
    assert!(
        exchange.starts_with("token token-exchange public(sso) resource=http://"),
        "{exchange}"
    );
    assert!(exchange.contains("/mcp audience=http://127.0.0.1:"), "{exchange}");

    provider.change(|rules| rules.token = json!({ "issued_token_type": "other" }));
    let expected = Err("`issued_token_type` is not that of an ID-JAG");
    check(Rules::default(), identity(), "Bearer", expected, &[RESOURCE, SERVER]).await;
}

#[tokio::test]
async fn loopback() {
    // The "browser" requests the page, and then its redirect.
    let browser = Loopback::new(|url| {
        let url = url.to_owned();
        tokio::spawn(async move {
            let redirect = location(&url).await;
            assert!(redirect.starts_with("http://127.0.0.1:"), "{redirect}");
            let page = trunkline::client::Http::connect(&redirect).unwrap();
            let page = page.get(Default::default()).await.unwrap();
            assert_eq!((page.status.as_u16(), page.media_type().as_str()), (200, "text/plain"));
        });
    });
    let config = OAuthConfig::new(Grant::AuthorizationCode(browser.into()));
    let log = [RESOURCE, SERVER, REGISTER, AUTHORIZE, TOKEN];
    check(Rules::default(), config, "Bearer", Ok(()), &log).await;

    let mut silent = Loopback::new(|_| {});
    silent.deadline = std::time::Duration::from_millis(1);
    let config = OAuthConfig::new(Grant::AuthorizationCode(silent.into()));
    let expected = Err("the user did not authorize the client: no response within 0 s");
    check(Rules::default(), config, "Bearer", expected, &[RESOURCE, SERVER, REGISTER]).await;
}
