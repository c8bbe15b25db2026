#!/usr/bin/env bash
# python-igraph 1.0.0 reads the ids of a GraphML file's edges as the ids of its NODES: the n-th edge has the name of the n-th node, and edges
# beyond the number of nodes have an empty one. Nothing is printed; a topology's links, which measurements and routes refer to by id, have
# plausible wrong names. Attributes of links are read rightly, and release 0.11.8 reads the ids, too.
# Cause: igraph_i_graphml_parser_state_finish_parsing() in src/io/graphml.c of the C core fills the links' ids from the trie of the nodes; a
# later release of the core mends it.
# Versions: igraph 1.0.0 of PyPI. Control: igraph 0.11.8 and the ids of the nodes in both.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/topology.graphml" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d" for="edge" attr.name="delay" attr.type="double"/>
  <graph edgedefault="undirected">
    <node id="Paris"/>
    <node id="Lyon"/>
    <node id="Nice"/>
    <edge id="north" source="Paris" target="Lyon"><data key="d">2.0</data></edge>
    <edge id="south" source="Lyon" target="Nice"><data key="d">1.5</data></edge>
    <edge id="west" source="Paris" target="Nice"><data key="d">4.5</data></edge>
    <edge id="spare" source="Paris" target="Nice"><data key="d">5.5</data></edge>
  </graph>
</graphml>
XML
cat > "$work/read.py" <<'PYTHON'
import sys

import igraph

graph = igraph.Graph.Read_GraphML(sys.argv[1])
print("igraph", igraph.__version__, "nodes", graph.vs["id"], "links", graph.es["id"], "delays", graph.es["delay"])
if graph.vs["id"] != ["Paris", "Lyon", "Nice"] or graph.es["delay"] != [2.0, 1.5, 4.5, 5.5]:
    sys.exit("the control has changed")
expected = {"0.11.8": ["north", "south", "west", "spare"], "1.0.0": ["Paris", "Lyon", "Nice", ""]}
if graph.es["id"] != expected[igraph.__version__]:
    sys.exit("the behaviour has changed")
PYTHON
for version in 0.11.8 1.0.0; do
    python3 -m venv "$work/$version"
    "$work/$version/bin/pip" install --quiet --disable-pip-version-check "igraph==$version"
    "$work/$version/bin/python" "$work/read.py" "$work/topology.graphml"
done
echo "as described: 1.0.0 gives the links the names of the nodes"
