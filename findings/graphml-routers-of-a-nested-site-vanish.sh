#!/usr/bin/env bash
# A GraphML topology whose sites contain their routers (a graph within a node, as the format and its editors have it) loses them without a
# word in networkx and in igraph: of a site with three routers and two links only the router stays that a link from outside names, without its
# attributes, and the two links are gone. Both libraries agree, so that a comparison finds nothing; paths have fewer hops than the network.
# networkx's manual says that nested graphs are not supported, but it refuses hyperedges with an error and nested graphs with none.
# Cause: GraphMLReader.make_graph() in networkx/readwrite/graphml.py takes the direct children of a graph; igraph's parser skips the inner one.
# Versions: networkx 3.6.1, igraph 0.11.8. Control: the same nodes and links without the site around them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1 igraph==0.11.8
cd "$work"
venv/bin/python - <<'PYTHON'
import sys

import igraph
import networkx

SITE = """<node id="a"><data key="r">10</data></node><node id="b"/><node id="c"/>
<edge source="a" target="b"/><edge source="b" target="c"/>"""
FILES = {
    "flat": SITE,
    "nested": f'<node id="site"><graph id="inner" edgedefault="undirected">{SITE}</graph></node>',
}


def read(name):
    """Nodes with the attribute and links of the topology, as each library reads it."""
    with open(name, "w") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">')
        file.write('<key id="r" for="node" attr.name="rank" attr.type="int"/><graph edgedefault="undirected"><node id="core"/>')
        file.write(FILES[name] + '<edge source="core" target="a"/></graph></graphml>')
    one, other = networkx.read_graphml(name), igraph.Graph.Read_GraphML(name)
    names = other.vs["id"]
    return {
        "networkx": (sorted(one.nodes), sorted("".join(sorted(edge)) for edge in one.edges), one.nodes["a"].get("rank")),
        "igraph": (
            sorted(names),
            sorted("".join(sorted((names[edge.source], names[edge.target]))) for edge in other.es),
            int(rank) if (rank := other.vs.find(id="a")["rank"]) == rank else None,
        ),
    }


print("networkx", networkx.__version__, "igraph", igraph.__version__)
flat, nested = read("flat"), read("nested")
for library in flat:
    print(f"{library}: nodes, links, rank of a: flat {flat[library]}, nested {nested[library]}")
if any(result != (["a", "b", "c", "core"], ["ab", "acore", "bc"], 10) for result in flat.values()):
    sys.exit("the control has changed")
if any(result != (["a", "core", "site"], ["acore"], None) for result in nested.values()):
    sys.exit("the behaviour has changed")
PYTHON
echo "as described: the routers and links of the site are gone"
