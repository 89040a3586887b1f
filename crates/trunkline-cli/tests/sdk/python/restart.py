"""The checks of a client whose server is restarted. The SDK does not notice it, or opens a new session."""

import asyncio
import sys

from checks import Connection, Session, expect, passed, text_of


async def suite(_: Session, connection: Connection) -> None:
    await works(connection, "before a restart")
    first = await connection.session_id()
    expect(bool(first), "a session", first)
    await restart()
    await works(connection, "after a restart")
    same = await connection.session_id()
    expect(same == first, "the same session", [first, same])
    passed("the same session")
    await restart()
    await connection.initialize()
    new = await connection.session_id()
    expect(bool(new) and new != first, "a new session", [first, new])
    await works(connection, "after another `initialize`")
    await restart()
    await works(connection, "after a third restart")


async def works(connection: Connection, when: str) -> None:
    await connection.ping()
    text = text_of(await connection.call("list_tables", {}))
    expect("Artist" in text, "the tables", text)
    passed(f"a ping and a call {when}")


async def restart() -> None:
    """Waits until xtask has restarted the server."""
    print("restart", flush=True)
    line = await asyncio.to_thread(sys.stdin.readline)
    expect(line == "restarted\n", "a restart", line)
