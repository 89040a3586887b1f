"""A server of the official Python SDK, before and since version 2."""

import asyncio
import socket
import sys
from typing import Annotated, Any

import uvicorn
from mcp import types
from pydantic import BaseModel

try:
    from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample

    IS_2 = True
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer

    IS_2 = False

mcp = MCPServer("python-server")


class Sum(BaseModel):
    sum: int


class Name(BaseModel):
    name: str


@mcp.tool()
def add(a: int, b: int) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


@mcp.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("a failure for tests")


@mcp.tool()
async def advance(context: Context) -> str:
    """Reports progress."""
    for step in [1, 2]:
        await context.report_progress(step, 2, f"step {step}")
    return "done"


QUESTION = [types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Capital of France?"))]


def greeting(name: str, city: Any, roots: Any) -> str:
    return f"{name} visits {city.content.text} with {roots.roots[0].uri}"


if IS_2:

    @mcp.tool()
    async def ask(
        name: Annotated[Name, Resolve(lambda: Elicit("What is your name?", Name))],
        city: Annotated[types.CreateMessageResult, Resolve(lambda: Sample(QUESTION, max_tokens=9))],
        roots: Annotated[types.ListRootsResult, Resolve(lambda: ListRoots())],
    ) -> str:
        """Sends three requests to the client."""
        return greeting(name.name, city, roots)

else:

    @mcp.tool()
    async def ask(context: Context) -> str:
        """Sends three requests to the client."""
        answer = await context.elicit("What is your name?", Name)
        city = await context.session.create_message(QUESTION, max_tokens=9)
        roots = await context.session.list_roots()
        return greeting(answer.data.name, city, roots)


@mcp.tool()
async def add_tool(context: Context) -> str:
    """Adds a tool."""
    mcp.add_tool(lambda: "here", name="added", description="Was added.")
    if is_stateless(context):
        await context.notify_tools_changed()
    else:
        await context.session.send_tool_list_changed()
    return "added"


@mcp.tool()
async def update(context: Context) -> str:
    """Updates a resource."""
    if is_stateless(context):
        await context.notify_resource_updated("note://today")
    return "updated"


def is_stateless(context: Context) -> bool:
    return IS_2 and context.protocol_version == "2026-07-28"


@mcp.resource("note://today", mime_type="text/plain")
def today() -> str:
    """A note."""
    return "Buy milk."


@mcp.resource("note://days/{day}")
def day(day: str) -> str:
    """The note of a day."""
    return f"Nothing on {day}."


@mcp.prompt()
def review(language: str) -> str:
    """Reviews code."""
    return f"Review this {language} code."


@mcp.completion()
async def complete(reference: Any, argument: Any, context: Any) -> Any:
    values = [name for name in ["python", "pascal", "rust"] if name.startswith(argument.value)]
    return types.Completion(values=values)


async def serve(app: Any, path: str) -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(f"listening http://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve([listener])


match sys.argv[1:]:
    case ["stdio"]:
        mcp.run("stdio")
    case ["http"]:
        asyncio.run(serve(mcp.streamable_http_app(), "/mcp"))
    case ["sse"]:
        asyncio.run(serve(mcp.sse_app(), "/sse"))
    case _:
        sys.exit(f"usage: {sys.argv[0]} stdio | http | sse")
