"""The features of the protocol, with the example `conformance_server`."""

import asyncio
import json
import urllib.request
from typing import Any

from checks import (
    INVALID_PARAMS,
    SOON,
    STATELESS,
    Connection,
    Failed,
    RpcError,
    Session,
    eventually,
    expect,
    passed,
    text_of,
)

WATCHED = "test://watched-resource"


async def suite(session: Session, connection: Connection) -> None:
    features = Features(session, connection)
    checks = [
        features.negotiation,
        features.tools,
        features.content,
        features.errors,
        features.mirrored_params,
        features.progress,
        features.logging,
        features.resources,
        features.prompts,
        features.completion,
        features.elicitation,
        features.sampling,
        features.roots,
        features.rounds,
        features.concurrency,
        features.cancellation,
        features.changes,
        features.reconnection,
        features.lost_session,
    ]
    for check in checks:
        try:
            await check()
        except Failed as failed:
            raise Failed(f"{check.__name__}: {failed}") from None
        except RpcError as error:
            raise Failed(f"{check.__name__}: the server responded with error {error}") from error


class Features:
    def __init__(self, session: Session, connection: Connection) -> None:
        self.session = session
        self.user = session.user
        self.connection = connection
        self.is_stateless = connection.version == STATELESS

    async def text(self, name: str, **arguments: Any) -> str:
        result = await self.connection.call(name, arguments)
        expect(not result.get("isError"), f"{name} to succeed", result)
        text = text_of(result)
        # A string result without blocks is JSON.
        return json.loads(text) if text.startswith('"') else text

    async def prints(self, expected: str, name: str, **arguments: Any) -> None:
        text = await self.text(name, **arguments)
        expect(text == expected, f"{expected!r} from {name}", text)

    async def negotiation(self) -> None:
        version, asked = self.connection.version, self.session.asked
        expect(version == (STATELESS if asked == "auto" else asked), f"version {asked}", version)
        expect("conformance-server" in self.connection.server, "the server", self.connection.server)
        if not self.is_stateless:
            await self.connection.ping()
        passed(f"{version} with {self.connection.server}")

    async def tools(self) -> None:
        tools = {tool["name"]: tool for tool in await self.connection.list_tools()}
        expect(len(tools) > 20, "more than 20 tools", list(tools))
        schema = tools["json_schema_2020_12_tool"]["inputSchema"]
        expect("$anchor" in schema["$defs"]["address"], "an anchor in the schema", schema)
        expect(tools["test_simple_text"]["annotations"]["readOnlyHint"], "annotations", tools)
        passed(f"{len(tools)} tools")

    async def content(self) -> None:
        await self.prints("This is a simple text response for testing.", "test_simple_text")
        for name, expected in {
            "test_image_content": [("image", "image/png")],
            "test_audio_content": [("audio", "audio/wav")],
            "test_embedded_resource": [("resource", "text/plain")],
            "test_multiple_content_types": [
                ("text", None),
                ("image", "image/png"),
                ("resource", "application/json"),
            ],
        }.items():
            result = await self.connection.call(name, {})
            found = [
                (block["type"], block.get("mimeType") or block.get("resource", {}).get("mimeType"))
                for block in result["content"]
            ]
            expect(found == expected, f"blocks {expected} from {name}", result)
        passed("content of all types")

    async def errors(self) -> None:
        for name, arguments, part in [
            ("test_error_handling", {}, "intentionally"),
            ("json_schema_2020_12_tool", {"contactMethod": "phone"}, "phone"),
        ]:
            result = await self.connection.call(name, arguments)
            expect(result.get("isError") is True, f"{name} to fail", result)
            expect(part in text_of(result), f"{part!r} in the text of {name}", result)
        not_found = INVALID_PARAMS if self.is_stateless else -32002
        await self.refused(INVALID_PARAMS, self.connection.call("no_such_tool", {}))
        await self.refused(INVALID_PARAMS, self.connection.prompt("no_such_prompt", {}))
        await self.refused(not_found, self.connection.read("test://no-such-resource"))
        passed("errors of tools, and JSON-RPC errors")

    async def refused(self, code: int, request: Any) -> None:
        try:
            result = await request
        except RpcError as error:
            expect(error.code == code, f"error {code}", error)
        else:
            raise Failed(f"expected error {code}, got {result!r}")

    async def mirrored_params(self) -> None:
        for region in ["eu-west", "Ærøskøbing 東京"]:
            await self.prints(region, "test_mirrored_param", region=region)
        passed("params that are mirrored in headers")

    async def progress(self) -> None:
        reports = []

        async def note(done: float, total: float | None, message: str | None) -> None:
            reports.append((done, total))

        await self.connection.call("test_tool_with_progress", {}, note)
        expected = [(0.0, 100.0), (50.0, 100.0), (100.0, 100.0)]

        async def arrived() -> bool:
            return reports == expected

        await eventually(arrived, f"progress {expected}")
        passed("progress of a call")

    async def logging(self) -> None:
        for level, count in [("error", 0), ("info", 3)]:
            self.user.logs.clear()
            await self.connection.log_level(level)
            await self.text("test_tool_with_logging")
            logs = self.user.logs

            async def arrived() -> bool:
                return len(logs) >= count

            await eventually(arrived, f"{count} messages of the level {level}")
            expect(len(logs) == count, f"{count} messages of the level {level}", logs)
        expect(self.user.logs[0] == ("info", "Tool execution started"), "the first", self.user.logs)
        passed("log messages of a level")

    async def resources(self) -> None:
        uris = {resource["uri"] for resource in await self.connection.list_resources()}
        expected = {"test://static-text", "test://static-binary", WATCHED}
        expect(uris == expected, f"{expected}", uris)
        templates = [one["uriTemplate"] for one in await self.connection.list_templates()]
        expect(templates == ["test://template/{id}/data"], "the template", templates)
        for uri, mime_type, part in [
            ("test://static-text", "text/plain", "content of the static text"),
            ("test://static-binary", "image/png", "iVBORw0KGgo"),
            ("test://template/4%202/data", "application/json", "Data for ID: 4 2"),
        ]:
            [contents] = await self.connection.read(uri)
            expect(contents["uri"] == uri, f"the URI {uri}", contents)
            expect(contents["mimeType"] == mime_type, f"the type {mime_type}", contents)
            found = contents.get("text") or contents.get("blob")
            expect(part in found, f"{part!r} in {uri}", contents)
        passed("resources and templates")

    async def prompts(self) -> None:
        prompts = {prompt["name"]: prompt for prompt in await self.connection.list_prompts()}
        arguments = [one["name"] for one in prompts["test_prompt_with_arguments"]["arguments"]]
        expect(arguments == ["arg1", "arg2"], "two arguments", prompts)
        for name, arguments, types, part in [
            ("test_simple_prompt", {}, ["text"], "simple prompt"),
            ("test_prompt_with_arguments", {"arg1": "a", "arg2": "ü"}, ["text"], "arg2='ü'"),
            ("test_prompt_with_embedded_resource", {"resourceUri": "test://x"}, ["resource", "text"], "process"),
            ("test_prompt_with_image", {}, ["image", "text"], "analyze"),
        ]:
            messages = await self.connection.prompt(name, arguments)
            found = [message["content"]["type"] for message in messages]
            expect(found == types, f"messages {types} of {name}", messages)
            expect(part in messages[-1]["content"]["text"], f"{part!r} in {name}", messages)
        messages = await self.connection.prompt("test_input_required_result_prompt", {})
        expect("tests" in messages[0]["content"]["text"], "the user's context", messages)
        passed("prompts")

    async def completion(self) -> None:
        for value, expected in [("par", ["paris", "park", "party"]), ("pari", ["paris"]), ("x", [])]:
            values = await self.connection.complete("test_prompt_with_arguments", "arg1", value)
            expect(values == expected, f"{expected} for {value}", values)
        passed("completion")

    async def elicitation(self) -> None:
        for message, part in [
            ("Who are you?", "ada@example.org"),
            ("decline", "action=decline"),
            ("cancel", "action=cancel"),
        ]:
            text = await self.text("test_elicitation", message=message)
            expect(part in text, f"{part!r} after {message!r}", text)
        text = await self.text("test_elicitation_sep1034_defaults")
        expect("John Doe" in text and "95.5" in text, "the default values", text)
        text = await self.text("test_elicitation_sep1330_enums")
        expect('"titledMulti":["value1"]' in text, "the first choices", text)
        await self.prints("Hello, Ada!", "test_streaming_elicitation")
        passed("elicitation")

    async def sampling(self) -> None:
        question = "What is the capital of France?"
        await self.prints("LLM response: Paris", "test_sampling", prompt=question)
        passed("sampling")

    async def roots(self) -> None:
        expected = f"2 roots: {', '.join(self.user.ROOTS)}"
        await self.prints(expected, "test_input_required_result_list_roots")
        passed("roots")

    async def rounds(self) -> None:
        await self.prints("Ada likes blue.", "test_input_required_result_multi_round")
        expected = "Good morning Ada, 2 roots"
        await self.prints(expected, "test_input_required_result_multiple_inputs")
        await self.prints("state-ok", "test_input_required_result_request_state")
        passed("several requests of one call")

    async def concurrency(self) -> None:
        async def one(number: int) -> None:
            await self.prints(f"region {number}", "test_mirrored_param", region=f"region {number}")

        await asyncio.gather(*(one(number) for number in range(20)))
        passed("20 concurrent calls")

    async def cancellation(self) -> None:
        async def waits(count: str) -> bool:
            return await self.text("test_count_waits") == count

        cancel = await self.connection.start("test_wait")
        await eventually(lambda: waits("1 running, 0 cancelled"), "the start of the call")
        await cancel()
        await eventually(lambda: waits("0 running, 1 cancelled"), "the end of the cancelled call")
        passed("cancellation")

    async def changes(self) -> None:
        async with self.connection.watch(WATCHED) as changes:
            for kind, names in [
                ("tool", lambda: self.names("list_tools")),
                ("prompt", lambda: self.names("list_prompts")),
                ("resource", lambda: self.names("list_resources")),
            ]:
                before = await names()
                for is_added in [True, False]:
                    await self.text(f"test_trigger_{kind}_change")
                    await self.next(changes, f"{kind}s")
                    added = await names() - before
                    expect(len(added) == is_added, f"{int(is_added)} added {kind}", added)
            await self.text("test_trigger_resource_update")
            await self.next(changes, WATCHED)
        passed("list_changed, and updates of a resource")

    async def names(self, lister: str) -> set[str]:
        return {one["name"] for one in await getattr(self.connection, lister)()}

    async def next(self, changes: asyncio.Queue[str], expected: str) -> None:
        try:
            async with asyncio.timeout(SOON):
                found = await changes.get()
        except TimeoutError:
            raise Failed(f"no notification of {expected}") from None
        expect(found == expected, f"a notification of {expected}", found)

    async def reconnection(self) -> None:
        await self.prints("The reply after the reconnection.", "test_reconnection")
        passed("a reply after its stream was closed")

    async def lost_session(self) -> None:
        session_id = await self.connection.session_id()
        if self.is_stateless or self.session.transport != "http":
            expect(session_id is None, "no session", session_id)
            return
        expect(bool(session_id), "a session", session_id)
        headers = {"Mcp-Session-Id": session_id, "Mcp-Protocol-Version": self.connection.version}
        request = urllib.request.Request(self.session.target[0], method="DELETE", headers=headers)
        await asyncio.to_thread(lambda: urllib.request.urlopen(request, timeout=SOON).close())
        try:
            result = await self.connection.call("test_simple_text", {})
        except RpcError:
            pass
        else:
            raise Failed(f"a call in the session that has ended returned {result!r}")
        async with self.session.open() as again:
            await again.ping()
        passed("a new session after the end of the first")
