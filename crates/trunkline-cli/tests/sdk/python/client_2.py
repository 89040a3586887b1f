"""The official Python SDK: by handshake, without one, and finding out which."""

import asyncio
import warnings
from typing import Any

from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.shared.exceptions import MCPDeprecationWarning

import walk


class Connection:
    def __init__(self, client: Client, server: types.Implementation) -> None:
        self.client = client
        self.version = client.protocol_version
        self.server = f"{server.name} {server.version}"

    async def ping(self) -> None:
        with warnings.catch_warnings():
            # It is, in the revisions that have it.
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await self.client.send_ping()

    async def list_tools(self) -> list[dict[str, Any]]:
        listed = await self.client.list_tools()
        return [tool.model_dump(mode="json", by_alias=True) for tool in listed.tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            result = await self.client.call_tool(name, arguments)
        except MCPError as error:
            raise walk.RpcError(error.code, error.message) from error
        return result.model_dump(mode="json", by_alias=True)


async def identity(client: Client) -> types.Implementation:
    if client.server_info is not None:
        return client.server_info
    # Told the revision, the SDK starts without asking, and knows nothing of the server.
    raw = await client.session.send_discover(client.protocol_version)
    walk.expect(client.protocol_version in raw["supportedVersions"], "the revision on offer", raw)
    walk.passed("server/discover")
    return types.Implementation.model_validate(raw["_meta"]["io.modelcontextprotocol/serverInfo"])


def server(transport: str, target: list[str]) -> Any:
    if transport == "stdio":
        return StdioServerParameters(command=target[0], args=target[1:])
    if transport == "sse":
        return sse_client(target[0])
    return target[0]


async def run(version: str, transport: str, target: list[str]) -> float:
    mode = version if version in ("auto", walk.STATELESS) else "legacy"
    async with asyncio.timeout(50), Client(server(transport, target), mode=mode) as client:
        connection = Connection(client, await identity(client))
        return await walk.Walk(connection).all(version, transport)


if __name__ == "__main__":
    walk.main(run)
