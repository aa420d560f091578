"""Settings of a mechanism's own: --set NAME=VALUE, read as the mechanism declares them, and the list of them."""

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from inspect import Parameter, signature
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin

from rich.markup import escape
from rich.table import Table

from dptopics.cli.terminal import out, print_json
from dptopics.core.errors import InputError

_SAID = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a name", tuple: "numbers, as 0.4,0.6"}
# Of counts: options, or what follows from them and the topics.
_OPTIONS = {"auto", "axes", "values", "days", "model", "periods", "at", "far", "max_cells", "documents", "min_units"}
_OPTIONS |= {"max_periods", "running", "rules", "facts", "asked", "number", "number_range"}
# What they do, where a name does not say it.
_MEANING = {
    "alpha": "prior of a document's topics; of words: how far beyond the threshold they gain, in scales of noise",
    "alpha0": "sum of the Dirichlet parameters of documents: small where a document has one topic",
    "beta": "prior of a topic's words",
    "calibration": "theorem that the noise is calibrated by; renyi: as published",
    "centre": "m₀: log count of rare n-grams",
    "gamma": "chance that ε does not hold, over data drawn like the public corpus",
    "k": "authors that an n-gram needs",
    "learner": "variational, gibbs, spectral, lsi, plsa or hdp",
    "max_count": "how often each n-gram of a unit may count",
    "max_pairs": "pairs of fits that the sensitivity may be sampled by",
    "max_total": "counts of each unit",
    "post": "what is done with noisy rows",
    "sample_size": "how many pairs are sampled; dkw: as published",
    "sensitivities": "corrected, or as printed in the paper, which is refuted",
    "sensitivity": "brute-force, or claim-1 of the paper",
    "shares": "shares of the budget, one for each part",
    "size_share": "share of the budget for the sizes of topics",
    "slope": "S: weight of each author",
    "steps": "rounds of learning",
    "top": "release only so many words of each topic, as published; claimed: which words is not hidden",
    "tuning": "how the sensitivity of tuning is read: claim-2, or appendix-d (its proof, as printed)",
    "weight": "ρ: weight of the data against the public n-grams",
}


class Setting(NamedTuple):
    """One setting, as it is declared."""

    kind: Any  # bool, int, float, str, tuple (of numbers), or names to choose from
    default: Any
    help: str

    @property
    def type(self) -> str:
        if issubclass(self.kind, StrEnum):
            *most, last = self.kind
            return f"{', '.join(most)} or {last}"
        return _KINDS[self.kind]

    def read(self, name: str, text: str) -> Any:
        """What a person wrote, as a value."""
        try:
            if self.kind is bool:
                return _SAID[text.lower()]
            return tuple(map(float, text.split(","))) if self.kind is tuple else self.kind(text)
        except (ValueError, KeyError):
            raise InputError(f"--set {name} must be {self.type}; got {text!r}.") from None


def read_settings(given: Iterable[str] | None, job: str, mechanism: str) -> dict[str, Any]:
    """All settings that --set names, for a mechanism, or for several with commas between."""
    from dptopics.registry import mechanism_class

    if not given:
        return {}
    several = [settings_of(mechanism_class(job, part.strip())) for part in mechanism.split(",")]
    known = {name: one for name, one in several[0].items() if all(name in others for others in several)}
    found: dict[str, Any] = {}
    for one in given:
        name, sign, text = one.partition("=")
        name = name.strip().replace("-", "_")
        if not sign:
            raise InputError(f"--set takes NAME=VALUE, as steps=20; got {one!r}.")
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise InputError(f"mechanism {mechanism!r} has no setting {name} that --set could take. It has: {listed}.")
        if name in found:
            raise InputError(f"--set {name} is given twice. Say it once.")
        found[name] = known[name].read(name, text.strip())
    return found


def settings_of(mechanism: Any) -> dict[str, Setting]:
    """What can be set of a mechanism by a text: not what a plan says of every release, nor public things."""
    from dptopics.plan import Plan

    own = mechanism.accepts() - {field.name for field in fields(Plan)} - _OPTIONS
    found: dict[str, Setting] = {}
    for name, declared, default in _declared(mechanism):
        kind = _kind(declared)
        if name in own and name not in found and kind is not None and default is not MISSING:
            found[name] = Setting(kind, default, _MEANING.get(name, ""))
    return dict(sorted(found.items()))


def show_settings(name: str, as_json: bool) -> None:
    """The settings of every mechanism of a name."""
    from dptopics.mechanisms.mechanism import Job
    from dptopics.registry import mechanisms

    of = {str(job): mechanisms(job)[name] for job in Job if name in mechanisms(job)}
    if not of:
        raise InputError(f"there is no mechanism {name!r}. 'dptopics mechanisms' lists them.")
    if as_json:
        rows = [
            {"job": job, "name": key, "type": one.type, "default": one.default, "help": one.help}
            for job, kind in of.items()
            for key, one in settings_of(kind).items()
        ]
        print_json({"mechanism": name, "settings": rows})
        return
    for job, kind in of.items():
        table = Table("--set", "Type", "Default", "Meaning", title=f"{job}: {name}", title_justify="left")
        for key, one in settings_of(kind).items():
            table.add_row(key, escape(one.type), escape(_shown(one.default)), escape(one.help))
        out.print(table if table.rows else f"{job}: {name} has no settings of its own.", highlight=False)


def _declared(kind: Any) -> Iterator[tuple[str, Any, Any]]:
    """Name, type and default of what a mechanism may be made with; then of what its parts may be made with."""
    from dptopics.mechanisms.mechanism import Mechanism

    for parent in kind.__mro__:
        for maker in (vars(parent).get(name) for name in ("calibrated", "template")):
            for one in signature(maker.__func__).parameters.values() if maker is not None else ():
                yield one.name, one.annotation, MISSING if one.default is Parameter.empty else one.default
    yield from ((field.name, field.type, field.default) for field in fields(kind))
    for field in fields(kind):
        any_mechanism = get_origin(field.type) is Mechanism
        part = type(getattr(kind.example(), field.name)) if any_mechanism else field.type
        if is_dataclass(part) and hasattr(part, "guarantee"):
            yield from _declared(part)


def _kind(declared: Any) -> Any:
    """How a text of this type is read; None: not at all."""
    kinds = get_args(declared) if isinstance(declared, UnionType) else (declared,)
    choices = [one for one in kinds if isinstance(one, type) and issubclass(one, StrEnum)]
    plain = [one for one in (bool, int, float, str) if one in kinds]
    numbers = [tuple for one in kinds if get_origin(one) is tuple and get_args(one)[0] is float]
    return next(iter([*choices, *plain, *numbers]), None)


def _shown(default: Any) -> str:
    if isinstance(default, tuple):
        return ",".join(f"{one:.3g}" for one in default)
    return "its own" if default is None else str(default).lower() if isinstance(default, bool) else str(default)
