"""Configuration: files, defaults, and for each mistake a line that names it."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbsmrp.config import ConfigError, Limits, RouterConfig, Timers, load, parse_address


def test_a_whole_file(tmp_path):
    path = tmp_path / "router.toml"
    path.write_text(
        """
        listen = "[::1]:9000"
        upstreams = ["core.example:9000", "127.0.0.1:9001"]
        mode = "flooding"
        clipping = false
        metrics = "127.0.0.1:9100"
        [timers]
        hello = 2
        hold = 7.5
        [limits]
        pieces = 10
        """
    )
    assert load(path) == RouterConfig(
        listen="[::1]:9000",
        upstreams=("core.example:9000", "127.0.0.1:9001"),
        mode="flooding",
        clipping=False,
        metrics="127.0.0.1:9100",
        timers=Timers(hello=2.0, hold=7.5),
        limits=Limits(pieces=10),
    )


def test_an_empty_file_is_the_default(tmp_path):
    path = tmp_path / "router.toml"
    path.touch()
    assert load(path) == RouterConfig()


def to_toml(value):
    if isinstance(value, tuple):
        return "[" + ", ".join(to_toml(each) for each in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def test_every_field_can_be_written(tmp_path):
    lines = []
    config = RouterConfig(upstreams=("127.0.0.1:1",), metrics="127.0.0.1:2", budget=7)
    for name, value in attrs.asdict(config, recurse=False).items():
        if name not in ("timers", "limits"):
            lines.append(f"{name} = {to_toml(value)}")
    for name in ("timers", "limits"):
        lines.append(f"[{name}]")
        lines += [f"{key} = {to_toml(value)}" for key, value in attrs.asdict(getattr(config, name)).items()]
    path = tmp_path / "router.toml"
    path.write_text("\n".join(lines))
    assert load(path) == config


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('lisen = "127.0.0.1:1"', ": unknown key 'lisen': did you mean 'listen'?"),
        ("zzz = 1", ": unknown key 'zzz': the keys are listen, upstreams"),
        ("[timers]\nhelo = 1", ": unknown key 'helo' in [timers]: did you mean 'hello'?"),
        ("[limit]\npieces = 1", ": unknown key 'limit': did you mean 'limits'?"),
        ("timers = 3", ": timers = 3: give a table, [timers]"),
        ("listen = 9000", ": listen = 9000: give HOST:PORT"),
        ('listen = "9000"', ": listen = '9000': give HOST:PORT"),
        ('upstreams = "127.0.0.1:1"', ": upstreams = '127.0.0.1:1': give a list"),
        ('upstreams = ["a:1", "b"]', ": upstreams = 'b': give HOST:PORT"),
        ('upstreams = ["a:0"]', ": upstreams: 'a:0' has port 0"),
        ("upstreams = [1]", ": upstreams = 1: give HOST:PORT"),
        ('clipping = "no"', ": clipping = 'no': give true or false"),
        ("clipping = 0", ": clipping = 0: give true or false"),
        ("mode = 1", ": mode = 1: give a text in quotes"),
        ("budget = 0", ": budget = 0: give a whole number, at least 1"),
        ("budget = 1.5", ": budget = 1.5: give a whole number, at least 1"),
        ("budget = true", ": budget = True: give a whole number, at least 1"),
        ("datagram_bytes = 70000", ": datagram_bytes = 70000: give at most 65507"),
        ('metrics = "here"', ": metrics = 'here': give HOST:PORT"),
        ("[timers]\nhello = 0", ": hello = 0.0: give a number above 0"),
        ("[timers]\nhello = nan", ": hello = nan: give a number above 0"),
        ("[timers]\nhello = true", ": hello = True: give a number above 0"),
        ('[timers]\nlinger = "2"', ": linger = '2': give a number at least 0"),
        ("[timers]\nlinger = -1", ": linger = -1.0: give a number at least 0"),
        ("[timers]\nhello = 2", ": hold = 3.5: give more than twice hello (2.0)"),
        ("[timers]\nhost_hold = 20", ": host_hold = 20.0: give more than twice host_hello (10.0)"),
        ("[timers]\nresend = 3", ": resend_max = 1.0: give at least resend (3.0)"),
        ("[limits]\npieces = 0", ": pieces = 0: give a whole number, at least 1"),
        ("budget = 1\nbudget =", ":2: not TOML: "),
        ("budget = 1\nbudget = 2\n", ":2: not TOML: "),
        ("budget = 1\n[timers", ":2: not TOML: "),
    ],
)
def test_a_mistake_is_named(tmp_path, text, complaint):
    path = tmp_path / "router.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}{complaint}") and "\n" not in str(caught.value)


def test_an_unreadable_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read: No such file"):
        load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"bytes\.toml: not text in UTF-8"):
        load(tmp_path / "bytes.toml")


@given(st.ip_addresses() | st.from_regex(r"[a-z][a-z0-9-]{0,20}(\.[a-z]{2,5})?", fullmatch=True), st.integers(0, 65535))
def test_addresses(host, port):
    text = f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
    assert parse_address(text) == (str(host), port)


@pytest.mark.parametrize(
    "text",
    ["", ":1", "host", "host:", "host:x", "host:65536", "host:-1", "host:+1", "::1:9000", "[::g]:1", "a b:1", "host:١"],
)
def test_a_malformed_address_is_refused(text):
    with pytest.raises(ConfigError) as caught:
        parse_address(text)
    assert repr(text) in str(caught.value)
