//! `POST /api`: the agent over everything that is served.

use std::path::Path;

use anyhow::{Context, anyhow, bail, ensure};
use clap::{Args, value_parser};
use trunkline::history::History;
use trunkline::limits::MemoryBudget;
use trunkline::{BuildError, Limits, Router, Rpc};
use trunkline_agent::conversation::Conversations;
use trunkline_agent::model::{self, Model};
use trunkline_agent::{Agent, AgentConfig, Patterns, RefreshError, operations};
use trunkline_tools::{ToolFolder, management};

use super::access::entries;
use super::records::or_unavailable;

/// The variable of the endpoint's key. There is no flag: other users of the machine can read command lines.
const KEY: &str = "TRUNKLINE_AGENT_KEY";

/// The remedy in the error of a chat without a model.
const MODEL_SETUP: &str = "start the server with `--agent-url <BASE> --agent-model <NAME>`, where the base is \
    `http://127.0.0.1:11434/v1` for Ollama, `https://api.openai.com/v1` for OpenAI, or that of another \
    OpenAI-compatible endpoint, whose key is in `TRUNKLINE_AGENT_KEY`; the other `agent.*` methods need no model";

#[derive(Args)]
pub(crate) struct Asked {
    /// The base URL of an OpenAI-compatible endpoint, like http://127.0.0.1:11434/v1, whose model answers
    /// at POST /api; its key, if it requires one, is in TRUNKLINE_AGENT_KEY. Without it, agent.chat fails,
    /// and the other methods of the agent work. Needs --agent-model.
    #[arg(id = "url", long = "agent-url", value_name = "BASE", env = "TRUNKLINE_AGENT_URL")]
    url: Option<String>,
    /// The model's name, as the endpoint knows it.
    #[arg(long = "agent-model", value_name = "NAME", env = "TRUNKLINE_AGENT_MODEL")]
    model: Option<String>,
    /// Context of the model in tokens: what does not fit into three quarters of it, at four bytes a token, is
    /// left out of a conversation, the oldest turns first. In a small one, tools are described in brief; one
    /// that cannot hold the tools and 512 tokens of conversation is refused [default: 128000]
    #[arg(
        long = "agent-context",
        value_name = "TOKENS",
        env = "TRUNKLINE_AGENT_CONTEXT",
        requires = "url",
        value_parser = value_parser!(u64).range(1..)
    )]
    context: Option<u64>,
    /// Methods that the agent may call, and no others, like `db.*`. Repeats, or several with commas between
    /// them [default: those of the database, of resources, and of command tools]
    #[arg(
        long = "agent-allow",
        value_name = "METHODS",
        env = "TRUNKLINE_AGENT_ALLOW",
        value_delimiter = ','
    )]
    allow: Vec<String>,
    /// Methods that the agent may not call, whatever else is said. Repeats, or several with commas between
    /// them.
    #[arg(
        long = "agent-deny",
        value_name = "METHODS",
        env = "TRUNKLINE_AGENT_DENY",
        value_delimiter = ','
    )]
    deny: Vec<String>,
}

impl Asked {
    /// An agent over a service.
    pub(crate) fn agent(
        &self,
        rpc: &Rpc,
        tools: Option<&ToolFolder>,
        conversations: Conversations,
        beginnings: &[String],
    ) -> anyhow::Result<Agent> {
        let operations = rpc.operations();
        let names =
            operations.iter().flat_map(|one| [Some(one.name()), one.description().tool.as_deref()]);
        let names: Vec<&str> = names.flatten().collect();
        check("--agent-allow", &self.allow, &names, tools.is_some())?;
        check("--agent-deny", &self.deny, &names, tools.is_some())?;
        let defaults = AgentConfig::default();
        let allow: Patterns = entries(&self.allow).collect();
        let all = || beginnings.iter().map(|beginning| format!("{beginning}*")).collect();
        let settings = AgentConfig {
            allow: if allow.is_empty() { all() } else { allow },
            deny: entries(&self.deny).collect(),
            context_tokens: self.context.unwrap_or(defaults.context_tokens),
            model_setup: MODEL_SETUP.to_owned(),
            ..defaults
        };
        let (model, context) = (self.model()?, settings.context_tokens);
        let has_model = model.is_some();
        let agent = Agent::new(rpc.clone(), model, conversations, settings);
        let required = agent.required_context_tokens();
        ensure!(
            !has_model || context >= required,
            "--agent-context `{context}` is too small for the {} tools, the instructions and a short \
             conversation, which need `{required}`; give that or more, if the model has it, or offer \
             fewer tools with --agent-allow",
            agent.list_capabilities().len()
        );
        Ok(match tools.cloned() {
            None => agent,
            Some(folder) => agent.refreshing(move || reload(folder.clone())),
        })
    }

