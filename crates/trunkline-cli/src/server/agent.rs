//! `POST /api`: the agent, which calls the operations that are served.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::{Args, value_parser};
use trunkline::client::http::Bearer;
use trunkline::history::History;
use trunkline::layers::authorize::SharedRules;
use trunkline::limits::MemoryBudget;
use trunkline::{Limits, Pattern, Router, Rpc};
use trunkline_agent::conversation::Conversations;
use trunkline_agent::model::{self, Model};
use trunkline_agent::{Agent, AgentConfig, Caller, RefreshError, operations};
use trunkline_command_tools::{RELOAD_PERMISSION, ToolFolder, management};
use trunkline_storage::Location;

use super::access::{check_list, entries};
use super::service::guarded;
use crate::config::milliseconds;

/// The remedy in the error of a chat without a model.
const MODEL_SETUP: &str = "start the server with `--agent-url <BASE> --agent-model <NAME>`, where the base is \
    `http://127.0.0.1:11434/v1` for Ollama, `https://api.openai.com/v1` for OpenAI, or that of another \
    OpenAI-compatible endpoint, whose key is in `TRUNKLINE_AGENT_KEY`; the other `agent.*` methods need no model";

/// The flags of the agent.
#[derive(Args)]
#[command(next_help_heading = "Agent")]
pub(crate) struct AgentArgs {
    /// Base URL of an OpenAI-compatible model endpoint
    ///
    /// Like http://127.0.0.1:11434/v1. If it requires a key, set TRUNKLINE_AGENT_KEY, or agent.key in trunkline.toml.
    /// The model answers at POST /api; without one, agent.chat fails, and the other methods of the agent work. Requires
    /// --agent-model.
    #[arg(
        id = "url",
        long = "agent-url",
        value_name = "BASE",
        env = "TRUNKLINE_AGENT_URL",
        hide_env_values = true
    )]
    url: Option<String>,
    /// Name of the model at the endpoint
    #[arg(long = "agent-model", value_name = "NAME", env = "TRUNKLINE_AGENT_MODEL")]
    model: Option<String>,
    /// Key of the endpoint
    // Hidden, so that the variable or the file is used: other users of the machine can read command lines.
    #[arg(
        long = "agent-key",
        value_name = "KEY",
        env = "TRUNKLINE_AGENT_KEY",
        hide = true,
        hide_env_values = true
    )]
    key: Option<String>,
    /// Context window of the model in tokens [default: 128000]
    ///
    /// The oldest turns of a conversation that do not fit into three quarters of it, at four bytes per token, are not
    /// sent. With a small window, tools are described briefly. A window that cannot hold the tools and 512 tokens of
    /// conversation is an error.
    #[arg(
        long = "agent-context",
        value_name = "TOKENS",
        env = "TRUNKLINE_AGENT_CONTEXT",
        requires = "url",
        value_parser = value_parser!(u64).range(1..)
    )]
    context: Option<u64>,
    /// Maximum tools that are sent to the model
    ///
    /// If there are more, the first ones are sent, and a warning is logged. Many endpoints reject more than 128.
    #[arg(
        id = "agent_max_tools",
        long = "agent-max-tools",
        value_name = "N",
        default_value_t = 128,
        env = "TRUNKLINE_AGENT_MAX_TOOLS",
        value_parser = value_parser!(u64).range(1..=100_000)
    )]
    max_tools: u64,
    /// Time limit of the first token, in milliseconds
    ///
    /// For each request to the model. A local model reads the prompt before, which can take minutes.
    #[arg(
        id = "agent_first_token_ms",
        long = "agent-first-token-ms",
        value_name = "MS",
        default_value_t = 600_000,
        env = "TRUNKLINE_AGENT_FIRST_TOKEN_MS",
        value_parser = milliseconds(1..=86_400_000)
    )]
    first_token_timeout_ms: u64,
    /// Time limit between two tokens, in milliseconds
    #[arg(
        id = "agent_token_ms",
        long = "agent-token-ms",
        value_name = "MS",
        default_value_t = 300_000,
        env = "TRUNKLINE_AGENT_TOKEN_MS",
        value_parser = milliseconds(1..=86_400_000)
    )]
    token_timeout_ms: u64,
    /// Maximum time of a turn, in milliseconds
    ///
    /// A turn is one message with all requests to the model and calls of tools until the answer.
    #[arg(
        id = "agent_turn_ms",
        long = "agent-turn-ms",
        value_name = "MS",
        default_value_t = 1_800_000,
        env = "TRUNKLINE_AGENT_TURN_MS",
        value_parser = milliseconds(1..=86_400_000)
    )]
    turn_timeout_ms: u64,
    /// Methods that the agent may call, like `db.*` [default: all]
    ///
    /// The default is all methods of the database, records and command tools. Repeatable or comma-separated.
    #[arg(
        long = "agent-allow",
        value_name = "METHODS",
        env = "TRUNKLINE_AGENT_ALLOW",
        value_delimiter = ','
    )]
    allow: Vec<String>,
    /// Methods that the agent may not call
    ///
    /// Takes precedence over --agent-allow. Repeatable or comma-separated.
    #[arg(
        long = "agent-deny",
        value_name = "METHODS",
        env = "TRUNKLINE_AGENT_DENY",
        value_delimiter = ','
    )]
    deny: Vec<String>,
}

