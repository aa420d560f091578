"""How hard single functions are to follow: cyclomatic complexity (radon) and parameters.

    python benchmarks/house/complexity.py [--source CHECKOUT] [--label NAME]

The command line's functions are left out of the count of parameters: there each parameter is an option with its help.
"""

import ast

from measured import Checkout, asked, at_most, store, table
from radon.complexity import cc_visit

WORST_COMPLEXITY = 15
MOST_PARAMETERS = 20


def complexities(checkout: Checkout) -> list[tuple[int, str]]:
    """(complexity, module.function) of every function and method, the worst first."""
    found = []
    for module, path in checkout.files.items():
        for block in cc_visit(path.read_text("utf-8")):
            if block.letter in "FM":
                found.append((block.complexity, f"{module}.{getattr(block, 'fullname', block.name)}"))
    return sorted(set(found), reverse=True)


def parameters(checkout: Checkout) -> list[tuple[int, str]]:
    """(parameters, module.function), most first, ``self`` left out; with those of generated ``__init__`` of dataclasses
    not counted: a class's fields are a list with an explanation each."""
    found = []
    for module, node in checkout.functions():
        if module.startswith("dptopics.cli"):
            continue
        given: list[ast.arg] = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names = [arg.arg for arg in given if arg.arg not in ("self", "cls")]
        found.append((len(names) + bool(node.args.vararg) + bool(node.args.kwarg), f"{module}.{node.name}"))
    return sorted(set(found), reverse=True)


def main() -> None:
    checkout, label = asked(__doc__)
    hard, wide = complexities(checkout), parameters(checkout)
    table("hardest functions (cyclomatic complexity)", hard[:15])
    table("most parameters", wide[:10])
    print(f"\nfunctions: {len(hard)}, mean complexity {sum(n for n, _ in hard) / len(hard):.2f}")
    store(
        "house_complexity",
        label,
        {
            "functions": len(hard),
            "mean complexity": round(sum(n for n, _ in hard) / len(hard), 3),
            f"functions above {WORST_COMPLEXITY}": {name: n for n, name in hard if n > WORST_COMPLEXITY},
            "worst complexity": at_most("worst complexity", hard[0][0], WORST_COMPLEXITY),
            "most parameters": at_most("most parameters", wide[0][0], MOST_PARAMETERS) | {"where": wide[0][1]},
        },
    )


if __name__ == "__main__":
    main()
