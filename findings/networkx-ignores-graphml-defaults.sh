#!/usr/bin/env bash
# networkx does not give the links of a GraphML file their default values: a key with <default>10</default> for the rate of a link leaves each link
# that states no rate of its own without the attribute, and code that uses .get("rate", own_default), or weighs paths by it (weight 1 for a missing
# attribute), computes with another number. igraph reads the same file with the defaults, as the GraphML specification has it, so that
# the shortest path of one file differs between the two libraries.
# Cause: GraphMLReader.make_graph() in networkx/readwrite/graphml.py keeps the defaults in G.graph["edge_default"] alone.
# Versions: networkx 3.6.1, igraph 0.11.8. Control: the links with a value of their own, equal in both.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1 igraph==0.11.8
cat > "$work/topology.graphml" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d" for="edge" attr.name="delay" attr.type="double"><default>10</default></key>
  <graph edgedefault="undirected">
    <node id="a"/>
    <node id="b"/>
    <node id="c"/>
    <edge source="a" target="b"/>
    <edge source="a" target="c"><data key="d">3</data></edge>
    <edge source="c" target="b"><data key="d">4</data></edge>
  </graph>
</graphml>
XML
"$work/venv/bin/python" - "$work/topology.graphml" <<'PYTHON'
import sys

import igraph
import networkx

print("networkx", networkx.__version__, "igraph", igraph.__version__)
one, other = networkx.read_graphml(sys.argv[1]), igraph.Graph.Read_GraphML(sys.argv[1])
names = other.vs["id"]
delays = {
    "networkx": {"".join(sorted((a, b))): data.get("delay") for a, b, data in one.edges(data=True)},
    "igraph": {"".join(sorted((names[edge.source], names[edge.target]))): edge["delay"] for edge in other.es},
}
paths = {
    "networkx": networkx.shortest_path(one, "a", "b", weight="delay"),
    "igraph": [names[vertex] for vertex in other.get_shortest_paths(names.index("a"), names.index("b"), weights="delay")[0]],
}
for library in delays:
    print(f"{library}: delays {delays[library]}, least delay from a to b by {paths[library]}")
if any(table["ac"] != 3 or table["bc"] != 4 for table in delays.values()):
    sys.exit("the control has changed")
if delays["networkx"]["ab"] is not None or delays["igraph"]["ab"] != 10:
    sys.exit("the behaviour has changed")
if paths != {"networkx": ["a", "b"], "igraph": ["a", "c", "b"]}:
    sys.exit("the behaviour has changed")
PYTHON
echo "as described: one file, two routes"
