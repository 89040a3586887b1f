"""The official Python SDK before 2, in every revision that it knows."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import McpError

import walk


class Connection:
    def __init__(self, session: ClientSession, initialized: types.InitializeResult) -> None:
        self.session = session
        self.version = str(initialized.protocolVersion)
        self.server = f"{initialized.serverInfo.name} {initialized.serverInfo.version}"

    async def ping(self) -> None:
        await self.session.send_ping()

    async def list_tools(self) -> list[dict[str, Any]]:
        listed = await self.session.list_tools()
        return [tool.model_dump(mode="json", by_alias=True) for tool in listed.tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            result = await self.session.call_tool(name, arguments)
        except McpError as error:
            raise walk.RpcError(error.error.code, error.error.message) from error
        return result.model_dump(mode="json", by_alias=True)


@asynccontextmanager
async def streams(transport: str, target: list[str]):
    if transport == "stdio":
        opened = stdio_client(StdioServerParameters(command=target[0], args=target[1:]))
    elif transport == "sse":
        opened = sse_client(target[0])
    else:
        opened = streamable_http_client(target[0])
    async with opened as (read, write, *_):
        yield read, write


async def run(version: str, transport: str, target: list[str]) -> float:
    # The SDK asks for its latest revision, and has no argument for another one.
    types.LATEST_PROTOCOL_VERSION = version
    async with asyncio.timeout(50), streams(transport, target) as (read, write):
        async with ClientSession(read, write) as session:
            connection = Connection(session, await session.initialize())
            return await walk.Walk(connection).all(version, transport)


if __name__ == "__main__":
    walk.main(run)