/// The tools of an agent.
#[derive(Clone, Copy)]
pub(crate) struct AgentTools<'a> {
    /// The service of the tools.
    pub(crate) rpc: &'a Rpc,
    /// The folder of command tools.
    pub(crate) folder: Option<&'a ToolFolder>,
    /// The rules for callers of the tools and of the agent.
    pub(crate) rules: &'a SharedRules,
}

impl AgentArgs {
    /// The name of the model; none without a model.
    pub(crate) fn model_name(&self) -> Option<&str> {
        non_empty(&self.url).and(non_empty(&self.model)).map(String::as_str)
    }

    /// The agent of a service, whose methods have these prefixes.
    pub(crate) fn agent(
        &self,
        tools: AgentTools<'_>,
        conversations: Conversations,
        prefixes: &[String],
    ) -> anyhow::Result<Agent> {
        let AgentTools { rpc, folder, rules } = tools;
        let operations = rpc.operations();
        let names =
            operations.iter().flat_map(|one| [Some(one.name()), one.description().tool.as_deref()]);
        let names: Vec<&str> = names.flatten().collect();
        check("--agent-allow", &self.allow, &names, folder.is_some())?;
        check("--agent-deny", &self.deny, &names, folder.is_some())?;
        let defaults = AgentConfig::default();
        let patterns = |texts| entries(texts).map(Pattern::new).collect::<Vec<_>>();
        let allow = patterns(&self.allow);
        let all = || prefixes.iter().map(|prefix| Pattern::new(&format!("{prefix}*"))).collect();
        let settings = AgentConfig {
            allow: if allow.is_empty() { all() } else { allow },
            deny: patterns(&self.deny),
            context_tokens: self.context.unwrap_or(defaults.context_tokens),
            max_tools: usize::try_from(self.max_tools).unwrap_or(usize::MAX),
            timeout: self.turn_timeout(),
            model_setup: MODEL_SETUP.to_owned(),
            ..defaults
        };
        let (model, context) = (self.model()?, settings.context_tokens);
        let has_model = model.is_some();
        let agent = Agent::new(rpc.clone(), model, conversations, settings);
        let required = agent.required_context_tokens();
        ensure!(
            !has_model || context >= required,
            "--agent-context `{context}` is too small: the {} tools, the instructions and a short \
             conversation need `{required}`; increase it if the model allows, or reduce the tools \
             with --agent-allow",
            agent.list_capabilities().len()
        );
        Ok(match folder.cloned() {
            None => agent,
            Some(folder) => {
                let rules = rules.clone();
                agent.on_refresh(move |caller| refresh(folder.clone(), &rules, caller))
            }
        })
    }

