"""Write `mak/providers/catalog.json` anew: the models that are known where nothing can be fetched.

``make catalog`` runs it. The source is the price table of `genai-prices`, which knows every
vendor's models that are sold by the token: those that read and write text are taken, at the presets
whose prices it holds.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from genai_prices import __version__ as version
from genai_prices.data_snapshot import get_snapshot

from mak.providers.endpoints import PRESETS

TARGET = Path(__file__).parents[1] / "mak" / "providers" / "catalog.json"

#: Models that do not answer a chat with text.
_OTHER = re.compile(
    r"audio|babbage|davinci|^ada$|^curie$|embed|guard|image|imagine|live|moderation|nano-banana|ocr|"
    r"orpheus|playai|realtime|robotics|speech|transcri|tts|vision|voxtral|whisper|:batch$|:extended$|^ft:"
)
#: Some vendors sell others' models under this name elsewhere; these are their own endpoint's.
_ONLY = {"gemini": re.compile(r"gem(ini|ma)-"), "openrouter": re.compile(r".+/.+")}


def catalog() -> str:
    """Return the text of the file: one line a model, `[id, title, window]`."""
    providers = {provider.id: provider for provider in get_snapshot().providers}
    models: dict[str, list[list[object]]] = {}
    for preset in PRESETS.values():
        provider = providers.get(preset.priced_as)
        only = _ONLY.get(preset.id, re.compile(""))
        rows = [
            [model.id, model.name or "", model.context_window or 0]
            for model in (provider.models if provider else ())
            if only.match(model.id) and not _OTHER.search(model.id) and not model.deprecated
        ]
        if rows:
            models[preset.id] = sorted(rows, key=lambda row: str(row[0]))
    blocks = [
        f"  {json.dumps(id)}: [\n"
        + ",\n".join(f"   {json.dumps(row, ensure_ascii=False)}" for row in rows)
        + "\n  ]"
        for id, rows in models.items()
    ]
    source = json.dumps(f"genai-prices {version}")
    return f'{{\n "source": {source},\n "models": {{\n' + ",\n".join(blocks) + "\n }\n}\n"


if __name__ == "__main__":
    TARGET.write_text(catalog(), encoding="utf-8")
