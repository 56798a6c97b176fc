"""The commands at work, as processes: what one publishes another prints."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cbsmrp.cli.replay import schedule
from cbsmrp.cli.scrape import read
from cbsmrp.traces import Sample

pytestmark = pytest.mark.udp

POINTS = [(1.0, 2.0, 3.0), (-1.5, 0.0, 2.0), (100.0, 0.0, 0.0), (3.0, 3.0, 3.0)]


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def in_force(process):
    """Read a `sub --events` until its subscription is in force."""
    for line in process.stdout:
        if json.loads(line)["event"] == "in_force":
            return
    raise AssertionError(process.stderr.read())


def test_publish_and_subscribe_through_a_tree(processes, tmp_path):
    core_process, core = processes.router("--metrics", "127.0.0.1:0")
    leaf_process, leaf = processes.router("--upstream", core["address"], "--metrics", "127.0.0.1:0")
    assert core["receive_buffer"] > 0 and core["mode"] == "shared-tree" and leaf["clipping"] is True
    sub = processes.start(
        "sub", "--router", leaf["address"], "--events", "-C", "5", "-W", "60", "--layer", "avatars",
        "--region", "sphere(0,0,0,5)", "--region", "POLYGON((99 -1, 101 -1, 101 1, 99 1, 99 -1)) 0..5",
        "--where", "team = 2 OR team IS NULL",
    )  # fmt: skip
    in_force(sub)
    at = ["--router", core["address"]]
    first = ["--at", "-1,2,3", "--layer", "avatars", "--attr", "team=2", "--payload", "first"]
    assert processes.run("pub", *at, *first) == (0, "", "")
    text = "".join(
        json.dumps({"at": point, "layer": "avatars", "attributes": {"n": n}, "payload": "from stdin"}) + "\n\n"
        for n, point in enumerate(POINTS)
    )
    for unwanted in ({"layer": "doors"}, {"attributes": {"team": 3}}):
        text += json.dumps({"at": POINTS[0]} | unwanted) + "\n"
    last = json.dumps({"at": [0, 0], "payload": {"base64": "/w=="}})  # the last line may lack its end
    assert processes.run("pub", *at, "--stdin", "--layer", "avatars", text=text + last) == (0, "", "")
    out, err = sub.communicate(timeout=60)
    assert (sub.returncode, err) == (0, "")
    got = lines(out)
    assert [list(each) for each in got] == [["source", "sequence", "extent", "attributes", "payload"]] * 5
    assert got[0]["payload"] == "first" and got[0]["attributes"] == {"team": 2, "layer": "avatars"}
    assert [each["extent"] for each in got[1:4]] == [list(POINTS[0]), list(POINTS[1]), list(POINTS[2])]
    assert [each["sequence"] for each in got[1:]] == [0, 1, 2, 6]
    assert len({each["source"] for each in got}) == 2
    assert got[4]["extent"] == [0.0, 0.0] and got[4]["payload"] == {"base64": "/w=="}

    # The leaf leaves the tree when it is asked to end, and the core knows at once.
    assert [row.kind for row in read(core["metrics"]).vifs if row.vif != "ended"] == ["downstream"]
    leaf_process.send_signal(signal.SIGTERM)
    out, err = leaf_process.communicate(timeout=60)
    assert (leaf_process.returncode, out) == (0, "")
    assert all(len(line) < 120 and "Traceback" not in line for line in err.splitlines())
    assert [row.vif for row in read(core["metrics"]).vifs if row.vif != "ended"] == []
    core_process.send_signal(signal.SIGINT)
    assert core_process.communicate(timeout=60) == ("", "")
    assert core_process.returncode == 0


FAR = ("--region", "box(100,100,101,101)")


def test_sub_ends_as_it_is_told(processes):
    _, router = processes.router()
    at = ["--router", router["address"]]
    started = {
        # Far from where anything is published: on a busy machine they may start only after the publisher has.
        "time is over, with a count": processes.start("sub", *at, *FAR, "-W", "0.2", "-C", "1"),
        "time is over": processes.start("sub", *at, *FAR, "-W", "0.2"),
        "ctrl-C": processes.start("sub", *at, "--events"),
        "nobody reads": processes.start("sub", *at),
    }
    in_force(started["ctrl-C"])
    started["ctrl-C"].send_signal(signal.SIGINT)
    reader = started["nobody reads"]
    reader.stdout.close()
    pub = processes.start("pub", *at, "--stdin", stdin=subprocess.PIPE)
    end = time.monotonic() + 60
    while reader.poll() is None and time.monotonic() < end:
        pub.stdin.write('{"at": [0, 0]}\n')
        pub.stdin.flush()
        time.sleep(0.05)
    assert (reader.wait(5), reader.stderr.read()) == (0, "")
    codes = {}
    for name in ("time is over, with a count", "time is over", "ctrl-C"):
        _, err = started[name].communicate(timeout=60)
        codes[name] = started[name].returncode, err
    assert codes == {"time is over, with a count": (1, ""), "time is over": (0, ""), "ctrl-C": (0, "")}
    pub.communicate(timeout=60)
    assert pub.returncode == 0


def test_replay(processes, tmp_path):
    trace = tmp_path / "trace.csv"
    rows = [(t / 10, f"{arena}.{name}", t, 0) for arena in "ab" for t in range(6) for name in ("x", "y")]
    trace.write_text("t,id,x,y\n" + "".join(f"{t},{name},{x},{y}\n" for t, name, x, y in rows))
    _, router = processes.router("--metrics", "127.0.0.1:0")
    at = ["--router", router["address"]]
    sub = processes.start("sub", *at, "--events", "-C", "12", "-W", "60", "--layer", "b")
    in_force(sub)
    code, out, err = processes.run("replay", *at, "--trace", str(trace), "--speed", "4")
    assert (code, err) == (0, "")
    (summary,) = lines(out)
    assert summary["rows"] == summary["published"] == 24 and summary["not_sent"] == 0
    assert summary["seconds"] >= 0.25
    out, _ = sub.communicate(timeout=60)
    got = lines(out)
    assert [(each["attributes"]["id"], each["extent"][0]) for each in got] == [(n, x) for _, n, x, _ in rows[12:]]
    sources = {each["attributes"]["id"]: each["source"] for each in got}
    assert len(set(sources.values())) == 2
    assert [each["sequence"] for each in got] == [n for n in range(6) for _ in "xy"]

    looping = processes.start("replay", *at, "--trace", str(trace), "--speed", "50", "--loop")
    end = time.monotonic() + 60
    while read(router["metrics"]).publications < 200 and time.monotonic() < end:
        time.sleep(0.05)
    looping.send_signal(signal.SIGINT)
    out, err = looping.communicate(timeout=60)
    assert err == "" and lines(out)[0]["published"] >= 24 * 5


def test_every_arena_has_its_own_clock():
    rows = [("a.1", 100.0), ("a.2", 100.0), ("a.1", 102.0), ("b.1", 7.0), ("a.1", 104.0), ("b.1", 9.0)]
    due = [at for at, _ in schedule((Sample(t, name, 0, 0, None) for name, t in rows), 10.0, 2.0)]
    assert due == [10.0, 10.0, 11.0, 11.0, 12.0, 12.0]


def test_bench_and_top(processes):
    _, router = processes.router("--metrics", "127.0.0.1:0")
    bench = processes.start(
        "bench", "--router", router["address"], "--publishers", "2", "--subscribers", "3", "--seconds", "1"
    )
    out, err = bench.communicate(timeout=60)
    (report,) = lines(out)
    assert bench.returncode == (1 if report["lost"] else 0), err
    assert report["published"] > 50 and report["expected"] == 3 * report["published"]
    assert report["received"] == report["expected"] - report["lost"]
    assert 0 < report["latency_ms"]["p50"] <= report["latency_ms"]["p99"] <= report["latency_ms"]["max"]
    assert report["in_force_ms"]["max"] > 0
    assert "lost" in err
    as_json = processes.start("top", router["metrics"], "--once", "--json")
    live = processes.start("top", router["metrics"])
    (snapshot,) = lines(as_json.communicate(timeout=60)[0])
    assert snapshot["publications"] == report["published"]
    assert snapshot["delivered"] == report["received"]
    while "OUT/s" not in (line := live.stdout.readline()):
        assert line, live.stderr.read()
    live.send_signal(signal.SIGINT)
    _, err = live.communicate(timeout=60)
    assert (live.returncode, err) == (0, "")


def test_twistd(processes, tmp_path):
    config = tmp_path / "router.toml"
    config.write_text('listen = "127.0.0.1:0"\nmetrics = "127.0.0.1:0"\n')
    twistd = Path(sys.executable).with_name("twistd")
    serve = [str(twistd), "--nodaemon", "--pidfile=", "cbsmrp"]
    server = processes.python(*serve, "--config", str(config), cwd=tmp_path)
    port = None
    for line in server.stdout:
        if "RouterDriver starting on" in line:
            port = int(line.rsplit(" ", 1)[1])
            break
    assert port is not None, server.stderr.read()
    code, _, err = processes.run("pub", "--router", f"127.0.0.1:{port}", "--at", "1,2")
    assert (code, err) == (0, "")
    busy = processes.python(*serve, "--listen", f"127.0.0.1:{port}", cwd=tmp_path)
    out, err = busy.communicate(timeout=60)
    assert busy.returncode == 1 and "Traceback" not in out + err
    assert "Address already in use: choose another port" in out + err
    server.send_signal(signal.SIGTERM)
    out, err = server.communicate(timeout=60)
    assert "Traceback" not in out + err
