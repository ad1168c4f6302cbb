"""One small question shows which format an endpoint takes, and that is kept for the next run."""

from __future__ import annotations

import anyio

from mak.providers import Setup, open_client, parse
from mak.providers.ladder import _ladders
from mak.providers.learned import _files
from mak.providers.probe import probes
from mak.providers.request import Rung
from tests.providers.conftest import QUICK
from tests.providers.fake import Turn
from tests.providers.test_ladder import REFUSALS


def test_what_a_probe_found_is_where_the_next_process_begins(make_wire, tmp_path):
    wire = make_wire("openai").answers(REFUSALS[0], Turn('{"word": "ready"}'))
    setup = Setup(learned=tmp_path / "learned.json")
    spec = parse(wire.spec, setup)
    [found] = anyio.run(probes, [spec], setup)[spec]
    assert found.works and "format json_object_schema" in found.text
    _files.clear()
    _ladders.clear()
    client = open_client(spec, QUICK, setup)
    assert client.ladder.rung is Rung.JSON_OBJECT_SCHEMA
    [lesson] = client.ladder._learned._read().values()
    assert set(lesson.works) == {Rung.JSON_OBJECT_SCHEMA}
