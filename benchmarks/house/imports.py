"""The import graph: rooms, cycles, who is used by many and who uses many.

    python benchmarks/house/imports.py [--source CHECKOUT] [--label NAME]

Imports under ``if TYPE_CHECKING`` do not count: they are gone when the program runs. Those inside functions count, and
are counted once more by themselves ("late").
"""

import ast
from collections import defaultdict

from measured import Checkout, asked, at_most, store, table

Graph = dict[str, set[str]]
MOST_AT_THE_TOP = 10


def imports(checkout: Checkout) -> tuple[Graph, Graph]:
    """Who imports whom: at the top of a module, and inside functions."""
    early: Graph = defaultdict(set)
    late: Graph = defaultdict(set)
    for module, tree in checkout.trees.items():
        waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
        while waiting:
            node, inside = waiting.pop()
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            (late if inside else early)[module] |= named(node, checkout) - {module}
            waiting += [(child, inside) for child in ast.iter_child_nodes(node)]
    return early, late


def named(node: ast.AST, checkout: Checkout) -> set[str]:
    """Modules of the package that an import statement names."""
    found: set[str] = set()
    if isinstance(node, ast.Import):
        found = {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            found.add(whole if whole in checkout.files else node.module)
    return {name for name in found if name in checkout.files}


def cycles(graph: Graph) -> list[list[str]]:
    """Sets of nodes that all reach each other (strongly connected components of two or more)."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen, waiting = set(), list(graph[start])
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting += graph.get(node, ())
        reached[start] = seen
    found = {frozenset(b for b in reached[a] if a in reached.get(b, ())) for a in graph if a in reached[a]}
    return sorted(sorted(group) for group in found)


def between_rooms(graph: Graph, checkout: Checkout) -> Graph:
    rooms: Graph = defaultdict(set)
    for module, others in graph.items():
        here = checkout.room(checkout.files[module])
        rooms[here] |= {checkout.room(checkout.files[other]) for other in others} - {here}
    return rooms


def main() -> None:
    checkout, label = asked(__doc__)
    early, late = imports(checkout)
    whole: Graph = {module: early[module] | late[module] for module in checkout.files}
    rooms = between_rooms(whole, checkout)
    used_by: Graph = defaultdict(set)
    for module, others in whole.items():
        for other in others:
            used_by[other].add(module)
    table("who uses many (modules imported)", busiest(whole))
    table("who is used by many (modules that import it)", busiest(used_by))
    table("rooms", [(room, len(others), " ".join(sorted(others))) for room, others in sorted(rooms.items())])
    early_rooms = between_rooms(early, checkout)
    figures: dict[str, object] = {
        "modules": len(checkout.files),
        "rooms": len(rooms),
        "imports": sum(map(len, whole.values())),
        "late imports": sum(map(len, late.values())),
        "cycles of modules, late imports too": cycles(whole),
        "cycles of modules": cycles(early),
        "cycles of rooms, late imports too": cycles(rooms),
        "cycles of rooms": cycles(early_rooms),
        "largest fan-out": dict((name, n) for n, name in busiest(whole)[:5]),
        "largest fan-in": dict((name, n) for n, name in busiest(used_by)[:5]),
    }
    print()
    for name, value in figures.items():
        print(f"{name}: {value}")
    top = checkout.at_the_top()
    figures["modules at the top"] = at_most("modules at the top", len(top), MOST_AT_THE_TOP) | {"names": top}
    store("house_imports", label, figures)


def busiest(graph: Graph, n: int = 12) -> list[tuple[int, str]]:
    return sorted(((len(others), name) for name, others in graph.items()), reverse=True)[:n]


if __name__ == "__main__":
    main()
