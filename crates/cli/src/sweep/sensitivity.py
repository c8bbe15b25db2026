"""Sobol indices of a sweep over a sample of kind "saltelli", by SALib.

Arguments: the folder of the dataset, the measure. Prints an array of JSON objects: for each combination of the crossed factors, each
scheme and size, and each sampled key, the first-order and the total index with the half-widths of their 95 % intervals, of the
measure itself and of its ratio to the first scheme: the ratio is the answer of a comparison.
"""

import json
import sys
from pathlib import Path

import numpy
import pyarrow.parquet
from SALib.analyze import sobol


def main() -> None:
    out, measure = sys.argv[1:]
    order = json.load(sys.stdin)
    keys, points, schemes = order["keys"], order["points"], order["schemes"]
    columns = ["cell", "scheme", "size_bytes", measure]
    sums: dict[tuple[int, int | None, str], list[numpy.ndarray]] = {}
    for path in sorted(Path(out).glob("part=*/*.parquet")):
        table = pyarrow.parquet.ParquetFile(path).read(columns=columns)
        for cell, scheme, size, value in zip(*(table[name].to_pylist() for name in columns)):
            block, point = divmod(cell, points)
            total, count = sums.setdefault((block, size, scheme), [numpy.zeros(points), numpy.zeros(points)])
            total[point] += numpy.nan if value is None else value
            count[point] += 1
    schemes = schemes or sorted({scheme for _, _, scheme in sums})
    means = {key: total / count for key, (total, count) in sums.items()}
    problem = {"num_vars": len(keys), "names": keys, "bounds": [[0.0, 1.0]] * len(keys)}
    rows = []
    for (block, size, scheme), values in sorted(means.items(), key=lambda item: (item[0][0], item[0][1] or 0, schemes.index(item[0][2]))):
        of = [(measure, values)]
        if scheme != schemes[0]:
            first = means[block, size, schemes[0]]
            of.append((f"{measure} / {schemes[0]}", values / first))
        for name, y in of:
            if not numpy.isfinite(y).all():
                missing = int((~numpy.isfinite(y)).sum())
                sys.exit(f"{name} of {scheme} has no value at {missing} of {points} points; expected a value at all")
            # Of a value that never changes, no share belongs to any key.
            constant = float(numpy.ptp(y)) == 0.0
            index = None if constant else sobol.analyze(problem, y, calc_second_order=False, seed=1)
            for at, key in enumerate(keys):
                row = {"block": block, "size_bytes": size, "scheme": scheme, "of": name, "key": key}
                for field, source in [("first", "S1"), ("first_half_width", "S1_conf"), ("total", "ST"), ("total_half_width", "ST_conf")]:
                    row[field] = 0.0 if constant else float(index[source][at])
                rows.append(row)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
