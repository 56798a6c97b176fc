"""The demo as a user runs it, on real processes and sockets: a short run, and that nothing outlives it."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cbsmrp.cli.main import main
from cbsmrp.cli.scrape import Snapshot, VifRow
from sim.demo.overlay import TREE, Progress
from sim.demo.processes import DemoError, Processes
from sim.demo.show import Screen

pytestmark = [pytest.mark.udp, pytest.mark.slow]


def test_a_short_run(tmp_path, capfd):
    code = main(["demo", "--seconds", "1.5", "--rate", "250", "--seed", "3", "--out", str(tmp_path)])
    out, err = capfd.readouterr()
    assert code == 0, out + err
    assert out.endswith(f"Summary as JSON: {tmp_path / 'summary.json'}\n")
    assert "\x1b" not in err
    assert "core" in err and "leaf3" in err
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["ok"] and summary["settings"]["seed"] == 3
    clipping, no_clipping = summary["clipping"], summary["no_clipping"]
    for run in (clipping, no_clipping):
        assert run["publications"] == pytest.approx(375, rel=0.1)
        assert run["expected"] > 100
        assert (run["missed"], run["unwanted"], run["duplicates"]) == (0, 0, 0)
        assert run["in_force_p99_seconds"] >= run["in_force_p50_seconds"] > 0
    assert clipping["publications"] == no_clipping["publications"]
    # Not clipped, every publication reaches the core.
    assert no_clipping["routers"]["core"]["packets_in"] == no_clipping["publications"]
    assert clipping["core_packets_per_publication"] < no_clipping["core_packets_per_publication"]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_it(tmp_path, number):
    command = [sys.executable, "-m", "cbsmrp.cli.main", "demo", "--seconds", "30", "--out", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as demo:
        assert demo.stderr is not None
        while "published" not in demo.stderr.readline():
            assert demo.poll() is None
        children = Path(f"/proc/{demo.pid}/task/{demo.pid}/children").read_text().split()
        assert len(children) == len(TREE) + 2
        demo.send_signal(number)
        _, err = demo.communicate()
    if number != signal.SIGKILL:
        assert demo.returncode == 130
        assert err.splitlines()[-1] == "cbsmrp demo: interrupted, all processes have ended"
        assert "Traceback" not in err
    else:
        until = time.monotonic() + 20
        while any(map(alive, children)) and time.monotonic() < until:
            time.sleep(0.05)
    assert not any(map(alive, children))


def alive(pid):
    """Still there, and still what it was."""
    try:
        return "sim.demo.child" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def test_a_router_that_does_not_start_is_one_clear_line(tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as busy, Processes(tmp_path) as processes:
        busy.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{busy.getsockname()[1]}"
        router = processes.start("router", "leaf0")
        router.tell({"arguments": ["--listen", address]})
        with pytest.raises(DemoError, match=rf"^leaf0 has ended \(exit code 2\): .*{address}.*in use.*$"):
            router.hear_of("address", 30)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--seconds", "0"], "'0': give a number above 0"),
        (["--trace", "nowhere.csv"], "nowhere.csv: cannot be read"),
        (["--out", f"{__file__}/out"], "choose another place"),
    ],
)
def test_mistakes_of_the_user(tmp_path, capfd, options, complaint):
    try:
        code = main(["demo", "--out", str(tmp_path), *options])
    except SystemExit as refused:  # argparse's way
        code = refused.code
    out, err = capfd.readouterr()
    assert code == 2 and out == ""
    assert complaint in err.splitlines()[-1]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_table_is_drawn_over_itself_on_a_terminal_only(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    row = VifRow("2", "downstream", "", packets_in=12345, packets_out=678, filtered=90)
    progress = Progress("with clipping", 10.0, at=4.0, routers={name: Snapshot(vifs=[row]) for name in TREE})
    live, plain = Terminal(), io.StringIO()
    for stream in (live, plain):
        screen = Screen(stream)
        screen.say("begin")
        for _ in range(3):
            screen.update(progress)
        screen.finish(progress)
        screen.say("end")
    height = 2 + len(TREE)
    assert live.getvalue().count(f"\x1b[{height}A\x1b[J") == 3
    assert "\x1b" not in plain.getvalue()
    assert plain.getvalue().count("12345") == len(TREE)  # the last state once, and no table before
    assert os.linesep + "end" in plain.getvalue()
