"""What the commands print: JSON lines on standard output, messages for people on standard error.

Used by every verb. The JSON forms of extents and payloads are documented in `sub --help` (`PUBLICATION_FORM`).
"""

from __future__ import annotations

import base64
import json
import math
import sys
from typing import Any

from interest import Box, Extent, Point, Value

from ..messages import Publication

PUBLICATION_FORM = """\
Each publication is printed as one JSON object:
  source      the publisher, 16 hexadecimal digits
  sequence    counts the publications of this source
  extent      null; [x, y] or [x, y, z]; {"box": [x0, y0, z0, x1, y1, z1]};
              or {"polygon": "POLYGON ((...))", "height": [z0, z1]}. Metres; an unbounded height is null
  attributes  an object; the layer is the attribute "layer"
  payload     text, or {"base64": "..."} where it is not UTF-8
"""


def json_line(value: object) -> None:
    """One line on stdout, at once. Raises `BrokenPipeError` when nobody reads any longer."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def message(text: str) -> None:
    """One line on stderr, whatever the text holds."""
    print(" ".join(text.split("\n")), file=sys.stderr, flush=True)


def publication_json(publication: Publication) -> dict[str, Any]:
    return {
        "source": f"{publication.source:016x}",
        "sequence": publication.sequence,
        "extent": extent_json(publication.extent),
        "attributes": {name: _finite(value) for name, value in publication.attributes.items()},
        "payload": payload_json(publication.payload),
    }


def extent_json(extent: Extent) -> Any:
    if extent is None:
        return None
    if isinstance(extent, Point):
        return list(extent.position)
    if isinstance(extent, Box):
        return {"box": [_bound(value) for value in extent.bounds]}
    return {"polygon": extent.footprint.wkt, "height": [_bound(extent.z0), _bound(extent.z1)]}


def payload_json(payload: bytes) -> Any:
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(payload).decode()}


def _bound(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _finite(value: Value) -> Value:
    """JSON has no infinities; their names have to do."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
