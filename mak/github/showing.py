"""What is on GitHub of a run: made to be as its state says, each text found before it is made.

The state is what counts; comments, reviews, labels and checks are only made from it. What was made
is noted by its number, one write each, so that whatever is cut off is gone on with: a text whose
number was lost is found by its mark, among what MAK's own accounts wrote.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from mak.errors import AnswerLost, GitHubError
from mak.github import leases, marks, messages
from mak.github.ledger import Held
from mak.github.messages import Links
from mak.github.reduce import shown
from mak.github.site import Site
from mak.github.state import Offer, Phase, Posted, Proposal, Pull, RunState

_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
#: How often an answer that is lost is looked for.
_ATTEMPTS = 3
_LABELS = {
    Phase.PLANNING: "mak:planning",
    Phase.REVIEW: "mak:review",
    Phase.RUNNING: "mak:running",
    Phase.REPAIR_REVIEW: "mak:repair",
    Phase.PAUSED: "mak:paused",
    Phase.DONE: "mak:done",
    Phase.FAILED: "mak:failed",
}


def show(site: Site, held: Held, nonce: str = "") -> Held:
    """Make what is on GitHub what a run's state says, and note what was made.

    Whoever has anything to write takes the run's lease first, or has it by its `nonce`: two who
    looked for the same text and did not find it would both make it. What is returned has the lease
    still. Raises `Lost` when somebody else has written the state since, `Busy` when somebody else
    has the lease: it is for them to show.
    """
    showing = _Showing(site, held, nonce)
    for _ in range(_ATTEMPTS):
        try:
            showing.all()
        except AnswerLost as error:
            # It is there or is not: looking again tells.
            site.note(f"run {held.state.run}: {error}")
        else:
            return showing.held
    showing.all()
    return showing.held


@dataclass
class _Showing:
    site: Site
    held: Held
    #: Of the lease that is ours; empty: none is yet.
    nonce: str = ""

    def all(self) -> None:
        """Show all of it."""
        self.pull()
        self.offers()
        self.track()
        self.answers()
        self.end()
        self.checks()
        self.threads()
        self.label()

    def claim(self) -> None:
        """Be the one who writes."""
        self.held = leases.take(self.site, self.held, self.nonce)
        assert self.held.state.lease
        self.nonce = self.held.state.lease.nonce

    @property
    def state(self) -> RunState:
        return self.held.state

    @property
    def links(self) -> Links:
        return self.site.links.of(self.state.run)

    def _note(self, key: str, posted: Posted, **changes: Any) -> None:
        state = self.state
        noted = replace(state, posted={**state.posted, key: posted}, **changes)
        self.held = self.site.ledger.write(self.held, noted)
        self.site.fault(f"noted {key}")

    def _proposal(self) -> Proposal | None:
        """Return the plan that the run is about, repairs apart."""
        plans = [offer for offer in self.state.offers if not offer.repair]
        return self.site.ledger.proposal(self.held, plans[-1].rev) if plans else None

    # ------------------------------------------------------------------------------- comments

    def _comment(self, key: str, issue: int, body: str) -> Posted | None:
        """Have a text in an issue; None: it was there already."""
        posted = self.state.posted.get(key)
        if posted is None:
            self.claim()
            found = self._found(self.site.api.comments(issue), body)
            if found is None:
                found = self.site.api.comment(issue, body)
                self.site.fault(f"made {key}")
            made = Posted(int(found["id"]), str(found["node_id"]), _sha(found["body"]))
            created = int(datetime.fromisoformat(found["created_at"]).timestamp())
            return self._kept(key, made, created)
        return None

    def _kept(self, key: str, made: Posted, created: int) -> Posted:
        offer = self.state.offer
        if offer and key == _key(offer) and not offer.shown:
            self.held = replace(self.held, state=shown(self.state, created))
        self._note(key, made)
        return made

    def _found(self, texts: Iterable[Mapping[str, Any]], body: str) -> Mapping[str, Any] | None:
        mark = marks.read(body)
        for each in texts:
            user = each.get("user") or {}
            if user.get("id") in self.site.mine and marks.read(each.get("body") or "") == mark:
                return each
        return None

    def offers(self) -> None:
        """Show the newest plan, and hide those that it takes the place of."""
        state = self.state
        for old in state.offers[:-1]:
            posted = state.posted.get(_key(old))
            if posted is None or posted.hidden or not posted.node:
                continue
            if state.offers[-1].repair != old.repair and not old.repair:
                continue  # the plan itself stays to be read
            self.claim()
            self._try("hiding a plan", partial(self.site.api.minimize, posted.node))
            self._note(_key(old), replace(posted, hidden=True))
        offer = state.offer
        if offer is None or _key(offer) in state.posted:
            return
        proposal = self.site.ledger.proposal(self.held, offer.rev)
        if not offer.repair:
            body = messages.plan(self.state, offer, proposal, self.links, self.site.rules)
            self._comment(_key(offer), state.issue, body)
        else:
            self._review(offer, proposal)

    def _review(self, offer: Offer, proposal: Proposal) -> None:
        """Show repairs as a review, on lines where GitHub takes them."""
        state, key = self.state, _key(offer)
        if state.pull is None:
            body, _ = messages.repairs(state, offer, proposal, self.links)
            self._comment(key, state.issue, body)
            return
        self.claim()
        number = state.pull.number
        lines = _hunks(self.site.api.files(number))
        body, inline = messages.repairs(state, offer, proposal, self.links, lines, self._proposal())
        found = self._found(self.site.api.reviews(number), body)
        if found is None:
            try:
                found = self.site.api.review(number, body, state.head, inline)
            except GitHubError as error:
                if error.status != 422:
                    raise
                # GitHub sees other lines than we do; nothing of the review is there.
                body, _ = messages.repairs(state, offer, proposal, self.links)
                found = self.site.api.review(number, body, state.head)
            self.site.fault(f"made {key}")
        created = int(datetime.fromisoformat(found["submitted_at"]).timestamp())
        self._kept(key, Posted(int(found["id"]), str(found["node_id"]), _sha(body)), created)

    def track(self) -> None:
        """Keep the one comment that says where the run stands."""
        state = self.state
        still = messages.tracking(state, self._proposal(), self.links, state.since)
        posted = state.posted.get("track")
        if posted is None:
            made = self._comment("track", state.issue, still)
            assert made
            self._try("pinning", lambda: self.site.api.pin(made.id))
        elif posted.sha256 != _sha(still):
            self.claim()
            now = messages.tracking(state, self._proposal(), self.links, self.site.moment)
            self.site.api.edit_comment(posted.id, now)
            self._note("track", replace(posted, sha256=_sha(still)))

    def answers(self) -> None:
        """Say what is owed to those who commanded."""
        while self.state.answers:
            self.claim()
            answer, *left = self.state.answers
            found = self._found(self.site.api.comments(answer.issue), answer.body)
            if found is None:
                self.site.api.comment(answer.issue, answer.body)
                self.site.fault(f"made answer {answer.key}")
            state = replace(self.state, answers=tuple(left))
            self.held = self.site.ledger.write(self.held, state)
            self.site.fault("noted answer")

    def end(self) -> None:
        """Say that the run ended, or that it waits because of somebody."""
        state = self.state
        key = f"end:{state.phase}:{state.since}"
        if key in state.posted:
            return
        links, proposal = self.links, self._proposal()
        match state.phase:
            case Phase.DONE:
                if state.pull and state.pull.draft:
                    self._ready(state.pull)
                body = messages.done(self.state, links, (state.requester.login,))
            case Phase.FAILED:
                body = messages.failed(state, proposal, links, state.facts.get("output", ""))
            case Phase.CANCELLED if state.takes_back:
                return
            case Phase.CANCELLED:
                body = messages.cancelled(state, proposal)
            case Phase.EXPIRED:
                body = messages.expired(state)
            case Phase.PAUSED if login := state.facts.get("pushed by"):
                body = messages.branch_moved(state, login, state.head, links)
            case _:
                return
        self._comment(key, state.issue, body)

    # --------------------------------------------------------------------------- pull request

    def pull(self) -> None:
        """Open the pull request when there is something in it, and keep what it says."""
        state, api, links = self.state, self.site.api, self.links
        if not state.waves:
            return
        if state.pull is None:
            if "nopull" in state.posted:
                return
            self.claim()
            state = self.state
            found = api.pull_of(state.branch) or self._open()
            if found is None:
                self._comment("nopull", state.issue, messages.no_pull(state, links))
                return
            pull = Pull(int(found["number"]), str(found["node_id"]), bool(found.get("draft")))
            self._note("pull", Posted(pull.number, pull.node), pull=pull)
            return
        by_job, posted = self.site.by_job, state.posted["pull"]
        ours = _sha(messages.pull_body(state, self._proposal(), links, by_job=by_job))
        if ours == posted.sha256:
            return
        # What people wrote around it stays.
        before = str(self.site.reader.pull(state.pull.number).get("body") or "")
        body = messages.pull_body(state, self._proposal(), links, before, by_job=by_job)
        if body != before:
            self.claim()
            api.edit_pull(state.pull.number, body=body)
        self._note("pull", replace(posted, sha256=ours))

    def _open(self) -> Mapping[str, Any] | None:
        state, api = self.state, self.site.api
        body = messages.pull_body(state, self._proposal(), self.links, by_job=self.site.by_job)
        title = messages.pull_title(state)
        try:
            made = api.open_pull(title, body, state.branch, state.base)
        except GitHubError as error:
            if error.status == 422 and "raft" in str(error):
                title = messages.pull_title(state, wip=True)
                made = api.open_pull(title, body, state.branch, state.base, draft=False)
            elif error.status == 403:
                self.site.note(f"no pull request: {error}")
                return None
            else:
                raise
        self.site.fault("made pull")
        return made

    def _ready(self, pull: Pull) -> None:
        self.claim()
        if self._try("making it ready", lambda: self.site.api.ready(pull.node)):
            posted = self.state.posted["pull"]
            self._note("pull", posted, pull=replace(pull, draft=False))
        login = self.state.requester.login
        self._try("asking for a review", lambda: self.site.api.request_review(pull.number, login))

    # ------------------------------------------------------------------------ checks and labels

    def checks(self) -> None:
        """Report each wave, and what is left broken beside its lines; where that is allowed."""
        state = self.state
        for wave in state.waves:
            key = f"check:{wave.commit[:12]}"
            if key not in state.posted:
                name = f"MAK / wave {wave.number}"
                output = {"title": wave.subject[:200] or name, "summary": " ".join(wave.tasks)}
                self._check(key, str(wave.number), name, wave.commit, "success", output)
        offer = state.offer
        if offer and offer.repair and state.head and f"check:r{offer.rev}" not in state.posted:
            spots = self.site.ledger.proposal(self.held, offer.rev).spots
            notes = messages.check_annotations(spots)
            output = {
                "title": f"Repair plan {offer.repair}",
                "summary": f"{len(notes)} places are left broken; a plan puts them right.",
            }
            decision = "action_required" if self.site.by_job is False else "neutral"
            self._check(
                f"check:r{offer.rev}",
                f"r{offer.rev}",
                "MAK / repair",
                state.head,
                decision,
                output,
                notes,
            )
        self._decided()

    def _decided(self) -> None:
        """Take the buttons from checks that there is nothing to decide on any more."""
        state = self.state
        open_ = state.offer.rev if state.offer and state.phase is Phase.REPAIR_REVIEW else 0
        for offer in state.offers:
            key = f"check:r{offer.rev}"
            posted = self.state.posted.get(key)
            if self.site.by_job or offer.rev == open_ or not posted or not posted.id:
                continue
            if posted.hidden:
                continue
            title = f"Repair plan {offer.repair}"
            output = {"title": title, "summary": "Somebody has decided, or there is a newer plan."}
            fields = {"status": "completed", "conclusion": "neutral", "actions": []}
            self.claim()
            edit = partial(self.site.api.edit_check, posted.id, {**fields, "output": output})
            self._try(f"closing {title}", edit)
            self._note(key, replace(posted, hidden=True))

    def _check(
        self,
        key: str,
        id: str,
        name: str,
        commit: str,
        conclusion: str,
        output: Mapping[str, Any],
        notes: list[dict[str, Any]] | None = None,
    ) -> None:
        self.claim()
        external = f"{self.state.run}:{id}"
        fields: dict[str, Any] = {
            "name": name,
            "head_sha": commit,
            "external_id": external,
            "status": "completed",
            "conclusion": conclusion,
            "output": output,
        }
        if conclusion == "action_required":
            fields["actions"] = [
                {
                    "label": "Approve repairs",
                    "description": "Run them as they are",
                    "identifier": "approve",
                },
                {"label": "Skip repairs", "description": "Leave it as it is", "identifier": "skip"},
                {"label": "Cancel run", "description": "Stop the run", "identifier": "cancel"},
            ]
        made = Posted(0)

        def check() -> None:
            nonlocal made
            there = (
                each for each in self.site.api.checks(commit) if each["external_id"] == external
            )
            found = next(there, None) or self.site.api.check(fields, notes or ())
            made = Posted(int(found["id"]), str(found["node_id"]))

        self._try(f"reporting {name}", check)
        self._note(key, made)

    def threads(self) -> None:
        """Resolve the threads of a review whose repairs are on the branch: ours, nobody else's."""
        state = self.state
        for offer in state.offers:
            review, key = state.posted.get(_key(offer)), f"resolved:{offer.rev}"
            landed = any(wave.repair == offer.repair for wave in state.waves)
            if not (offer.repair and landed and review and state.pull) or key in state.posted:
                continue
            self.claim()
            self._try("resolving threads", partial(self._resolve, state.pull.number, review.id))
            self._note(key, Posted(0))

    def _resolve(self, pull: int, review: int) -> None:
        ours = {
            each["id"]
            for each in self.site.api.line_comments(pull)
            if each.get("pull_request_review_id") == review
            and (each.get("user") or {}).get("id") in self.site.mine
        }
        for thread in self.site.api.threads(pull):
            first = thread["comments"]["nodes"][:1]
            if not thread["isResolved"] and any(each["databaseId"] in ours for each in first):
                self.site.api.resolve(thread["id"])

    def label(self) -> None:
        """Label the issue with where its run stands; where that is allowed."""
        wanted = _LABELS.get(self.state.phase, "")
        posted = self.state.posted.get("label", Posted(0))
        if posted.sha256 == wanted:
            return
        self.claim()
        if posted.sha256:
            gone = posted.sha256
            self._try("a label", lambda: self.site.api.take_label(self.state.issue, gone))
        if wanted:
            self._try("a label", lambda: self.site.api.label(self.state.issue, wanted))
        self._note("label", Posted(0, sha256=wanted))

    def _try(self, what: str, do: Callable[[], object]) -> bool:
        """Do what nothing depends on."""
        try:
            do()
        except GitHubError as error:
            self.site.note(f"{what}: {error}")
            return False
        return True


def _key(offer: Offer) -> str:
    return f"plan:{offer.rev}"


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _hunks(files: Iterable[Mapping[str, Any]]) -> frozenset[tuple[str, int]]:
    """Return the lines of a pull request that a comment may be on: path and number."""
    found = set()
    for file in files:
        for match in _HUNK.finditer(file.get("patch") or ""):
            start, count = int(match[1]), int(match[2] or 1)
            found |= {(str(file["filename"]), line) for line in range(start, start + count)}
    return frozenset(found)
