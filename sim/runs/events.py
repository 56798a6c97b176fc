"""Runs a scenario as events: real engines on virtual links, every datagram encoded, sent, decoded and matched.

`run(scenario, seed)` is what `sim.run`, `cbsmrp sim run` and sweeps call. `load` computes the network load of a
converged tree without events, faster by orders of magnitude, and agrees with this link by link wherever both apply.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import attrs

from sim.network import Sent
from sim.runs.counting import Counting, all_of
from sim.runs.event_trace import EventTrace
from sim.runs.measures import measure
from sim.runs.pcap import Capture
from sim.runs.play import Play
from sim.runs.results import Results
from sim.scenario.scenario import Scenario

#: How often `progress` is called while the workload runs.
STEPS = 200


@attrs.frozen
class Progress:
    """`phase` is "joining" or "running", `share` how much of it is done."""

    phase: str
    share: float


def run(
    scenario: Scenario,
    seed: int,
    *,
    progress: Callable[[Progress], bool | None] | None = None,
    trace: str | Path | None = None,
    pcap: tuple[str, str, str | Path] | None = None,
) -> Results:
    """Let the scenario run with this seed, and measure. Everything is the same for the same seed, on any machine.

    `progress` is called now and then; if it returns False, the run ends there and then, and the results are those of
    the time until then (`complete` says so). `trace` is a Parquet file for all events (`event_trace`), `pcap` the two
    ends of a link and the file for what crosses it. Raises ConfigError for what is wrong with the scenario, such as one
    in which not everything comes into force within `scenario.settle` seconds, and TraceError for its recorded trace.
    """
    play = Play(scenario, seed)
    counting = Counting()
    listeners: list[Callable[[Sent], None]] = [counting]
    with ExitStack() as stack:
        if pcap is not None:
            *ends, path = pcap
            listeners.append(stack.enter_context(Capture.open(path, play.addresses(*map(str, ends)))))
        if trace is not None:
            listeners.append(stack.enter_context(EventTrace.open(trace, play.network, play.hosts)).sent)
        play.network.trace = all_of(listeners)
        complete = _through(play, counting, progress or (lambda _: None))
    return measure(play, counting, complete)


def _through(play: Play, counting: Counting, tell: Callable[[Progress], bool | None]) -> bool:
    """Whether it ran to its end."""
    scenario = play.scenario
    for share in play.join():
        if tell(Progress("joining", share)) is False:
            return False
    play.require_in_force()
    play.begin()
    warm = round(STEPS * scenario.warm_up / scenario.duration)
    complete = True
    for first, last, steps in ((0.0, scenario.warm_up, warm), (scenario.warm_up, scenario.duration, STEPS - warm)):
        if last == scenario.duration:
            play.measure_from_now()
            counting.begin(play.sequences())
        for t in play.go(first, last, max(steps, 1)) if complete else ():
            if tell(Progress("running", t / scenario.duration)) is False:
                complete = False
                break
    counting.end()
    play.finish()
    return complete
