"""T1 to T3 in the paper's network of 1051 routers, on recorded movement, and on a real topology."""

from __future__ import annotations

from pathlib import Path

import pytest

import sim
from sim.scenario.scenario import from_mapping, load

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "scenarios"


def right(row) -> bool:
    return row["missed"] == row["unwanted"] == row["duplicates"] == row["never_in_force"] == 0 < row["expected"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_the_papers_network(seed):
    """Sixty hosts; every other seed, half the areas follow their objects, and publishers are told who listens."""
    table = {"preset": "paper", "hosts": 60, "seconds": 1, "workload": {"rate": 10}, "areas": {"smallest": 0.3}}
    if seed % 2:
        table |= {"source_clipping": True}
    else:
        table["areas"] |= {"move_rate": 1, "subscribers": 30}
    row = sim.run(from_mapping(table), seed).row
    assert right(row) and row["routers"] == 1051 and row["routers_on_tree"] > 60
    assert row["published"] == pytest.approx(600) and row["core_data_received"] < 600


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("recorded", {"seconds": 1, "workload.objects": 28, "hosts": 28}),
        ("real_topology", {"seconds": 1, "hosts": 40}),
    ],
)
def test_recorded_movement_and_a_real_topology(name, changes):
    scenario = load(EXAMPLES / f"{name}.toml", changes)
    file = scenario.workload.file or scenario.topology.file
    if not Path(file).exists():
        pytest.skip(f"{Path(file).name} is not there")
    row = sim.run(scenario, 1).row
    assert right(row) and row["stretch_max"] >= 1 - 1e-9
