"""Runs a grid on a cluster of two workers, of which one is killed after every fourth part, at a random moment of its work.

``on_dask`` is on PYTHONPATH. Arguments: the program, the grid, the folder of the dataset. Prints the report and the number of kills
as JSON.
"""

import json
import os
import random
import signal
import sys
import threading

import on_dask
from distributed import Client, LocalCluster

KILLS = 3
"""Largest number of kills: a worker takes some seconds to start."""


def main() -> None:
    program, grid, out = sys.argv[1:]
    draw = random.Random(1)
    written, kills = 0, 0

    def kill(cluster: LocalCluster) -> None:
        nonlocal kills
        workers = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
        if workers:
            os.kill(draw.choice(workers), signal.SIGKILL)
            kills += 1

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:

        def count(_: str) -> None:
            nonlocal written
            written += 1
            if written % 4 == 0 and kills < KILLS:
                threading.Timer(0.2 * draw.random(), kill, [cluster]).start()

        with Client(cluster) as client:
            report = on_dask.sweep(grid, out=out, client=client, program=program, written=count)
    print(json.dumps({"report": report, "kills": kills}))


if __name__ == "__main__":
    main()
