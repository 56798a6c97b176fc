"""What a program hands to the client, turned into what the engine takes, or refused in one clear line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from interest import Box, Expression, Extent, Interest, InterestError, Piece, Point, Prism, Region, Value

Place = Iterable[float] | Extent
Wanted = Piece | Region | Interest | None


def place(at: Place) -> Extent:
    """(x, y) or (x, y, z) from anything that holds numbers, or an extent as it is. Raises `InterestError`."""
    if at is None or isinstance(at, Point | Box | Prism):
        return at
    try:
        if isinstance(at, str | bytes):
            raise TypeError
        return Point(tuple(float(value) for value in at))
    except (TypeError, ValueError) as error:
        why = f" ({error})" if isinstance(error, InterestError) else ""
        raise InterestError(f"place {at!r}: give (x, y), (x, y, z), a Box, a Prism, or None{why}") from None


def named(attributes: Mapping[str, Value] | None, layer: str | None) -> dict[str, Value]:
    """The attributes as they are sent. Numbers and texts of numpy become Python's. Raises `InterestError`."""
    if attributes is not None and not isinstance(attributes, Mapping):
        raise InterestError(f"attributes {attributes!r}: give a mapping such as {{'team': 2}}")
    result = {name: getattr(value, "item", lambda value=value: value)() for name, value in (attributes or {}).items()}
    if layer is not None:
        if not isinstance(layer, str):
            raise InterestError(f"layer {layer!r}: a layer is a text")
        if result.setdefault("layer", layer) != layer:
            raise InterestError(f"layer {layer!r} and the attribute layer {result['layer']!r}: give one of them")
    return result


def wanted(region: Wanted, layer: str | None, where: str | Expression | None) -> Interest:
    if isinstance(region, Interest):
        if layer is not None or where is not None:
            raise ValueError("a whole interest takes neither layer nor where: put them into it")
        return region
    return Interest.of(region, layer, where)
