"""Parts of a sweep, made by the workers of a Dask cluster.

A worker runs the program ``firstflight`` in a folder of its own and returns the files of its parts, so that workers and client
need no common file system. The client writes each part as it comes. A worker that dies loses the parts in its work and nothing
else. The dataset has the same bytes as one that is made by threads of one process.

    from dask.distributed import Client

    report = sweep("grid.toml", out="sweep", client=Client("tcp://10.0.0.1:8786"))

``firstflight sweep --executor dask`` has this file in it, and gives its order as JSON on standard input; a line is printed for each
part. The workers need Dask and the program, not this file.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

try:
    import fcntl
except ImportError:  # A system without these locks.
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from distributed import Client

PROGRAM = "firstflight"

DEATHS = 20
"""Workers that may die over the same part, one after another, before the sweep fails."""


def make(program: str, grid: str, memory: str, parts: str) -> list[tuple[str, bytes]]:
    """Make parts of a grid in a temporary folder; runs on a worker.

    Args:
        program: path of the program; the one on ``PATH`` is taken where there is no such file.
        grid: text of the grid, which names no other file.
        memory: limit of the memory of a run, such as ``"4 GB"``.
        parts: numbers and ranges of the parts, such as ``"0-9,12"``.

    Returns:
        Path in the dataset and content of each file.

    Raises:
        RuntimeError: if the program fails, with its message.
    """
    if not os.path.isfile(program):
        program = shutil.which(PROGRAM) or program
    with tempfile.TemporaryDirectory(prefix="firstflight-") as folder:
        file, out = Path(folder, "grid.toml"), Path(folder, "out")
        file.write_text(grid, encoding="utf-8")
        command = [program, "sweep", str(file), "--out", str(out), "--threads", "1", "--memory", memory, "--parts", parts]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"parts {parts}: {done.stderr.strip() or done.returncode}")
        return [(path.relative_to(out).as_posix(), path.read_bytes()) for path in sorted(out.glob("part=*/*.parquet"))]


def lock(file: IO[bytes]) -> bool:
    """Ask for the lock of a file, which ends with its process; false if another process has it.

    A file system without locks gives it to everybody.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


@contextlib.contextmanager
def alone(out: Path) -> Iterator[None]:
    """Keep other sweeps out of a dataset, as the program does.

    Raises:
        RuntimeError: if another sweep is at work on it.
    """
    manifest = out / "_sweep.json"
    with open(manifest, "rb+") as file:
        if not lock(file):
            raise RuntimeError(f"{manifest}: another sweep is at work on this dataset; expected its end, or another folder")
        yield


def write(out: Path, name: str, content: bytes) -> None:
    """Write a file of the dataset; it appears under its name only when it is whole."""
    path = out / name
    path.parent.mkdir(parents=True, exist_ok=True)
    for number in itertools.count():
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{number}.part")
        try:
            file = open(temporary, "xb")
        except FileExistsError:
            continue
        with file:
            # What is locked is no leftover of a process that has ended.
            lock(file)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, path)
        return


def run(
    client: Client,
    jobs: Iterable[str],
    *,
    program: str,
    grid: str,
    memory: str,
    out: Path,
    written: Callable[[str], None],
) -> None:
    """Give the jobs to the workers of `client`, and write the parts as they come.

    At most four jobs for each thread of the cluster are with the scheduler, so that memory holds as many parts. `written` is
    called with each job once its files are written.

    Raises:
        RuntimeError: if a job fails on a worker, or twenty workers die over it.
    """
    from distributed import KilledWorker, as_completed

    waiting = iter(jobs)
    deaths: dict[str, int] = {}
    of: dict[Any, str] = {}

    def submit(job: str) -> Any:
        future = client.submit(make, program, grid, memory, job, pure=False)
        of[future.key] = job
        return future

    threads: Any = client.nthreads()
    window = max(8, 4 * sum(threads.values()))
    completed = as_completed([submit(job) for _, job in zip(range(window), waiting)])
    for future in completed:
        job = of.pop(future.key)
        try:
            files = future.result()
        except KilledWorker as killed:
            # The scheduler gives up a job after three deaths, as if the job were the cause.
            deaths[job] = deaths.get(job, 0) + 1
            if deaths[job] * 4 > DEATHS:
                raise RuntimeError(f"parts {job}: {DEATHS} workers have died over them") from killed
            completed.add(submit(job))
            continue
        for name, content in files:
            write(out, name, content)
        written(job)
        following = next(waiting, None)
        if following is not None:
            completed.add(submit(following))


def sweep(
    grid: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] = "out",
    client: Client,
    program: str = PROGRAM,
    memory: str = "4 GB",
    written: Callable[[str], None] = lambda job: None,
) -> dict[str, Any]:
    """Run a grid on the workers of `client`; go on where an earlier call or command has stopped.

    Args:
        grid: the grid file, ``GRID.toml``.
        out: folder of the dataset.
        client: the Dask client.
        program: path of the program ``firstflight`` here and on the workers.
        memory: limit of the memory of a run.
        written: called with the number of each part that is written.

    Returns:
        The object that ``firstflight sweep --json`` prints: ``open`` is empty if the dataset is complete.

    Raises:
        ValueError: if the grid is wrong, with the message of the program.
        RuntimeError: if a part fails on a worker, or another sweep is at work on the dataset.
    """
    program = shutil.which(program) or program

    def begin() -> dict[str, Any]:
        command = [program, "sweep", os.fspath(grid), "--out", os.fspath(out), "--memory", memory, "--begin", "--json"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ValueError(done.stderr.strip().removeprefix("error: "))
        return json.loads(done.stdout)

    report = begin()
    before = report["parts_before"]
    ranges = (part.partition("-") for part in report["open"].split(",") if part)
    jobs = (str(part) for low, _, high in ranges for part in range(int(low), int(high or low) + 1))
    text = json.loads(Path(out, "_sweep.json").read_text(encoding="utf-8"))["grid"]
    with alone(Path(out)):
        run(client, jobs, program=program, grid=text, memory=memory, out=Path(out), written=written)
    report = begin()
    report["parts_before"], report["parts_made"] = before, report["parts_before"] - before
    return report


def main() -> None:
    """Carry out the order on standard input."""
    from distributed import Client, LocalCluster

    order = json.load(sys.stdin)
    own = order["scheduler"] is None
    settings: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None}
    at = LocalCluster(**settings) if own else order["scheduler"]
    with Client(at) as client:
        run(
            client,
            order["jobs"],
            program=order["program"],
            grid=order["grid"],
            memory=order["memory"],
            out=Path(order["out"]),
            written=lambda job: print(job, flush=True),
        )
    if own:
        at.close()


if __name__ == "__main__":
    main()
