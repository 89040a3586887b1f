"""Checks, the interface of a connection, and the command line of the scripts.

Each SDK is wrapped in a `Connection` of plain JSON, so that the suites are the same for all SDKs.
"""

import asyncio
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

# The first revision whose tool results have `structuredContent`.
STRUCTURED = "2025-06-18"
# The first revision without sessions and `ping`.
STATELESS = "2026-07-28"

INVALID_PARAMS = -32602

# Seconds. SDKs kill a process that has not ended after two seconds.
CLOSING = 1.9
# Deadline of a run, in seconds.
DEADLINE = 50
# Deadline of a condition, in seconds.
SOON = 10


class RpcError(Exception):
    """The server responded with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code} {message}")
        self.code = code


class Failed(Exception):
    """An expectation that was not met."""


class User:
    """The answers to the server's requests, and the notifications that the client has received."""

    ROOTS = ["file:///srv/one", "file:///srv/two"]
    ANSWERS = {
        "name": "Ada",
        "username": "ada",
        "email": "ada@example.org",
        "color": "blue",
        "context": "tests",
        "ok": True,
    }

    def __init__(self) -> None:
        self.logs: list[tuple[str, Any]] = []
        self.changes: asyncio.Queue[str] = asyncio.Queue()

    def elicited(self, message: str, schema: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
        """The action and the content."""
        if message in ("decline", "cancel"):
            return message, None
        properties = schema["properties"]
        return "accept", {name: self.answer(name, properties[name]) for name in properties}

    def answer(self, name: str, schema: dict[str, Any]) -> Any:
        if "default" in schema:
            return schema["default"]
        if schema["type"] == "array":
            return [self.answer(name, {"type": "string", **schema["items"]})]
        if "enum" in schema:
            return schema["enum"][0]
        if titled := schema.get("oneOf") or schema.get("anyOf"):
            return titled[0]["const"]
        return self.ANSWERS[name]

    def sampled(self, question: str) -> str:
        return "Paris" if "capital of France" in question else "Good morning"

    def notified(self, method: str, uri: Any = None) -> None:
        if change := change_of(method, uri):
            self.changes.put_nowait(change)


def change_of(method: str, uri: Any = None) -> str | None:
    """`tools`, `prompts`, `resources`, or the URI of a changed resource."""
    match method.split("/")[1:]:
        case ["resources", "updated"]:
            return str(uri)
        case [changed, "list_changed"]:
            return changed
    return None


class Connection(Protocol):
    """What the suites use of an SDK. Requests raise `RpcError`; results are JSON."""

    version: str
    server: str

    async def ping(self) -> None: ...

    async def list_tools(self) -> list[dict[str, Any]]: ...

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        progress: Callable[[float, float | None, str | None], Awaitable[None]] | None = None,
    ) -> dict[str, Any]: ...

    async def list_resources(self) -> list[dict[str, Any]]: ...

    async def list_templates(self) -> list[dict[str, Any]]: ...

    async def read(self, uri: str) -> list[dict[str, Any]]: ...

    async def list_prompts(self) -> list[dict[str, Any]]: ...

    async def prompt(self, name: str, arguments: dict[str, str]) -> list[dict[str, Any]]: ...

    async def complete(self, prompt: str, argument: str, value: str) -> list[str]: ...

    async def log_level(self, level: str) -> None:
        """Sets the minimum level of log messages of later calls."""
        ...

    def watch(self, uri: str) -> AbstractAsyncContextManager["asyncio.Queue[str]"]:
        """Subscribes to the lists and a resource, and returns the changes."""
        ...

    async def start(self, name: str) -> Callable[[], Awaitable[None]]:
        """Starts a call; the returned function cancels it."""
        ...

    async def session_id(self) -> str | None: ...

    async def initialize(self) -> None:
        """Sends `initialize` again."""
        ...


def expect(true: bool, what: str, got: Any) -> None:
    if not true:
        raise Failed(f"expected {what}, got {got!r}")


def passed(what: str) -> None:
    print(f"  ok: {what}", flush=True)


def text_of(result: dict[str, Any]) -> str:
    content = result.get("content") or []
    expect(len(content) == 1 and content[0].get("type") == "text", "one text block", content)
    return content[0]["text"]


async def eventually(check: Callable[[], Awaitable[bool]], what: str) -> None:
    """Waits until the condition holds."""
    try:
        async with asyncio.timeout(SOON):
            while not await check():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise Failed(f"{what} did not happen within {SOON} s") from None


def leaf(error: BaseException) -> BaseException:
    """The failed check in nested groups, in which task groups raise errors, or the first error."""
    while isinstance(error, BaseExceptionGroup):
        failed = error.subgroup(Failed)
        error = (failed or error).exceptions[0]
    return error


Open = Callable[[str, str, list[str], User], AbstractAsyncContextManager[Connection]]


class Session:
    """A connection, the arguments that opened it, and its user."""

    def __init__(self, open: Open, version: str, transport: str, target: list[str]) -> None:
        self._open = open
        self.asked = version
        self.transport = transport
        self.target = target
        self.user = User()

    def open(self) -> AbstractAsyncContextManager[Connection]:
        return self._open(self.asked, self.transport, self.target, self.user)


async def run(session: Session, suite: Callable[[Session, Connection], Awaitable[None]]) -> float:
    """The time that closing the connection took."""
    async with asyncio.timeout(DEADLINE):
        async with session.open() as connection:
            await suite(session, connection)
            done = time.monotonic()
        return time.monotonic() - done


def main(open: Open) -> None:
    """Runs a suite with the connection that `open(version, transport, target, user)` opens."""
    import database
    import features
    import restart

    suites = {"database": database.suite, "features": features.suite, "restart": restart.suite}
    match sys.argv[1:]:
        case ["restart" as suite, version, "http" as transport, url]:
            target = [url]
        case ["database" | "features" as suite, version, "http" | "sse" as transport, url]:
            target = [url]
        case ["database" | "features" as suite, version, "stdio" as transport, *target] if target:
            pass
        case _:
            usage = "SUITE VERSION http URL | sse URL | stdio COMMAND ARGS…"
            sys.exit(f"usage: {sys.argv[0]} {usage}")
    try:
        closing = asyncio.run(run(Session(open, version, transport, target), suites[suite]))
        in_time = transport != "stdio" or closing < CLOSING
        expect(in_time, f"the process to end within {CLOSING} s", closing)
    except Exception as error:
        cause = leaf(error)
        if isinstance(cause, Failed):
            sys.exit(f"FAILED: {cause}")
        traceback.print_exception(cause)
        sys.exit(f"FAILED: {type(cause).__name__}: {cause}")
    passed("closed")
