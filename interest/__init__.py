"""What someone wants: regions, conditions on attributes, covering, approximation. No protocol, no time, no I/O.

The names below are the public ones; `interest.binary` (bytes) and `interest.cql2` (text) are imported by themselves.
"""

from interest.errors import DecodeError, InterestError
from interest.expression import Expression, attr, within
from interest.extent import Extent, Point
from interest.index import InterestIndex
from interest.interest import EVERYTHING, NOTHING, Interest
from interest.region import EVERYWHERE, NOWHERE, Region
from interest.shapes import Bounds, Box, Cylinder, Piece, Prism, Sphere
from interest.value import LAYER, Value

__all__ = [
    "EVERYTHING",
    "EVERYWHERE",
    "LAYER",
    "NOTHING",
    "NOWHERE",
    "Bounds",
    "Box",
    "Cylinder",
    "DecodeError",
    "Expression",
    "Extent",
    "Interest",
    "InterestError",
    "InterestIndex",
    "Piece",
    "Point",
    "Prism",
    "Region",
    "Sphere",
    "Value",
    "attr",
    "within",
]
