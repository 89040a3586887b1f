"""Calls the server with the Python client that was generated from its document.

python client.py CLIENTS URL
"""

import asyncio
import sys
from pathlib import Path

from jsonrpcobjects.errors import JSONRPCError

clients, url = sys.argv[1:]
sys.path.insert(0, str(Path(clients) / "python" / "example-http-client"))

from example_http_client.client import ExampleClient  # noqa: E402


async def main() -> None:
    client = ExampleClient(headers={}, client_url=url)
    assert await client.math.divide(1, 4) == 0.25
    assert await client.math.divide(3.0) == 3.0, "the divisor has a default"
    assert await client.math.sum([1, 2, 3]) == 6
    eldest = await client.family.eldest()
    assert (eldest.name, eldest.children) == ("Ada", []), "it is a model"
    person = {"name": "Ada", "children": [{"name": "Bo"}, {"name": "Cy"}]}
    assert await client.family.count(person) == 3
    try:
        await client.math.divide(1, 0)
    except JSONRPCError as error:
        assert error.rpc_error.code == 1, error.rpc_error
        assert error.rpc_error.message == "division by zero", error.rpc_error
    else:
        raise AssertionError("a division by zero has a result")
    print("Python: 6 calls")


asyncio.run(main())
