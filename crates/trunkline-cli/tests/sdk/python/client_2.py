"""The official Python SDK, with `initialize`, without it, and with negotiation."""

import asyncio
import contextlib
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPDeprecationWarning

import checks
from checks import STATELESS, User, expect, passed

LOG_LEVEL = "io.modelcontextprotocol/logLevel"
CHANGES = {
    "ToolsListChanged": "notifications/tools/list_changed",
    "PromptsListChanged": "notifications/prompts/list_changed",
    "ResourcesListChanged": "notifications/resources/list_changed",
    "ResourceUpdated": "notifications/resources/updated",
}

# Methods of the legacy era are deprecated since 2026-07-28.
warnings.simplefilter("ignore", MCPDeprecationWarning)


class Connection:
    def __init__(self, client: Client, server: types.Implementation, headers: dict[str, str], user: User) -> None:
        self.client = client
        self.version = client.protocol_version
        self.server = f"{server.name} {server.version}"
        self.headers = headers
        self.user = user
        # The level of calls, in the stateless era.
        self.level: str | None = None

    async def ping(self) -> None:
        await self.client.send_ping()

    async def list_tools(self) -> list[dict[str, Any]]:
        return (await plain(self.client.list_tools()))["tools"]

    async def call(self, name: str, arguments: dict[str, Any], progress: Any = None) -> dict[str, Any]:
        meta: Any = {LOG_LEVEL: self.level} if self.level else None
        call = self.client.call_tool(name, arguments, progress_callback=progress, meta=meta)
        return await plain(call)

    async def list_resources(self) -> list[dict[str, Any]]:
        return (await plain(self.client.list_resources()))["resources"]

    async def list_templates(self) -> list[dict[str, Any]]:
        return (await plain(self.client.list_resource_templates()))["resourceTemplates"]

    async def read(self, uri: str) -> list[dict[str, Any]]:
        return (await plain(self.client.read_resource(uri)))["contents"]

    async def list_prompts(self) -> list[dict[str, Any]]:
        return (await plain(self.client.list_prompts()))["prompts"]

    async def prompt(self, name: str, arguments: dict[str, str]) -> list[dict[str, Any]]:
        return (await plain(self.client.get_prompt(name, arguments)))["messages"]

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]:
        reference = types.PromptReference(type="ref/prompt", name=prompt)
        completed = self.client.complete(reference, {"name": argument, "value": value})
        return (await plain(completed))["completion"]["values"]

    async def log_level(self, level: Any) -> None:
        if self.version == STATELESS:
            self.level = level
        else:
            await self.client.set_logging_level(level)

    @asynccontextmanager
    async def watch(self, uri: str) -> AsyncIterator[asyncio.Queue[str]]:
        if self.version != STATELESS:
            await self.client.subscribe_resource(uri)
            yield self.user.changes
            await self.client.unsubscribe_resource(uri)
            return
        async with self.client.listen(
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=[uri],
        ) as events:

            # The SDK passes the events to the message handler as well.
            changes: asyncio.Queue[str] = asyncio.Queue()

            async def read() -> None:
                async for event in events:
                    method = CHANGES[type(event).__name__]
                    changes.put_nowait(str(checks.change_of(method, getattr(event, "uri", None))))

            task = asyncio.create_task(read())
            yield changes
            task.cancel()

    async def start(self, name: str) -> Callable[[], Awaitable[None]]:
        call = asyncio.create_task(self.client.call_tool(name, {}))

        async def cancel() -> None:
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call

        return cancel

    async def session_id(self) -> str | None:
        return self.headers.get("mcp-session-id")

    async def initialize(self) -> None:
        await initialize(self.client.session)


async def initialize(session: Any) -> None:
    # The SDK has no method that sends another `initialize`.
    session._initialize_result = None
    await session.initialize()


async def plain(request: Awaitable[Any]) -> dict[str, Any]:
    try:
        result = await request
    except MCPError as error:
        raise checks.RpcError(error.code, error.message) from error
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def callbacks(user: User) -> dict[str, Any]:
    async def sample(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        content = types.TextContent(type="text", text=user.sampled(params.messages[0].content.text))
        return types.CreateMessageResult(role="assistant", content=content, model="test")

    async def elicit(_: Any, params: Any) -> types.ElicitResult:
        action, content = user.elicited(params.message, params.requested_schema)
        return types.ElicitResult(action=action, content=content)

    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in user.ROOTS])

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        user.logs.append((params.level, params.data))

    async def message(message: Any) -> None:
        if not isinstance(message, Exception):
            user.notified(message.method, getattr(message.params, "uri", None))

    return {
        "sampling_callback": sample,
        "elicitation_callback": elicit,
        "list_roots_callback": roots,
        "logging_callback": log,
        "message_handler": message,
    }


async def identity(client: Any) -> types.Implementation:
    if client.server_info is not None:
        return client.server_info
    # With a given revision, the SDK sends no request at first.
    raw = await client.session.send_discover(client.protocol_version)
    expect(client.protocol_version in raw["supportedVersions"], "the supported revision", raw)
    passed("server/discover")
    return types.Implementation.model_validate(raw["_meta"]["io.modelcontextprotocol/serverInfo"])


@asynccontextmanager
async def open(version: str, transport: str, target: list[str], user: User) -> AsyncIterator[Connection]:
    mode = version if version in ("auto", STATELESS) else "legacy"
    headers: dict[str, str] = {}

    async def note(response: httpx2.Response) -> None:
        headers.update(response.headers)

    timeout = httpx2.Timeout(30, read=300)
    async with httpx2.AsyncClient(event_hooks={"response": [note]}, timeout=timeout) as http:
        server: Any
        if transport == "stdio":
            server = StdioServerParameters(command=target[0], args=target[1:])
        elif transport == "sse":
            server = sse_client(target[0])
        else:
            server = streamable_http_client(target[0], http_client=http)
        async with Client(server, mode=mode, **callbacks(user)) as client:
            yield Connection(client, await identity(client), headers, user)


if __name__ == "__main__":
    checks.main(open)