    fn turn_timeout(&self) -> Duration {
        Duration::from_millis(self.turn_timeout_ms)
    }

    /// Checks the flags, without the methods and tools.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        check_list("--agent-allow", &self.allow)?;
        check_list("--agent-deny", &self.deny)?;
        self.model().map(drop)
    }

    /// The key of the endpoint, if any.
    pub(super) fn key(&self) -> anyhow::Result<Option<Bearer>> {
        let key = non_empty(&self.key).map(|key| key.parse()).transpose();
        key.context("invalid TRUNKLINE_AGENT_KEY: it cannot be sent in a header")
    }

    /// The model of the flags, if any.
    pub(super) fn model(&self) -> anyhow::Result<Option<Model>> {
        let [url, name] = [&self.url, &self.model].map(non_empty);
        let (url, name) = match (url, name) {
            (Some(url), Some(name)) => (url, name),
            (None, None) => return Ok(None),
            (Some(_), None) => {
                bail!("--agent-url requires --agent-model, the name of the model at the endpoint")
            }
            (None, Some(_)) => {
                bail!("--agent-model requires --agent-url, the endpoint of the model")
            }
        };
        let mut settings = model::ModelConfig::new(url, name);
        settings.key = self.key()?;
        settings.first_token_timeout = Duration::from_millis(self.first_token_timeout_ms);
        settings.token_timeout = Duration::from_millis(self.token_timeout_ms);
        // The turn ends before, with its steps and a partial answer.
        settings.timeout = self.turn_timeout().saturating_mul(2);
        Ok(Some(Model::new(settings).context("invalid --agent-url")?))
    }
}

/// The value of a flag. A variable with an empty value counts as not set.
fn non_empty(value: &Option<String>) -> Option<&String> {
    value.as_ref().filter(|value| !value.is_empty())
}

/// Checks that each pattern matches a method or tool, so that a misspelled one is noticed. With a folder of tools, a
/// match may be added later.
fn check(flag: &str, patterns: &[String], names: &[&str], is_dynamic: bool) -> anyhow::Result<()> {
    check_list(flag, patterns)?;
    for pattern in entries(patterns) {
        let matcher = Pattern::new(pattern);
        if names.iter().any(|name| matcher.matches(name)) {
            continue;
        }
        ensure!(is_dynamic, "{flag} {pattern}: no method or tool matches");
        tracing::warn!(pattern, "{flag}: no method or tool matches yet");
    }
    Ok(())
}

/// The service of the agent's methods.
pub(crate) fn api(
    agent: &Agent,
    tools: AgentTools<'_>,
    history: Option<&History>,
    memory: &MemoryBudget,
) -> anyhow::Result<Rpc> {
    let AgentTools { rpc, folder, rules } = tools;
    let call_timeout = Some(agent.call_timeout());
    let limits = Limits { call_timeout, memory: memory.clone(), ..Limits::default() };
    let router = Router::new().merge(operations(agent));
    let router = match folder {
        Some(folder) => router.merge(management(folder, rpc, rules)),
        None => router,
    };
    let router = router.info("trunkline agent", env!("CARGO_PKG_VERSION")).limits(limits);
    let api = guarded(router, rules).build()?;
    Ok(match history {
        Some(history) => api.with_history(history.clone()),
        None => api,
    })
}

/// The conversations of the agent. A file is created by the first one.
pub(crate) fn conversations(location: &Location) -> Conversations {
    Conversations::deferred(location.clone(), Default::default())
}

/// Reads the folder again for callers that may reload it. Others get the current tools, which are those of the folder a
/// second ago at most.
fn refresh(
    folder: ToolFolder,
    rules: &SharedRules,
    caller: &Caller,
) -> impl Future<Output = Result<(), RefreshError>> + use<> {
    let permitted = rules.check_permission(RELOAD_PERMISSION, caller.extensions());
    async move {
        if permitted.is_err() {
            return Ok(());
        }
        match folder.refresh().await {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("{error}: {}", error.source).into()),
        }
    }
}
