"""M12, agreement: from the first claim until all nodes' agents have heard the word to go, over the loopback."""

import resource
import socket
import statistics
import subprocess
import sys

from figures import BENCH, Row, percentile

NODES = (4, 64, 1000, 4000, 10_000)
MOST_TURNS = 5  # of a figure: the ports of thousands of connections linger for a minute
GOAL_SECONDS, GOAL_GROWTH, GOAL_MB, GOAL_FLOODED = 1.0, 13, 64, 2
FLOOD, HONEST = 10_000, 1000
PATIENCE = 180


def _free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def _start(argv, says):
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    if line.strip() != says:
        process.kill()
        raise RuntimeError(f"{argv} said {line!r} in place of {says!r}")
    return process


def _meet(program, count, flood=None):
    """(seconds, MB of the board's process) of one meeting; `program` is an argv that takes what it is to be."""
    port = _free_port()
    started = [_start([*program, "board", str(count), port], "ready")]
    try:
        if flood:
            started.append(_start([*program, "flood", str(flood), port], "flooding"))
        crowd = subprocess.run([*program, "crowd", str(count), port], capture_output=True, text=True, timeout=PATIENCE)
        if crowd.returncode:
            raise RuntimeError(crowd.stderr)
        started[0].stdin.close()
        memory = started[0].stdout.read().split()
        return float(crowd.stdout.split()[1]), int(memory[1]) / 1024
    finally:
        for process in started:
            process.kill()
            process.wait()


def _row(what, turns, peer, **words):
    """Of turns that are ((seconds, MB), peer's seconds or None)."""
    ours = [one[0][0] for one in turns]
    theirs = [one[1] for one in turns if one[1] is not None]
    ratios = [one[0][0] / one[1] for one in turns if one[1] is not None]
    more = dict(peer=peer, peers=statistics.median(theirs), ratio=statistics.median(ratios), ratio_p95=percentile(ratios, 0.95)) if theirs else {}
    return Row(figure="M12", what=what, unit="s", ours=statistics.median(ours), ours_p95=percentile(ours, 0.95), pairs=len(turns), **more, **words)


def _alone(what, values, unit, goal, met):
    return Row(figure="M12", what=what, unit=unit, goal=goal, met=met, ours=statistics.median(values),
               ours_p95=percentile(values, 0.95), pairs=len(values))


def measure(bench):
    program = bench.helper("agents")
    if program is None:
        print("M12: skipped: bench/agents is not built (-DSAFELAUNCH_BENCH=ON)", file=sys.stderr)
        return []
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    store = [bench.torch_python, str(BENCH / "store_crowd.py")] if bench.torch_python else None
    rows, seconds, memory = [], {}, []
    for nodes in NODES:
        if limit < nodes * 4 // 3 + 256:
            print(f"M12: {nodes} agents skipped: this shell may open {limit} files (ulimit -Hn)", file=sys.stderr)
            continue
        turns = []
        for _ in range(min(bench.pairs, MOST_TURNS)):
            ours = _meet([program], nodes)
            turns.append((ours, _meet(store, nodes)[0] if store else None))
        seconds[nodes] = [one[0][0] for one in turns]
        memory += [one[0][1] for one in turns]
        goal = dict(goal=f"<= {GOAL_SECONDS} s", met=statistics.median(seconds[nodes]) <= GOAL_SECONDS)
        rows.append(_row(f"{nodes:,} agents, first claim until all go", turns, "TCPStore", **goal))
    if {1000, 10_000} <= seconds.keys():
        growth = [large / small for large, small in zip(seconds[10_000], seconds[1000])]
        rows.append(_alone("time of 10,000 to that of 1,000", growth, "x", f"<= {GOAL_GROWTH}", statistics.median(growth) <= GOAL_GROWTH))
    rows.append(_alone("most memory of node 0's process in all of these", [max(memory)], "MB", f"<= {GOAL_MB} MB", max(memory) <= GOAL_MB))
    if limit >= FLOOD * 2:
        rows += _flooded(bench, program)
    return rows


def _flooded(bench, program):
    turns = [(_meet([program], HONEST), _meet([program], HONEST, FLOOD)) for _ in range(bench.pairs)]
    ratios = [flooded[0] / calm[0] for calm, flooded in turns]
    memory = max(flooded[1] for _, flooded in turns)
    words = f"{HONEST:,} agents while {FLOOD:,} strangers idle, send a byte a time, or announce 4 GB: to the time without"
    return [_alone(words, ratios, "x", f"<= {GOAL_FLOODED}", statistics.median(ratios) <= GOAL_FLOODED),
            _alone("node 0's memory then", [memory], "MB", f"<= {GOAL_MB} MB", memory <= GOAL_MB)]
