"""Text of regions, positions and attributes: every form of it, and for each mistake the place."""

import math

import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from cbsmrp.cli.shapes import attribute, piece, point
from interest.errors import InterestError
from interest.shapes import Box, Cylinder, Prism, Sphere

coordinate = st.floats(-1e9, 1e9)
pair = st.tuples(coordinate, coordinate).map(sorted)
hole = "POLYGON((0 0, 10 0, 10 10, 0 10, 0 0), (2 2, 4 2, 4 4, 2 2))"


@given(pair, pair, pair)
def test_boxes(x, y, z):
    assert piece(f"box({x[0]!r},{y[0]!r},{z[0]!r},{x[1]!r},{y[1]!r},{z[1]!r})") == Box(
        (x[0], y[0], z[0]), (x[1], y[1], z[1])
    )
    assert piece(f" BOX ( {x[0]} , {y[0]} , {x[1]} , {y[1]} ) ") == Box((x[0], y[0]), (x[1], y[1]))


@given(coordinate, coordinate, pair, st.floats(0, 1e6))
def test_round_pieces(x, y, z, r):
    assert piece(f"sphere({x},{y},{z[0]},{r})") == Sphere((x, y, z[0]), r)
    assert piece(f"cylinder({x},{y},{r},{z[0]},{z[1]})") == Cylinder((x, y), r, z[0], z[1])
    assert piece(f"cylinder({x},{y},{r})") == Cylinder((x, y), r)


@given(pair, st.booleans())
def test_polygons(z, blanks):
    footprint = shapely.from_wkt(hole)
    dots = " .. " if blanks else ".."
    assert piece(hole) == Prism(footprint)
    assert piece(f"{hole} {z[0]!r}{dots}{z[1]!r}") == Prism(footprint, z[0], z[1])
    assert piece(shapely.to_wkt(footprint)) == Prism(footprint)


def test_heights_may_touch_the_dots():
    assert piece(f"{hole}0..20") == piece(f"{hole} 0. .. 20.") == Prism(shapely.from_wkt(hole), 0, 20)
    assert piece(f"{hole} -5...5") == Prism(shapely.from_wkt(hole), -5, 0.5)
    assert piece(f"{hole} 1e1..2E+1") == Prism(shapely.from_wkt(hole), 10, 20)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "'', character 1: expected a shape: box(x0,y0,x1,y1) or"),
        ("cube(0,0,1,1)", "character 1: expected box, sphere, cylinder or POLYGON, found 'cube(0,0,1,1)'"),
        ("box 0,0,1,1", "character 5: expected '(', found '0,0,1,1'"),
        ("box(0,0,1,)", "character 11: expected a number, found ')'"),
        ("box(0,0,1,x)", "character 11: expected a number, found 'x)'"),
        ("box(0,0,1,2m)", "character 11: expected a number, found '2m)'"),
        ("box(0,0,1,inf)", "character 11: expected a number, found 'inf)'"),
        ("box(0,0,1,1e999)", "character 11: expected a number, found '1e999)'"),
        ("box(0,0,1 1)", "character 11: expected ',' or ')', found '1)'"),
        ("box(0,0,1,1", "character 12: expected ',' or ')', the text ends"),
        ("box(0,0,1,1))", "character 13: expected the end, found ')'"),
        ("box(0,0,1)", "has 3 numbers: give box(x0,y0,x1,y1) or box(x0,y0,z0,x1,y1,z1)"),
        ("box(2,0,1,1)", "'box(2,0,1,1)': Box x goes from 2.0 to 1.0"),
        ("sphere(0,0,0)", "has 3 numbers: give sphere(x,y,z,r)"),
        ("sphere(0,0,0,-1)", "'sphere(0,0,0,-1)': Radius is -1.0"),
        ("cylinder(0,0,1,2)", "has 4 numbers: give cylinder(x,y,r) or"),
        ("POLYGON(0 0, 1 0, 1 1, 0 0)", "character 9: expected '(', found '0 0, 1 0"),
        ("POLYGON((0 0, 1 0, 1 1))", "character 9: expected a ring of at least four corners that ends where it starts"),
        ("POLYGON((0 0, 1 0 5, 1 1, 0 0))", "character 19: expected ',' or ')', found '5, 1 1"),
        ("POLYGON((0 0, 1 1, 1 0, 0 1, 0 0))", "not a simple polygon"),
        ("POLYGON((0 0, 1 0, 1 1, 0 0)) 5", "character 32: expected '..', the text ends"),
        ("POLYGON((0 0, 1 0, 1 1, 0 0)) 5..x", "character 34: expected a number, found 'x'"),
        ("POLYGON((0 0, 1 0, 1 1, 0 0)) 5..2", "Prism height goes from 5.0 to 2.0"),
        ("MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))", "character 1: expected box, sphere, cylinder or POLYGON"),
    ],
)
def test_a_malformed_region_names_the_place(text, complaint):
    with pytest.raises(InterestError) as caught:
        piece(text)
    message = str(caught.value)
    assert repr(text) in message and complaint in message and "\n" not in message


@given(st.text("box()POLYGN0123.,- e", max_size=40))
def test_any_text_is_a_piece_or_an_error(text):
    try:
        piece(text)
    except InterestError as error:
        assert "\n" not in str(error)


def test_points():
    assert point("1,2") == (1.0, 2.0)
    assert point(" 1.5, -2e3 ,.5") == (1.5, -2000.0, 0.5)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "character 1: expected a number, the text ends"),
        ("1", "character 2: expected ',', the text ends"),
        ("1,x", "character 3: expected a number, found 'x'"),
        ("1,2,3,4", "character 6: expected the end, found ',4'"),
        ("1,nan", "character 3: expected a number, found 'nan'"),
    ],
)
def test_a_malformed_point_names_the_place(text, complaint):
    with pytest.raises(InterestError) as caught:
        point(text)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("team=2", "team", 2),
        ("big=9007199254740993", "big", 9007199254740993),
        ("speed=2.0", "speed", 2.0),
        ("speed=-1e3", "speed", -1000.0),
        ("alive=true", "alive", True),
        ("alive=False", "alive", "False"),
        ("name=red car", "name", "red car"),
        ("name='2'", "name", "2"),
        ('name="true"', "name", "true"),
        ("name=", "name", ""),
        ("name=a=b", "name", "a=b"),
        ("name=inf", "name", "inf"),
        ("version=1.2.3", "version", "1.2.3"),
    ],
)
def test_attributes_are_typed(text, name, value):
    found = attribute(text)
    assert found == (name, value) and type(found[1]) is type(value)


@given(st.text(min_size=1), st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False) | st.text())
def test_attributes_read_back(name, value):
    name = name.replace("=", "_").strip() or "n"
    if name == "layer":
        return
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    assert attribute(f"{name}={text}") == (name, value)


@pytest.mark.parametrize("text", ["team", "=2", " =2", "name='x", 'name="', "x=1e999", "layer=a"])
def test_a_malformed_attribute_is_refused(text):
    with pytest.raises(InterestError) as caught:
        attribute(text)
    assert repr(text) in str(caught.value)


def test_an_omitted_height_is_unbounded():
    assert piece("box(0,0,1,1)").bounds == (0, 0, -math.inf, 1, 1, math.inf)
