"""Skipped tests go to the list that `make test` prints at its end (`tools/skipped`)."""

import os


def pytest_runtest_logreport(report):
    """Adds a line to the file that FIRSTFLIGHT_SKIPPED names: program, test and reason, with tabs between them."""
    path = os.environ.get("FIRSTFLIGHT_SKIPPED")
    if report.skipped and path:
        reason = " ".join(report.longrepr[2].split())
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"pytest\t{report.nodeid}\t{reason}\n")
