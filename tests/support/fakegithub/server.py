"""A GitHub on this machine: REST, GraphQL, Git and webhooks over one world, judged throughout.

`violations` lists whatever GitHub's own descriptions do not allow, in either direction; the
`github` fixture fails a test that leaves any behind.
"""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import jwt
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tests.support.fakegithub import contract, git, graph, rest
from tests.support.fakegithub.calls import Call, Grant, Refused, new_token
from tests.support.fakegithub.faults import Faults
from tests.support.fakegithub.filling import fill
from tests.support.fakegithub.hooks import Deliveries
from tests.support.fakegithub.shapes import Shapes
from tests.support.fakegithub.world import App, Installation, Repository, User, World

#: How long an installation's token lives, and the longest an App may speak for itself.
TOKEN_LIFE = timedelta(hours=1)
JWT_LIFE = timedelta(minutes=10)
DOCUMENTATION = "https://docs.github.com/rest"


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that came, and what became of it."""

    method: str
    path: str
    token: str
    body: Any
    status: int
    at: datetime


class FakeGitHub:
    """The server, and what tests do with it."""

    def __init__(self, folder: Path) -> None:
        """Keep repositories in a folder; serve once entered."""
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.skew = timedelta(0)
        self.violations: list[str] = []
        self.seen: list[Seen] = []
        self.faults = Faults()
        self.tokens: dict[str, Grant] = {}
        self.shapes = Shapes(self.url)
        self.world = World(folder, self.now, self._notify)
        self.deliveries = Deliveries(self.world, self.shapes, self.violations.append)
        self._lock = threading.RLock()
        routes = [
            Route("/graphql", self._graphql, methods=["POST"]),
            Route("/{owner}/{name}.git/{rest:path}", self._git, methods=["GET", "POST"]),
            Route("/{path:path}", self._rest, methods=["GET", "POST", "PATCH", "PUT", "DELETE"]),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes), log_level="critical", loop="asyncio", lifespan="off"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))

    def __enter__(self) -> Self:
        """Serve until the end of the block."""
        self._socket.listen(128)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and wait until it has."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    # ------------------------------------------------------------------------------- for tests

    def now(self) -> datetime:
        """Return the time here, which a test may move on."""
        return datetime.now(UTC) + self.skew

    def forward(self, **span: float) -> None:
        """Let time pass."""
        self.skew += timedelta(**span)

    def repository(self, full_name: str, files: Mapping[str, str]) -> Repository:
        """Make a repository with one commit of the files given."""
        return Repository(self.world, full_name, files)

    def token(self, user: User) -> str:
        """Return a token of a person, who may do with it what they may do anyway."""
        return self._keep(Grant(new_token("ghp"), user)).token

    def workflow_token(self, repository: Repository, **permissions: str) -> str:
        """Return the `GITHUB_TOKEN` of a job with the permissions given."""
        actions = next((a for a in self.world.apps.values() if a.slug == "github-actions"), None)
        actions = actions or self.world.app("github-actions")
        grant = Grant(
            new_token("ghs", actions),
            actions.bot,
            permissions,
            (repository,),
            actions,
            self.now() + timedelta(hours=24),
            of_workflow=True,
        )
        return self._keep(grant).token

    def end(self, installation: Installation, by: User, action: str = "deleted") -> None:
        """Take an App away, or `suspend` it: its tokens are good for nothing from then on."""
        if action == "deleted":
            del self.world.installations[installation.id]
        installation.suspended = action == "suspend"
        for grant in self.tokens.values():
            if grant.app is installation.app and grant.repositories:
                grant.expires = self.now()
        repositories = [self.shapes.repository(one) for one in installation.repositories]
        what = {"installation": self.shapes.installation(installation)}
        document = {**what, "repositories": repositories}
        self.deliveries.note(None, "installation", action, {"sender": by, "document": document})

    # --------------------------------------------------------------------------------- serving

    def _keep(self, grant: Grant) -> Grant:
        self.tokens[grant.token] = grant
        return grant

    def _mint(
        self,
        installation: Installation,
        permissions: Mapping[str, str],
        repositories: tuple[Repository, ...],
    ) -> Grant:
        app = installation.app
        token = new_token("ghs", app)
        expires = self.now() + TOKEN_LIFE
        return self._keep(Grant(token, app.bot, permissions, repositories, app, expires))

    def _notify(
        self, repository: Repository, event: str, action: str, what: Mapping[str, Any]
    ) -> None:
        self.deliveries.note(repository, event, action, what)

    def _grant(self, header: str) -> Grant:
        token = git.token_of(header)
        grant = self.tokens.get(token)
        if grant is None and token.count(".") == 2 and not token.startswith("gh"):
            return Grant(token, None, app=self._app(token))
        if grant is None or (grant.expires and grant.expires <= self.now()):
            raise Refused(401, "Bad credentials")
        return grant

    def _app(self, token: str) -> App:
        """Return the App that a JSON web token speaks for; GitHub is strict about its times."""
        refused = Refused(401, "A JSON web token could not be decoded")
        try:
            claimed = jwt.decode(token, options={"verify_signature": False, "verify_iss": False})
            app = self.world.apps[int(claimed["iss"])]
            options = {"verify_exp": False, "verify_iat": False, "require": ["iat", "exp"]}
            claims = jwt.decode(token, app.public_key, ["RS256"], options=options)
        except (jwt.PyJWTError, KeyError, ValueError) as error:
            raise refused from error
        now = self.now().timestamp()
        if claims["iat"] > now or not now < claims["exp"] <= now + JWT_LIFE.total_seconds():
            raise Refused(401, "'Expiration time' claim ('exp') is too far in the future")
        return app

    async def _rest(self, request: Request) -> Response:
        path = request.scope["raw_path"].decode()
        content = await request.body()
        body = json.loads(content) if content else None
        with self._lock:
            operation = contract.find(request.method, path)
            if operation is None or (request.method, operation.template) not in rest.ROUTES:
                self.violations.append(f"{request.method} {path}: no such endpoint here")
                return self._answer(request, body, 404, {"message": "Not Found"})
            query = dict(request.query_params)
            wrong = list(contract.wrong_request(operation, query, request.headers, body))
            self.violations += [f"{request.method} {path}: {error}" for error in wrong]
            fault = self.faults.next(request.method, path)
            if fault and not fault.done:
                message = {"message": fault.message, "documentation_url": DOCUMENTATION}
                return self._answer(request, body, fault.status, message, fault.headers)
            try:
                if wrong:
                    raise Refused(422, "Invalid request.\n\n" + "\n".join(wrong))
                grant = self._grant(request.headers.get("authorization", ""))
                call = Call(
                    self.world,
                    self.shapes,
                    grant,
                    operation.arguments,
                    query,
                    body,
                    self._mint,
                    self.deliveries,
                )
                status, document = rest.answer(call, request.method, operation.template)
            except Refused as refused:
                status, document = refused.status, _error(refused)
            headers: dict[str, str] = {}
            if isinstance(document, list):
                document, headers = _page(document, request)
            schema = contract.response_schema(operation, status) if status < 300 else None
            document = fill(contract.rest(), schema, document, self.url)
            if "full+json" in request.headers.get("accept", ""):
                document = _full(document)
            self.violations += [
                f"{request.method} {path}: answer {status}: {error}"
                for error in contract.wrong_response(operation, status, document)
            ]
            if fault:
                return _Cut()
            return self._answer(request, body, status, document, headers)

    async def _graphql(self, request: Request) -> Response:
        body = await request.json()
        with self._lock:
            fault = self.faults.next("POST", "/graphql")
            if fault:
                return self._answer(
                    request, body, fault.status, {"message": fault.message}, fault.headers
                )
            wrong = contract.wrong_query(body["query"])
            self.violations += [f"GraphQL: {error}" for error in wrong]
            try:
                grant = self._grant(request.headers.get("authorization", ""))
            except Refused as refused:
                return self._answer(request, body, refused.status, _error(refused))
            call = Call(self.world, self.shapes, grant, {}, {}, body, self._mint, self.deliveries)
            return self._answer(request, body, 200, graph.run(call))

    async def _git(self, request: Request) -> Response:
        places = request.path_params
        repository = self.world.repositories.get(f"{places['owner']}/{places['name']}")
        try:
            grant = self._grant(request.headers.get("authorization", ""))
            if repository is None or repository not in (grant.repositories or (repository,)):
                raise Refused(404, "Not Found")
            owner, name = repository.full_name.split("/")
            call = Call(
                self.world,
                self.shapes,
                grant,
                {"owner": owner, "repo": name},
                {},
                None,
                self._mint,
                self.deliveries,
            )
            call.may(git.needs(request.url.path, request.query_params))
        except Refused as refused:
            ask = {"WWW-Authenticate": 'Basic realm="GitHub"'} if refused.status == 401 else {}
            return self._answer(request, None, refused.status, _error(refused), ask)
        fault = self.faults.next(request.method, request.url.path)
        if fault and not fault.done:
            message = {"message": fault.message}
            return self._answer(request, None, fault.status, message, fault.headers)
        before = repository.refs("refs/heads/")
        login = call.user.login
        answer = await git.serve(repository, request, f"/{places['rest']}", login)
        with self._lock:
            after = repository.refs("refs/heads/")
            moved = {ref: before.get(ref, "") for ref in {*before, *after}}
            repository.pushed(moved, call.user)
            token = git.token_of(request.headers.get("authorization", ""))
            seen = Seen(
                request.method, request.url.path, token, None, answer.status_code, self.now()
            )
            self.seen.append(seen)
        return _Cut() if fault else answer

    def _answer(
        self,
        request: Request,
        body: Any,
        status: int,
        document: Any,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        token = git.token_of(request.headers.get("authorization", ""))
        content = b"" if document is None else json.dumps(document).encode()
        tag = f'"{hashlib.sha256(content).hexdigest()}"'
        if request.method == "GET" and request.headers.get("if-none-match") == tag:
            status, content = 304, b""
        method, path = request.method, request.url.path
        self.seen.append(Seen(method, path, token, body, status, self.now()))
        kind = {"content-type": "application/json; charset=utf-8"} if content else {}
        left = {"x-ratelimit-remaining": "4999", **kind, **(headers or {})}
        return Response(content, status, {**left, "etag": tag} if status in (200, 304) else left)


class _Cut(Response):
    """An answer that is never finished: the connection is closed in the middle of it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"100"), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})


def _error(refused: Refused) -> dict[str, Any]:
    document: dict[str, Any] = {"message": refused.message, "documentation_url": DOCUMENTATION}
    document["status"] = str(refused.status)
    if refused.errors:
        document["errors"] = list(refused.errors)
    return document


def _full(document: Any) -> Any:
    """Return a document with every text also as HTML and plain, as that media type has them."""
    if isinstance(document, list):
        return [_full(inner) for inner in document]
    if not isinstance(document, dict):
        return document
    whole = {key: _full(inner) for key, inner in document.items()}
    if "body" in whole:
        whole |= {"body_html": f"<p>{whole['body']}</p>", "body_text": whole["body"]}
    return whole


def _page(found: list[Any], request: Request) -> tuple[list[Any], dict[str, str]]:
    size = min(int(request.query_params.get("per_page", 30)), 100)
    number = int(request.query_params.get("page", 1))
    if number * size >= len(found):
        return found[(number - 1) * size :], {}
    following = request.url.include_query_params(page=number + 1)
    part = found[(number - 1) * size : number * size]
    return part, {"link": f'<{following}>; rel="next"'}
