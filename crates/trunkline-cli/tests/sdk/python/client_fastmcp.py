"""The client of FastMCP, with `initialize`, without it, and with negotiation."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from mcp import MCPError
from mcp.client.subscriptions import listen

import checks
import client_2
from checks import STATELESS, User


class Connection:
    def __init__(self, client: Client[Any], server: types.Implementation, user: User) -> None:
        self.client = client
        self.version = str(client.protocol_version)
        self.server = f"{server.name} {server.version}"
        self.user = user
        # The level of calls, in the stateless era.
        self.level: str | None = None

    async def ping(self) -> None:
        await self.client.ping()

    async def list_tools(self) -> list[dict[str, Any]]:
        return await plain(self.client.list_tools())

    async def call(self, name: str, arguments: dict[str, Any], progress: Any = None) -> dict[str, Any]:
        meta = {client_2.LOG_LEVEL: self.level} if self.level else None
        call = self.client.call_tool_mcp(name, arguments, progress_handler=progress, meta=meta)
        return await plain(call)

    async def list_resources(self) -> list[dict[str, Any]]:
        return await plain(self.client.list_resources())

    async def list_templates(self) -> list[dict[str, Any]]:
        return await plain(self.client.list_resource_templates())

    async def read(self, uri: str) -> list[dict[str, Any]]:
        return await plain(self.client.read_resource(uri))

    async def list_prompts(self) -> list[dict[str, Any]]:
        return await plain(self.client.list_prompts())

    async def prompt(self, name: str, arguments: dict[str, str]) -> list[dict[str, Any]]:
        return (await plain(self.client.get_prompt(name, arguments)))["messages"]

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]:
        reference = types.PromptReference(type="ref/prompt", name=prompt)
        completed = self.client.complete(reference, {"name": argument, "value": value})
        return (await plain(completed))["values"]

    async def log_level(self, level: Any) -> None:
        if self.version == STATELESS:
            self.level = level
        else:
            await self.client.set_logging_level(level)

    @asynccontextmanager
    async def watch(self, uri: str) -> AsyncIterator[asyncio.Queue[str]]:
        # FastMCP has no methods for subscriptions, but the session of the SDK.
        session = self.client.session
        if self.version != STATELESS:
            await session.subscribe_resource(uri)
            yield self.user.changes
            await session.unsubscribe_resource(uri)
            return
        async with listen(
            session,
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=[uri],
        ):
            yield self.user.changes

    async def start(self, name: str) -> Callable[[], Awaitable[None]]:
        call = asyncio.create_task(self.client.call_tool_mcp(name, {}))

        async def cancel() -> None:
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call

        return cancel

    async def session_id(self) -> str | None:
        return self.client.transport.get_session_id()

    async def initialize(self) -> None:
        await client_2.initialize(self.client.session)


async def plain(request: Awaitable[Any]) -> Any:
    try:
        result = await request
    except MCPError as error:
        raise checks.RpcError(error.code, error.message) from error
    if isinstance(result, list):
        return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in result]
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def handlers(user: User) -> dict[str, Any]:
    async def sample(messages: Any, *_: Any) -> str:
        return user.sampled(messages[0].content.text)

    async def elicit(message: str, _: Any, params: Any, context: Any) -> ElicitResult[Any]:
        action, content = user.elicited(message, params.requested_schema)
        return ElicitResult(action=action, content=content)

    of_sdk = client_2.callbacks(user)
    return {
        "sampling_handler": sample,
        "elicitation_handler": elicit,
        "roots": user.ROOTS,
        "log_handler": of_sdk["logging_callback"],
        "message_handler": of_sdk["message_handler"],
    }


@asynccontextmanager
async def open(version: str, transport: str, target: list[str], user: User) -> AsyncIterator[Connection]:
    mode = version if version in ("auto", STATELESS) else "legacy"
    server: Any
    if transport == "stdio":
        server = StdioTransport(target[0], target[1:], keep_alive=False)
    elif transport == "sse":
        server = SSETransport(target[0])
    else:
        server = StreamableHttpTransport(target[0])
    async with Client(server, mode=mode, **handlers(user)) as client:
        yield Connection(client, await client_2.identity(client), user)


if __name__ == "__main__":
    checks.main(open)
