"""Generates the clients of a document.

python generate.py DOCUMENT URL CLIENTS
"""

import json
import shutil
import sys
from pathlib import Path

from openrpc import OpenRPC
from openrpcclientgenerator import Language, generate

document, url, clients = sys.argv[1:]
described = json.loads(Path(document).read_text())
# The specification lets a method that is only a notification have no result; the generator's model
# of it does not.
described["methods"] = [method for method in described["methods"] if "result" in method]
out = Path(clients)
shutil.rmtree(out, ignore_errors=True)
out.mkdir()
for language in (Language.PYTHON, Language.TYPESCRIPT):
    print(generate(OpenRPC.model_validate(described), language, url, out))
