"""Git over HTTP as GitHub serves it: git's own backend behind a token."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from tests.support.fakegithub.world import Repository


def token_of(header: str) -> str:
    """Return the token of an Authorization header: Basic as git sends it, or Bearer."""
    scheme, _, rest = header.partition(" ")
    if scheme.lower() == "basic":
        return base64.b64decode(rest).decode().partition(":")[2]
    return rest if scheme.lower() in ("bearer", "token") else ""


def needs(path: str, query: Mapping[str, str]) -> str:
    """Return the permission that a request of git needs."""
    writes = path.endswith("/git-receive-pack") or query.get("service") == "git-receive-pack"
    return f"contents:{'write' if writes else 'read'}"


async def serve(repository: Repository, request: Request, rest: str, login: str) -> Response:
    """Hand a request of git to its backend; `rest` is the path below the repository."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(repository.world.folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PROJECT_ROOT": str(repository.path),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": rest,
        "QUERY_STRING": request.url.query,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
        "HTTP_GIT_PROTOCOL": request.headers.get("git-protocol", ""),
        "REMOTE_USER": login,
        "REMOTE_ADDR": "127.0.0.1",
    }
    process = await asyncio.create_subprocess_exec(
        "git",
        "http-backend",
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate(await request.body())
    head, _, body = out.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
    status = int(headers.pop("Status", "200").split()[0])
    return Response(body, status, headers)
