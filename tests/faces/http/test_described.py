"""What the description says holds for whatever is sent: schemathesis, in an environment of its own.

`make check` builds it; elsewhere these tests are skipped.
"""

import os
import re
import subprocess
from pathlib import Path

import anyio
import pytest
from served import FILES, START_KEY, served

ROOT = Path(__file__).parents[3]
PROGRAM = Path(os.environ.get("SCHEMATHESIS", ROOT / ".venv" / "schemathesis" / "bin" / "st"))
LEFT_OUT = "^/v1/events$|^/v1/reload$|^/v1/tools/t.(nap|pay)/call$"
"""What never ends, what changes the server, what takes as long as it is told."""

STRICT = FILES | {"tools.d/t.yaml": FILES["tools.d/t.yaml"].replace(", default: 2", "")}
"""Without an argument for which null is as good as nothing."""

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.realtime,
    pytest.mark.skipif(
        "SCHEMATHESIS" not in os.environ and not PROGRAM.exists(),
        reason="there is no schemathesis here",
    ),
]


async def test_every_answer_is_as_it_is_described(tmp_path: Path) -> None:
    async with served(STRICT) as server:
        url = f"http://127.0.0.1:{server.port}"
        done = await anyio.run_process(
            [
                str(PROGRAM), "run", f"{url}/openapi.json", "--exclude-path-regex", LEFT_OUT,
                "--header", f"Authorization: Bearer {START_KEY}", "--max-examples", "20",
                "--seed", "1", "--phases", "examples,coverage,fuzzing", "--no-color",
                "--exclude-checks", "positive_data_acceptance,unsupported_method,ignored_auth",
            ],
            check=False, stderr=subprocess.STDOUT, cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1"},
        )  # fmt: skip
        good = await server.call("t.add", a=1, b=1)

    said = done.stdout.decode()
    assert done.returncode == 0, said[-6000:]
    assert re.search(r"No issues found|passed", said), said[-2000:]
    assert good.status_code == 200