    fn model(&self) -> anyhow::Result<Option<Model>> {
        // A variable that is set to nothing is not set.
        let [url, name] =
            [&self.url, &self.model].map(|one| one.as_ref().filter(|one| !one.is_empty()));
        let (url, name) = match (url, name) {
            (Some(url), Some(name)) => (url, name),
            (None, None) => return Ok(None),
            (Some(_), None) => {
                bail!("--agent-url needs --agent-model: the name that the endpoint knows")
            }
            (None, Some(_)) => {
                bail!("--agent-model needs --agent-url: the endpoint that has the model")
            }
        };
        let key = std::env::var(KEY).ok().filter(|key| !key.is_empty());
        let key = key.map(|key| key.parse()).transpose();
        let key = key.with_context(|| format!("{KEY} is no key that a request can carry"))?;
        let mut settings = model::ModelConfig::new(url, name);
        settings.key = key;
        Ok(Some(Model::new(settings).context("--agent-url cannot be asked")?))
    }
}

/// A slip would offer what nobody wanted to be called. Tools of a folder may come later.
fn check(flag: &str, patterns: &[String], names: &[&str], may_come: bool) -> anyhow::Result<()> {
    // Who gives a list wants less to be called than all.
    ensure!(
        patterns.is_empty() || entries(patterns).next().is_some(),
        "{flag} is empty: give a value, or leave out the flag and its variable"
    );
    for pattern in entries(patterns) {
        let is_any = Patterns::from_iter([pattern]);
        if names.iter().any(|name| is_any.matches(name)) {
            continue;
        }
        ensure!(may_come, "{flag} {pattern}: no method or tool has such a name");
        tracing::warn!(pattern, "{flag}: no method or tool has such a name yet");
    }
    Ok(())
}

/// The service of an agent's methods.
pub(crate) fn api(
    agent: &Agent,
    tools: Option<&ToolFolder>,
    history: Option<&History>,
    memory: &MemoryBudget,
    guard: impl FnOnce(Router) -> Router,
) -> anyhow::Result<Rpc> {
    let call_timeout = Some(agent.call_timeout());
    let limits = Limits { call_timeout, memory: memory.clone(), ..Limits::default() };
    let router = Router::new().merge(operations(agent));
    let router = match tools {
        Some(folder) => router.merge(management(folder)),
        None => router,
    };
    let router = router.info("trunkline agent", env!("CARGO_PKG_VERSION")).limits(limits);
    let api = guard(router).build().map_err(|error| match error {
        BuildError::NoMethod { pattern, .. } => {
            anyhow!("--require {pattern}=…: the agent has no method of such a name")
        }
        error => error.into(),
    })?;
    Ok(match history {
        Some(history) => api.with_history(history.clone()),
        None => api,
    })
}

/// Opens the conversations of the agent in the data directory. With a disk on which that fails, they are unavailable.
pub(crate) fn conversations(directory: &Path) -> anyhow::Result<Conversations> {
    let opened = Conversations::open(directory, Default::default());
    or_unavailable("conversations", directory, opened, |reason| {
        Conversations::unavailable(Default::default(), reason)
    })
}

async fn reload(folder: ToolFolder) -> Result<(), RefreshError> {
    match folder.refresh().await {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{error}: {}", error.source).into()),
    }
}
