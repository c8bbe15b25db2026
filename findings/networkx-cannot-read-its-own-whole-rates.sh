#!/usr/bin/env bash
# networkx 3.6.1 writes a GraphML file that it cannot read itself if a link's rate is a whole number and another's is not: with
# named_key_ids=True, which keeps the names of attributes readable, both types have a key of the same id. Writing prints nothing. Expected: one key
# of type double, or two ids. Reading fails with "invalid literal for int()" or succeeds, depending on which link is first; igraph refuses the file.
# Cause: GraphMLWriter.get_key() in networkx/readwrite/graphml.py makes a key for each pair of name and type, and named_key_ids takes the name as id.
# Versions: networkx 3.6.1, igraph 1.0.0 of PyPI. Control: the same network without named_key_ids, and with one type.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1 igraph==1.0.0
cat > "$work/write.py" <<'PYTHON'
import re
import sys

import igraph
import networkx


def rates(first, second, **options):
    """The ids of the keys, and what networkx and igraph read."""
    graph = networkx.Graph()
    graph.add_edge("Paris", "Lyon", rate=first)
    graph.add_edge("Lyon", "Nice", rate=second)
    networkx.write_graphml(graph, sys.argv[1], **options)
    ids = re.findall(r'<key id="(\w+)"', open(sys.argv[1]).read())
    found = []
    for read in (
        lambda: [rate for *_, rate in networkx.read_graphml(sys.argv[1]).edges(data="rate")],
        lambda: igraph.Graph.Read_GraphML(sys.argv[1]).es["rate"],
    ):
        try:
            found.append(read())
        except Exception as error:  # every reader has its own
            found.append(type(error).__name__)
    print(f"rates {first}, {second} Gbit/s {options}: keys {ids}, networkx {found[0]}, igraph {found[1]}")
    return [ids, *found]


print("networkx", networkx.__version__, "igraph", igraph.__version__)
named = {"named_key_ids": True}
if rates(10.0, 2.5, **named) != [["rate"], [10.0, 2.5], [10.0, 2.5]]:
    sys.exit("the control of one type has changed")
if rates(10, 2.5)[1] != [10, 2.5]:
    sys.exit("the control without names has changed")
if rates(10, 2.5, **named) != [["rate", "rate"], "ValueError", "InternalError"]:
    sys.exit("the behaviour has changed")
if rates(2.5, 10, **named) != [["rate", "rate"], [2.5, 10.0], "InternalError"]:
    sys.exit("the behaviour in the other order has changed")
PYTHON
"$work/venv/bin/python" "$work/write.py" "$work/topology.graphml"
echo "as described: a whole rate before another one makes a file that networkx cannot read"
