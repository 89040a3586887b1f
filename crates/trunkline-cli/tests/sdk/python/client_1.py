"""The official Python SDK before 2, with all of its revisions."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import McpError

import checks
from checks import User


class Connection:
    def __init__(
        self,
        session: ClientSession,
        initialized: types.InitializeResult,
        get_session_id: Callable[[], str | None],
        user: User,
    ) -> None:
        self.session = session
        self.version = str(initialized.protocolVersion)
        self.server = f"{initialized.serverInfo.name} {initialized.serverInfo.version}"
        self.get_session_id = get_session_id
        self.user = user

    async def ping(self) -> None:
        await self.session.send_ping()

    async def list_tools(self) -> list[dict[str, Any]]:
        return (await plain(self.session.list_tools()))["tools"]

    async def call(self, name: str, arguments: dict[str, Any], progress: Any = None) -> dict[str, Any]:
        return await plain(self.session.call_tool(name, arguments, progress_callback=progress))

    async def list_resources(self) -> list[dict[str, Any]]:
        return (await plain(self.session.list_resources()))["resources"]

    async def list_templates(self) -> list[dict[str, Any]]:
        return (await plain(self.session.list_resource_templates()))["resourceTemplates"]

    async def read(self, uri: str) -> list[dict[str, Any]]:
        return (await plain(self.session.read_resource(types.AnyUrl(uri))))["contents"]

    async def list_prompts(self) -> list[dict[str, Any]]:
        return (await plain(self.session.list_prompts()))["prompts"]

    async def prompt(self, name: str, arguments: dict[str, str]) -> list[dict[str, Any]]:
        return (await plain(self.session.get_prompt(name, arguments)))["messages"]

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]:
        reference = types.PromptReference(type="ref/prompt", name=prompt)
        completed = self.session.complete(reference, {"name": argument, "value": value})
        return (await plain(completed))["completion"]["values"]

    async def log_level(self, level: Any) -> None:
        await self.session.set_logging_level(level)

    @asynccontextmanager
    async def watch(self, uri: str) -> AsyncIterator[asyncio.Queue[str]]:
        await self.session.subscribe_resource(types.AnyUrl(uri))
        yield self.user.changes
        await self.session.unsubscribe_resource(types.AnyUrl(uri))

    async def start(self, name: str) -> Callable[[], Awaitable[None]]:
        # The SDK has no method that cancels a request.
        request_id = self.session._request_id
        call = asyncio.create_task(self.session.call_tool(name, {}))
        # The call takes the id when its task runs.
        while self.session._request_id == request_id:
            await asyncio.sleep(0)

        async def cancel() -> None:
            params = types.CancelledNotificationParams(requestId=request_id, reason="a test")
            notification = types.CancelledNotification(params=params)
            await self.session.send_notification(types.ClientNotification(notification))
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError, McpError):
                await call

        return cancel

    async def session_id(self) -> str | None:
        return self.get_session_id()

    async def initialize(self) -> None:
        await self.session.initialize()


async def plain(request: Awaitable[Any]) -> dict[str, Any]:
    try:
        result = await request
    except McpError as error:
        raise checks.RpcError(error.error.code, error.error.message) from error
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def callbacks(user: User) -> dict[str, Any]:
    async def sample(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        content = types.TextContent(type="text", text=user.sampled(params.messages[0].content.text))
        return types.CreateMessageResult(role="assistant", content=content, model="test")

    async def elicit(_: Any, params: Any) -> types.ElicitResult:
        action, content = user.elicited(params.message, params.requestedSchema)
        return types.ElicitResult(action=action, content=content)

    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in user.ROOTS])

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        user.logs.append((params.level, params.data))

    async def message(message: Any) -> None:
        if isinstance(message, types.ServerNotification):
            user.notified(message.root.method, getattr(message.root.params, "uri", None))

    return {
        "sampling_callback": sample,
        "elicitation_callback": elicit,
        "list_roots_callback": roots,
        "logging_callback": log,
        "message_handler": message,
    }


@asynccontextmanager
async def streams(transport: str, target: list[str]) -> AsyncIterator[Any]:
    if transport == "stdio":
        opened = stdio_client(StdioServerParameters(command=target[0], args=target[1:]))
    elif transport == "sse":
        opened = sse_client(target[0])
    else:
        opened = streamable_http_client(target[0])
    async with opened as (read, write, *rest):
        yield read, write, rest[0] if rest else lambda: None


@asynccontextmanager
async def open(version: str, transport: str, target: list[str], user: User) -> AsyncIterator[Connection]:
    # The SDK requests its latest revision, and has no argument for another one.
    types.LATEST_PROTOCOL_VERSION = version
    async with streams(transport, target) as (read, write, get_session_id):
        async with ClientSession(read, write, **callbacks(user)) as session:
            yield Connection(session, await session.initialize(), get_session_id, user)


if __name__ == "__main__":
    checks.main(open)
