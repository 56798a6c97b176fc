"""Every mistake a user can make on the command line: exit code 2, one line on stderr that names it and the remedy."""

import socket

import pytest
from twisted.internet.task import Clock

from cbsmrp.cli.main import VERBS, main
from cbsmrp.cli.pub import Update, parse
from cbsmrp.config import ConfigError, RouterConfig, Timers
from cbsmrp.udp.client import Client
from cbsmrp.udp.router import RouterDriver
from interest import InterestError


def refusal(capsys, *arguments):
    """The one line on stderr of a command that must be refused before it opens any socket."""
    try:
        code = main(arguments)
    except SystemExit as leaving:  # argparse
        code = leaving.code
    out, err = capsys.readouterr()
    assert code == 2, (code, out, err)
    assert out == ""
    assert "Traceback" not in err
    assert err.count("\n") == 1 and err.endswith("\n"), err
    return err


BAD = {
    "no verb": ([], "VERB"),
    "unknown verb": (["rooter"], "'rooter'"),
    "unknown option": (["sub", "--regoin", "x"], "--regoin"),
    "region": (["sub", "--region", "box(1,2,3"], "character 10"),
    "region of no shape": (["sub", "--region", "ball(1,2,3)"], "'ball(1,2,3)', character 1"),
    "region that is inside out": (["sub", "--region", "box(5,0,0,9)"], "box(5,0,0,9)"),
    "polygon that crosses itself": (["sub", "--region", "POLYGON((0 0, 1 1, 1 0, 0 1, 0 0))"], "not a simple polygon"),
    "condition": (["sub", "--where", "speed >> 3"], "column 8"),
    "condition that is not supported": (["sub", "--where", "NOT S_INTERSECTS(geom, BBOX(0,0,1,1))"], "NOT"),
    "count": (["sub", "-C", "none"], "'none'"),
    "count of zero": (["sub", "-C", "0"], "'0'"),
    "seconds": (["sub", "-W", "-1"], "'-1'"),
    "no place": (["pub"], "--at"),
    "place": (["pub", "--at", "1"], "'1'"),
    "negative place": (["pub", "--at", "-1,x"], "'-1,x'"),
    "attribute": (["pub", "--at", "1,2", "--attr", "team"], "'team'"),
    "attribute called layer": (["pub", "--at", "1,2", "--attr", "layer=a"], "--layer"),
    "place and stdin": (["pub", "--at", "1,2", "--stdin"], "--stdin"),
    "no trace": (["replay", "--trace", "missing.csv"], "missing.csv"),
    "speed": (["replay", "--trace", "missing.csv", "--speed", "0"], "--speed 0"),
    "metrics address": (["top", "nowhere"], "'nowhere'"),
    "no metrics": (["top", "127.0.0.1:9"], "127.0.0.1:9"),
    "publishers": (["bench", "--publishers", "0"], "--publishers 0"),
    "size": (["bench", "--size", "1"], "--size 1"),
    "listen": (["router", "--listen", "9000"], "'9000'"),
    "upstream": (["router", "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:0"], "port 0"),
    "metrics": (["router", "--listen", "127.0.0.1:0", "--metrics", "here"], "'here'"),
    "no configuration": (["router", "--config", "missing.toml"], "missing.toml"),
}


@pytest.mark.parametrize("case", BAD)
def test_refused_at_once(capsys, case):
    arguments, named = BAD[case]
    assert named in refusal(capsys, *arguments)


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"mode": "multicast"}, "'multicast'.*flooding, shared-tree"),
        ({"listen": "no-such-host.invalid:9000"}, "no-such-host.invalid"),
        ({"upstreams": ("[::1]:9000",)}, "::1.*both as IPv4, or both as IPv6"),
    ],
)
def test_a_router_that_cannot_be(config, named):
    from twisted.internet import reactor

    with pytest.raises(ConfigError, match=named):
        RouterDriver(reactor, RouterConfig(**config)).listen()


@pytest.mark.parametrize(
    ("routers", "named"),
    [
        (["nowhere"], "'nowhere'"),
        (["127.0.0.1:99999"], "'99999'"),
        (["udp:no-such-host.invalid:9000"], "no-such-host.invalid"),
        (["127.0.0.1:9000", "[::1]:9000"], "IPv6"),
    ],
)
def test_routers_that_cannot_be(routers, named):
    with pytest.raises(ConfigError, match=named):
        Client(Clock(), routers, Timers(), False, 4096)


