"""Interests as OGC CQL2 text, both ways: what users type and what the command line shows.

`S_INTERSECTS(geom, BBOX(0, 0, 0, 50, 50, 20)) AND layer = 'avatars' AND speed > 3`; what is supported is listed in
`cql2_reader`.
"""

from interest.cql2_reader import parse_expression
from interest.cql2_writer import conjuncts_to_text
from interest.interest import Interest


def parse(text: str) -> Interest:
    """The interest that a text spells; InterestError, in one line, for what is wrong or not supported in it."""
    return Interest(parse_expression(text).conjuncts())


def to_text(interest: Interest) -> str:
    """The canonical text of an interest, which `parse` reads back as an equal one unless it is beyond the reader's size
    limits. InterestError for an integer beyond 2^53 that is no double, and for an attribute called `geom`."""
    return conjuncts_to_text(interest.conjuncts)
