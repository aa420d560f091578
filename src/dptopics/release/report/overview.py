"""What the page says first: every topic with its name, its size and what noise leaves of it, and its first words."""

from collections.abc import Mapping
from html import escape
from typing import Any

from dptopics.errors import InputError
from dptopics.release.counts import CountTable
from dptopics.release.report.count_maps import number
from dptopics.release.topic_model import TopicModel, fingerprint

_FIRST_WORDS = 6


def check_labels(model: TopicModel, labels: Mapping[str, Any]) -> list[str]:
    """The names of a model's topics, if they are of this model (``dptopics label --out``)."""
    try:
        named = {int(one["topic"]): str(one["label"]) for one in labels["labels"]}
        made_of = labels["topics"]
    except (KeyError, TypeError, ValueError):
        raise InputError("these are no labels. Give the file that dptopics label --out wrote.") from None
    if made_of != fingerprint(model.topic_word, model.vocabulary.words):
        raise InputError("these labels are of other topics. Name the topics of this release: dptopics label RELEASE.")
    return [named.get(k, "") for k in range(model.n_topics)]


def check_counts(model: TopicModel, counts: CountTable) -> None:
    """Counts must be of this model's topics."""
    if counts.model != fingerprint(model.topic_word, model.vocabulary.words) or counts.axes[0] != "topic":
        raise InputError("these counts are not of this release's topics. Count with it: dptopics count RELEASE DATA.")


def sizes(model: TopicModel, counts: CountTable | None) -> list[str]:
    """How large each topic is, as words with an interval; nothing where no size was counted."""
    if counts is None:
        return [model.shown_size(k) for k in range(model.n_topics)]
    shown = [number(counts, {0: counts.values[0].index(str(k))}) for k in range(model.n_topics)]
    return ["suppressed" if one is None else f"{one[0]:,} ({one[1]:,} to {one[2]:,})" for one in shown]


def sized(model: TopicModel, counts: CountTable | None) -> dict[str, str]:
    """What the sizes on a page are: one kind of number on all of it."""
    if counts is not None:
        of = counts.title(margin=True)
        return {"sized": f"{of} (95 % interval)", "size_note": counts.bounded, "unit": of.lower()}
    if model.sizes is not None:
        return {"sized": model.sizes.title, "size_note": model.sizes.note, "unit": f"{model.sizes.unit}s"}
    if model.shares_of:
        return {"sized": model.shares_of, "size_note": "", "unit": "of all reports"}
    return {"sized": "", "size_note": "How many units each topic has was not counted.", "unit": ""}


def section(data: dict[str, Any]) -> str:
    """The overview as a table."""
    words, rows = data["words"], []
    named = any(topic["label"] for topic in data["topics"])
    for k, topic in enumerate(data["topics"]):
        listed = ", ".join(f"<bdi>{escape(words[w])}</bdi>" for w in topic["first"][:_FIRST_WORDS])
        name = f"<td><bdi>{escape(topic['label'])}</bdi></td>" if named else ""
        rows.append(
            f'<tr data-topic="{k}"><th scope="row">{k}</th>{name}'
            + (f'<td class="size">{escape(topic["size"])}</td>' if data["sized"] else "")
            + f"<td>{listed or 'none above the noise'}</td></tr>"
        )
    sizes = [data["sized"]] if data["sized"] else []
    heads = ["Topic", *(["Name"] if named else []), *sizes, "First words above the noise"]
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    note = f"<p>Names by {escape(data['labelled'])}, from the released words alone.</p>" if named else ""
    return (
        '<section id="overview" aria-labelledby="overview-title"><h2 id="overview-title">Overview</h2>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="All topics"><table class="overview">'
        f"<caption>All topics</caption><thead><tr>{head}</tr></thead><tbody>"
        f"{''.join(rows)}</tbody></table></div><p>{escape(data['size_note'])}</p>{note}</section>"
    )
