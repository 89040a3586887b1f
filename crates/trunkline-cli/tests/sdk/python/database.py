"""The calls of all tools of a writable server of the Chinook sample."""

import asyncio
from typing import Any

from checks import (
    INVALID_PARAMS,
    STATELESS,
    STRUCTURED,
    Connection,
    Failed,
    RpcError,
    Session,
    expect,
    passed,
    text_of,
)

TOOLS = {
    "list_tables",
    "describe_table",
    "query_records",
    "execute_raw_query",
    "insert_record",
    "update_record",
    "delete_record",
    "create_table",
}
TABLES = {
    "Album",
    "Artist",
    "Customer",
    "Employee",
    "Genre",
    "Invoice",
    "InvoiceLine",
    "MediaType",
    "Playlist",
    "PlaylistTrack",
    "Track",
}

async def suite(session: Session, connection: Connection) -> None:
    await Database(connection).all(session.asked, session.transport)


class Database:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.structured = connection.version >= STRUCTURED

    async def all(self, asked: str, transport: str) -> None:
        self.negotiated(asked, transport)
        await self.ping()
        await self.lists_tools()
        await self.lists_tables()
        await self.describes_a_table()
        await self.queries_records()
        await self.executes_queries()
        await self.writes()
        await self.reports_errors()
        await self.refuses_an_unknown_tool()
        await self.answers_many_at_once()

    async def call(
        self, name: str, arguments: dict[str, Any], text: str
    ) -> dict[str, Any] | None:
        """The structured result of a call that works. `None` where the revision has none."""
        result = await self.connection.call(name, arguments)
        expect(not result.get("isError"), f"{name} to work", result)
        expect(text in text_of(result), f"{text!r} in the text of {name}", result)
        structured = result.get("structuredContent")
        if not self.structured:
            return None
        expect(isinstance(structured, dict), f"structured content of {name}", result)
        return structured

    def negotiated(self, asked: str, transport: str) -> None:
        version = self.connection.version
        allowed = {STATELESS if asked == "auto" else asked}
        if transport == "sse":
            # The transport is older than all revisions but one, and a server may say so.
            allowed.add("2024-11-05")
        expect(version in allowed, f"version {allowed}", version)
        expect("trunkline" in self.connection.server, "a server named trunkline", self.connection.server)
        passed(f"{self.connection.server} speaks {version}")

    async def ping(self) -> None:
        if self.connection.version < STATELESS:
            await self.connection.ping()
            passed("ping")

    async def lists_tools(self) -> None:
        tools = await self.connection.list_tools()
        expect({tool["name"] for tool in tools} == TOOLS and len(tools) == 8, "eight tools", tools)
        for tool in tools:
            name = tool["name"]
            expect(bool(tool.get("description")), f"a description of {name}", tool)
            expect(is_object_schema(tool.get("inputSchema")), f"an input schema of {name}", tool)
            if self.structured:
                expect(isinstance(tool.get("outputSchema"), dict), f"an output schema of {name}", tool)
        passed("tools/list has eight tools with their schemas")

    async def lists_tables(self) -> None:
        if listed := await self.call("list_tables", {}, "PlaylistTrack"):
            names = {table["name"] for table in listed["tables"]}
            expect(names == TABLES, "the eleven tables", listed)
        if listed := await self.call("list_tables", {"pattern": "Invoice%"}, "InvoiceLine"):
            names = [table["name"] for table in listed["tables"]]
            expect(names == ["Invoice", "InvoiceLine"], "two tables", listed)
        passed("list_tables")

    async def describes_a_table(self) -> None:
        table = {"table_name": "Track", "sample_rows": 2}
        if described := await self.call("describe_table", table, "MediaTypeId"):
            columns = [column["name"] for column in described["columns"]]
            expect(columns[:2] == ["TrackId", "Name"], "the columns in their order", described)
            expect(described["primary_key"] == ["TrackId"], "the primary key", described)
            referred = {key["references_table"] for key in described["foreign_keys"]}
            expect(referred == {"Album", "Genre", "MediaType"}, "three references", described)
        passed("describe_table")

    async def queries_records(self) -> None:
        query = {
            "table_name": "Track",
            "filters": {"AlbumId": 1, "Milliseconds": {"lt": 300_000}},
            "columns": ["TrackId", "Name"],
            "order_by": "TrackId DESC",
            "limit": 3,
        }
        if rowset := await self.call("query_records", query, "Breaking The Rules"):
            expect([column["name"] for column in rowset["columns"]] == ["TrackId", "Name"], "two columns", rowset)
            expect(rowset["row_count"] == 3 and len(rowset["rows"]) == 3, "three rows", rowset)
            expect(rowset["rows"][0] == [14, "Spellbound"], "the last track first", rowset)
        page = {"table_name": "Artist", "limit": 200}
        if first := await self.call("query_records", page, "AC/DC"):
            expect(bool(first.get("next_cursor")), "a cursor", first.get("next_cursor"))
            page["cursor"] = first["next_cursor"]
            second = await self.call("query_records", page, "Philip Glass")
            expect(second is not None and second["row_count"] == 75, "the other 75 artists", second)
        passed("query_records")

    async def executes_queries(self) -> None:
        query = {
            "query": "SELECT count(*) AS n, sum(Quantity) AS sold FROM InvoiceLine WHERE UnitPrice < ?",
            "params": [1.5],
        }
        if rowset := await self.call("execute_raw_query", query, "2129"):
            expect(rowset["rows"] == [[2129, 2129]], "one row", rowset)
            expect(rowset["truncated"] is False, "a whole result", rowset)
        query = {"query": "SELECT TrackId FROM PlaylistTrack", "max_rows": 5}
        if rowset := await self.call("execute_raw_query", query, "TrackId"):
            expect(rowset["row_count"] == 5 and rowset["truncated"] is True, "a cut result", rowset)
        passed("execute_raw_query")

    async def writes(self) -> None:
        table = {
            "table_name": "Gig",
            "schema": {"GigId": "INTEGER", "City": "TEXT", "Seats": "INTEGER"},
            "primary_key": "GigId",
        }
        if created := await self.call("create_table", table, "Gig"):
            expect(created["table"] == "Gig", "the table", created)
            expect("CREATE TABLE" in created["ddl"], "its DDL", created)
        passed("create_table")

        for number, city in enumerate(["Ærøskøbing", "São Paulo", "東京"], start=1):
            record = {"table_name": "Gig", "data": {"City": city, "Seats": 100 * number}}
            if inserted := await self.call("insert_record", record, "1"):
                expect(inserted["rows_affected"] == 1, "one row", inserted)
                expect(inserted["id"] == number, "the row's number", inserted)
        passed("insert_record")

        change = {"table_name": "Gig", "filters": {"City": "東京"}, "data": {"Seats": 7}}
        if updated := await self.call("update_record", change, "1"):
            expect(updated["rows_affected"] == 1, "one row", updated)
        passed("update_record")

        removal = {"table_name": "Gig", "filters": {"Seats": {"gte": 100}}, "dry_run": True}
        if deleted := await self.call("delete_record", removal, "2"):
            expect(deleted["rows_affected"] == 2 and deleted["dry_run"] is True, "a dry run", deleted)
        removal["dry_run"] = False
        if deleted := await self.call("delete_record", removal, "2"):
            expect(deleted["rows_affected"] == 2, "two rows", deleted)
        left = await self.call("query_records", {"table_name": "Gig"}, "東京")
        expect(left is None or left["rows"] == [[3, "東京", 7]], "the one row that is left", left)
        passed("delete_record")

    async def reports_errors(self) -> None:
        await self.fails("describe_table", {"table_name": "Trak"}, "Trak")
        await self.fails("query_records", {"table_name": "Track", "limit": "many"}, "limit")
        await self.fails("update_record", {"table_name": "Track", "filters": {}, "data": {"Name": "x"}}, "all")
        await self.fails("execute_raw_query", {"query": "SELEC 1"}, "SELEC")
        passed("errors are results that name the problem")

    async def fails(self, name: str, arguments: dict[str, Any], text: str) -> None:
        result = await self.connection.call(name, arguments)
        expect(result.get("isError") is True, f"{name} to fail", result)
        expect(text in text_of(result), f"{text!r} in the text of {name}", result)

    async def refuses_an_unknown_tool(self) -> None:
        try:
            result = await self.connection.call("drop_everything", {})
        except RpcError as error:
            expect(error.code == INVALID_PARAMS, f"error {INVALID_PARAMS}", error)
        else:
            raise Failed(f"an unknown tool answered {result!r}")
        passed("an unknown tool is a JSON-RPC error")

    async def answers_many_at_once(self) -> None:
        async def one(number: int) -> None:
            query = {"query": "SELECT ? AS n, 'call ' || ? AS call", "params": [number, number]}
            rowset = await self.call("execute_raw_query", query, f"call {number}")
            expect(
                rowset is None or rowset["rows"] == [[number, f"call {number}"]], f"row {number}", rowset
            )

        await asyncio.gather(*(one(number) for number in range(20)))
        passed("20 calls at once, each with its own result")


def is_object_schema(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "object"