def test_a_trace_and_a_configuration_are_named_by_line(capsys, tmp_path):
    trace = tmp_path / "trace.csv"
    trace.write_text("t,id,x,y\n0,a,1,2\n1,a,three,4\n")
    toml = tmp_path / "router.toml"
    toml.write_text('listen = "127.0.0.1:0"\nupstream = ["127.0.0.1:9000"]\n')
    unknown = refusal(capsys, "router", "--config", str(toml))
    assert f"{toml}: unknown key 'upstream': did you mean 'upstreams'?" in unknown
    toml.write_text('listen = "127.0.0.1:0"\n[timers]\nhello = "often"\n')
    assert "hello = 'often'" in refusal(capsys, "router", "--config", str(toml))
    toml.write_text("listen = \n")
    assert f"{toml}:1: not TOML" in refusal(capsys, "router", "--config", str(toml))
    trace.write_text("t,id,x,y\n0,a,three,4\n")
    assert f"{trace}:2" in refusal(capsys, "replay", "--trace", str(trace))


@pytest.mark.udp
def test_refused_by_the_world(processes, tmp_path, free_port):
    """Nobody there, port taken, and what else shows only when sockets are opened. All at once, for each waits."""
    trace = tmp_path / "trace.csv"
    trace.write_text("t,id,x,y\n0,a,1,2\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken, socket.socket() as taken_tcp:
        taken.bind(("127.0.0.1", 0))
        taken_tcp.bind(("127.0.0.1", 0))
        taken_tcp.listen()
        nobody = f"127.0.0.1:{free_port}"
        busy = f"127.0.0.1:{taken.getsockname()[1]}"
        busy_tcp = f"127.0.0.1:{taken_tcp.getsockname()[1]}"
        cases = {
            "mode": (["router", "--listen", "127.0.0.1:0", "--mode", "multicast"], "flooding, shared-tree"),
            "port": (["router", "--listen", busy], f"{busy}': Address already in use: choose another port"),
            "metrics": (["router", "--listen", "127.0.0.1:0", "--metrics", busy_tcp], "Address already in use"),
            "nobody": (["sub", "--router", nobody], f"no router at {nobody} within 3 s"),
            "nobody either": (["replay", "--trace", str(trace), "--router", nobody], "start it, or give another"),
        }
        started = {case: processes.start(*arguments) for case, (arguments, _) in cases.items()}
        for case, process in started.items():
            out, err = process.communicate(timeout=60)
            assert process.returncode == 2, (case, err)
            assert out == "", case
            assert "Traceback" not in err
            assert err.count("\n") == 1, err
            assert cases[case][1] in err, case


@pytest.mark.udp
def test_refused_with_a_router(processes, tmp_path):
    _, router = processes.router()
    at = ["--router", router["address"]]
    good, bad = '{"at": [1, 2]}\n', '{"at": [1, "two"]}\n'
    trace = tmp_path / "trace.csv"
    trace.write_text("t,id,x,y\n0,a,1,2\n0,a,three,4\n")
    replay = processes.start("replay", *at, "--trace", str(trace))
    too_long = processes.start("pub", *at, "--at", "1,2", "--payload", "x" * 5000)
    code, _, err = processes.run("pub", *at, "--stdin", text=good + bad)
    assert code == 2 and err == 'cbsmrp pub: line 2: "at" is [1, "two"]: give [x, y] or [x, y, z]\n'
    out, err = replay.communicate(timeout=60)
    assert replay.returncode == 2 and err.count("\n") == 1 and f"{trace}:3" in err
    assert '"rows": 1' in out
    _, err = too_long.communicate(timeout=60)
    assert too_long.returncode == 2 and err.count("\n") == 1 and "1400" in err


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (b"{", "line 7, character 2: not JSON"),
        (b"\xff", "line 7: not JSON in UTF-8"),
        (b"[1, 2]", "line 7: [1, 2] is not an object"),
        (b'{"where": [1, 2]}', 'line 7: unknown key "where"'),
        (b'{"at": [1, 2, 3, 4]}', "give [x, y] or [x, y, z]"),
        (b'{"at": [NaN, 2]}', "NaN"),
        (b'{"at": [1, true]}', '"at" is [1, true]'),
        (b'{"layer": 7}', '"layer" is 7'),
        (b'{"attributes": [1]}', '"attributes" is [1]'),
        (b'{"attributes": {"a": null}}', "attribute 'a' is null"),
        (b'{"attributes": {"a": {"b": 1}}}', "attribute 'a'"),
        (b'{"attributes": {"layer": "b"}}', '"layer"'),
        (b'{"attributes": {"": 1}}', "name"),
        (b'{"payload": 7}', '"payload" is 7'),
        (b'{"payload": {"base64": "*"}}', '"payload" is not base64'),
    ],
)
def test_lines_of_standard_input(line, named):
    with pytest.raises(InterestError) as refused:
        parse(line, Update(), 7)
    assert str(refused.value).startswith("line 7")
    assert named in str(refused.value)


def test_help_and_version(capsys):
    for arguments in (["--help"], ["--version"], *([verb, "--help"] for verb in VERBS if verb != "demo")):
        with pytest.raises(SystemExit) as leaving:
            main(arguments)
        assert leaving.value.code == 0
        assert "cbsmrp" in capsys.readouterr().out
