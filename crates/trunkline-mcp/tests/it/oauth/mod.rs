//! OAuth for clients, with an authorization server in this process.

mod flows;
mod refusals;
mod renewal;
mod world;

use std::error::Error;

use trunkline_mcp::client::oauth::{Grant, Interaction, OAuth, OAuthConfig};
use trunkline_mcp::client::{Authorization, AuthorizationError};

use self::world::{Agrees, REDIRECT, World};

/// The authorization code grant, with a user who agrees.
fn interactive() -> OAuthConfig {
    OAuthConfig::new(Grant::AuthorizationCode(Interaction::agent(REDIRECT, Agrees)))
}

/// The result of a challenge to the current token, with the cause of an error.
async fn challenge(oauth: &OAuth, world: &World, status: u16, value: &str) -> Result<bool, String> {
    let token = oauth.token().await.unwrap();
    let challenge = world.challenge(status, value).with_token(token);
    oauth.challenged(challenge).await.map_err(|error| cause(&error))
}

fn cause(error: &AuthorizationError) -> String {
    let mut error: &dyn Error = error;
    let mut text = Vec::new();
    while let Some(source) = error.source() {
        text.push(source.to_string());
        error = source;
    }
    text.join(": ")
}
