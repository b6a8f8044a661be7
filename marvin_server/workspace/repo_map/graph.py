"""PageRank from some files outward: which others matter to those who read these.

The push method of Andersen, Chung and Lang, "Local Graph Partitioning using PageRank Vectors" (2006): its work depends
on the tolerance and not on the size of the graph, of which it sees no more than it needs.
"""

from collections import deque
from collections.abc import Callable, Mapping


def pagerank(
    seeds: Mapping[int, float],
    neighbours: Callable[[int], Mapping[int, float]],
    *,
    damping: float = 0.5,
    tolerance: float = 1e-2,
) -> dict[int, float]:
    """The approximate personalised PageRank of the nodes that matter to ``seeds``, whose weights add up to 1.

    ``neighbours`` gives where a node leads, with weights that add up to 1 (or nowhere); ``damping`` is how much of a
    node's rank goes on to them. What a node still has to give is left when it is less than ``tolerance``, so that at
    most 1 / (tolerance * (1 - damping)) nodes are looked at.
    """
    rank: dict[int, float] = {}
    rest = dict(seeds)
    waiting = deque(node for node, weight in rest.items() if weight >= tolerance)
    known: dict[int, Mapping[int, float]] = {}
    while waiting:
        node = waiting.popleft()
        weight = rest[node]
        rest[node] = 0.0
        rank[node] = rank.get(node, 0.0) + (1 - damping) * weight
        if node not in known:
            known[node] = neighbours(node)
        for other, share in known[node].items():
            before = rest.get(other, 0.0)
            rest[other] = after = before + damping * weight * share
            if before < tolerance <= after:
                waiting.append(other)
    return rank
