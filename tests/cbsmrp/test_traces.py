"""Traces: what is read back is what was written, and every broken row is named by file, line and value."""

import csv
import gzip
import sys
from itertools import islice
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbsmrp.traces import Sample, TraceError, arena, read

RECORDED = Path(__file__).parents[3] / "shared" / "data" / "movement"

finite = st.floats(allow_nan=False, allow_infinity=False)
ids = st.text(st.characters(categories=["L", "N"], include_characters='. ,"'), min_size=1).map(str.strip).filter(bool)
samples = st.lists(
    st.builds(Sample, t=finite, id=ids, x=finite, y=finite, z=st.none() | finite), min_size=1, max_size=8
).map(lambda rows: sorted(rows, key=lambda row: row.t))


def write_csv(path: Path, rows: list[Sample], order: str = "t,id,x,y,z") -> None:
    columns = order.split(",")
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in rows:
            cells = attrs.asdict(row)
            writer.writerow(["" if cells.get(c) is None else cells[c] for c in columns])


@given(samples, st.permutations(["t", "id", "x", "y", "z", "extra"]), st.sampled_from(["trace.csv", "trace.csv.gz"]))
def test_csv_reads_back_what_was_written(tmp_path_factory, rows, columns, name):
    path = tmp_path_factory.mktemp("trace") / name
    write_csv(path, rows, ",".join(columns))
    assert list(read(path)) == rows


@given(samples)
def test_parquet_reads_back_what_was_written(tmp_path_factory, rows):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("trace") / "trace.parquet"
    columns = {name: [getattr(row, name) for row in rows] for name in ("z", "id", "t", "x", "y")}
    parquet.write_table(pyarrow.table({**columns, "team": [1] * len(rows)}), path)
    assert list(read(path)) == rows


def test_height_may_be_absent(tmp_path):
    path = tmp_path / "flat.csv"
    path.write_text("id,t,x,y\na,0,1,2\n\na,1,2,3\n\n")
    assert list(read(path)) == [Sample(0, "a", 1, 2, None), Sample(1, "a", 2, 3, None)]


def test_each_arena_has_its_own_time(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("t,id,x,y\n5,m0.a,0,0\n1,m1.a,0,0\n5,m0.b,0,0\n1,m1.b,0,0\n")
    assert [row.t for row in read(path)] == [5, 1, 5, 1]


@pytest.mark.parametrize(("object_id", "space"), [("m0.p1", "m0"), ("s17", ""), ("a.b.c", "a"), (".x", "")])
def test_arena(object_id, space):
    assert arena(object_id) == space


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("2,a,x,3,4", "x is 'x', not a number"),
        ("2,a,1,,4", "y is '', not a number"),
        ("2,a,1,1_000,4", "y is '1_000', not a number"),
        ("nan,a,1,3,4", "t is 'nan', not a finite number"),
        ("2,a,1,3,-inf", "z is '-inf', not a finite number"),
        ("2,a,1e999,3,", "x is '1e999', not a finite number"),
        ("0.5,a,1,3,4", "t is 0.5, but the time before it was 1.0; sort the rows by time"),
        ("2,a,1,3", "4 fields where the header names 5: 2,a,1,3"),
        ("2,a,1,3,4,5", "6 fields where the header names 5: 2,a,1,3,4,5"),
        ("2,,1,3,4", "id is empty"),
    ],
)
def test_a_broken_row_is_named(tmp_path, row, complaint):
    path = tmp_path / "trace.csv"
    path.write_text(f"t,id,x,y,z\n1,a,0,0,\n{row}\n3,a,0,0,\n")
    rows = read(path)
    assert next(rows) == Sample(1, "a", 0, 0, None)
    with pytest.raises(TraceError) as caught:
        next(rows)
    assert str(caught.value) == f"{path}:3: {complaint}"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", ": the file is empty; a header line naming t,id,x,y[,z] was expected"),
        (b"t,id,x,y\n", ": a header, but no rows"),
        (b"t,id,x\n0,a,1\n", ":1: there is no column 'y'; the columns are t,id,x"),
        (b"t,id,x,y,x\n0,a,1,2,3\n", ":1: column 'x' stands twice; the columns are t,id,x,y,x"),
        (b"t,id,x,y\n0,a,1,2\n0,\xff,1,2\n", "not text in UTF-8: invalid start byte"),
    ],
)
def test_a_broken_file_is_named(tmp_path, content, complaint):
    path = tmp_path / "trace.csv"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        list(read(path))
    assert str(caught.value).startswith(f"{path}:") and str(caught.value).endswith(complaint)


def test_a_broken_gzip_is_named(tmp_path):
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(b"t,id,x,y\n0,a,1,2\n")
    with pytest.raises(TraceError, match=r"trace\.csv\.gz:1: not readable as gzip"):
        list(read(path))
    whole = gzip.compress(b"t,id,x,y\n" + b"".join(b"%d,a,%d,1\n" % (i, i * i) for i in range(5000)))
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TraceError, match=r"trace\.csv\.gz:\d+: not readable as gzip"):
        list(read(path))
    path.write_bytes(whole[:3000] + b"\0" * 50 + whole[3050:])
    with pytest.raises(TraceError, match=r"trace\.csv\.gz:\d+: "):
        list(read(path))


def test_a_missing_file_is_named(tmp_path):
    for name in ("none.csv", "none.csv.gz", "none.parquet"):
        with pytest.raises(TraceError, match=rf"{name}: cannot be read: No such file"):
            list(read(tmp_path / name))


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"t": [0.0, 1.0], "id": ["a", "a"], "x": [1, 2], "y": [0.0, float("nan")]}, "row 2: y is nan, not a finite"),
        ({"t": [0.0, None], "id": ["a", "a"], "x": [1, 2], "y": [0.0, 0.0]}, "row 2: t is missing"),
        ({"t": [1, 0], "id": ["m.a", "m.b"], "x": [1, 2], "y": [0, 0]}, "row 2: t is 0.0, but the time before it in"),
        ({"t": [1, 1], "id": ["a", None], "x": [1, 2], "y": [0, 0]}, "row 2: id is empty"),
        ({"t": [1], "id": ["a"], "x": ["1"], "y": [0]}, "column 'x' holds string, not numbers"),
        ({"t": [1], "id": ["a"], "y": [0]}, "there is no column 'x'"),
    ],
)
def test_a_broken_parquet_row_is_named(tmp_path, columns, complaint):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "trace.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(TraceError) as caught:
        list(read(path))
    assert str(caught.value).startswith(str(path)) and complaint in str(caught.value)


def test_a_broken_parquet_file_is_named(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "trace.parquet"
    path.write_bytes(b"t,id,x,y\n")
    with pytest.raises(TraceError, match=r"trace\.parquet: not readable as Parquet"):
        list(read(path))


def test_without_pyarrow_the_remedy_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "trace.parquet"
    path.touch()
    with pytest.raises(TraceError, match=r"pip install cbsmrp\[parquet\]"):
        list(read(path))


@pytest.mark.parametrize(
    ("name", "rows", "arenas"), [("arma3_ocap", 29159, 4), ("ais_us", 99647, 1), ("rocket_league", None, 1)]
)
def test_recorded_traces(name, rows, arenas):
    path = RECORDED / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip("recorded movement is not here")
    found = list(islice(read(path), 100_000))  # enough of Rocket League's 572,285 rows
    assert rows is None or len(found) == rows
    assert len({arena(row.id) for row in found}) >= arenas
