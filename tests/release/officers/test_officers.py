"""Registry entries, decision records, signatures, and ε computed again."""

import hashlib
import json
import os
import stat
from dataclasses import replace

import pytest
import yaml
from typer.testing import CliRunner

from dptopics import Corpus, Ledger, __version__, release_vocabulary
from dptopics.cli import app
from dptopics.core.errors import BundleError, DptopicsError, InputError
from dptopics.privacy import events as ev
from dptopics.privacy.guarantee import Guarantee, Strength, Trust, Unit
from dptopics.privacy.pricing import epsilon_of, smallest
from dptopics.registry import mechanisms
from dptopics.release import bundle
from dptopics.release.officers import signature
from dptopics.release.officers.decision import decision
from dptopics.release.officers.registry_entry import MISSING, TIERS, Curator, entry, to_yaml
from dptopics.release.officers.verification import second_price, verify
from dptopics.release.release import Record

# The facts of the registry's schema, as its entries of September 2026 have them: names, and some choices.
TEXT = None
SCHEMA = {
    "url_slug": TEXT,
    "status": {"Converted", "Draft", "Pending", "Changes Required", "Approved"},
    "tier": {1, 2, 3},
    "deployment": {
        "basic": {
            "name": TEXT, "data_curators": [{"data_curator_name": TEXT, "data_curator_type": TEXT}],
            "intended_use": TEXT, "data_product_region": TEXT, "description": TEXT, "publication_date": TEXT,
            "data_product_sector": TEXT,
            "data_product_type": {"Summary statistics", "Machine learning model", "Dataset", "Synthetic data"},
        },
        "dp_variant": {
            "variant_name": {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"},
            "data_domain": TEXT, "unprotected_quantities": TEXT,
        },
        "privacy_loss": {
            "privacy_unit": TEXT, "privacy_unit_details": TEXT, "privacy_parameters_details": TEXT,
            "privacy_parameters": {"epsilon": float, "delta": float, "rho": float},
        },
        "deployment_model": {
            "model_name": {"Local", "Central", "Shuffle", "Federated", "Varies"}, "model_name_details": TEXT,
            "actors": TEXT, "release_type": {"One release", "Many releases"}, "release_type_details": TEXT,
            "data_source_type": {"Static", "Dynamic"}, "data_source_type_details": TEXT,
            "access_type": {"Interactive", "Non-interactive"}, "access_type_details": TEXT,
        },
        "accounting": {"post_processing": TEXT, "composition": TEXT},
        "implementation": {"preprocessing_and_hyperparameter_tuning": TEXT, "mechanisms": TEXT, "justification": TEXT},
        "administrative": {"sources": TEXT, "notes": TEXT, "registry_authors": [TEXT]},
    },
}  # fmt: skip


def conforms(data, schema):
    """Every name is known, every text is one, every choice one of those."""
    if schema is TEXT:
        assert isinstance(data, str)
        assert data.strip()
    elif isinstance(schema, set):
        assert data in schema
    elif schema is float:
        assert type(data) is float
    elif isinstance(schema, list):
        assert isinstance(data, list)
        for one in data:
            conforms(one, schema[0])
    else:
        assert data.keys() <= schema.keys()
        for name, value in data.items():
            conforms(value, schema[name])


@pytest.fixture(scope="module")
def release():
    words = ["fever", "cough", "ward", "nurse", "sleep", "tea"]
    texts = [" ".join(words[i % 6 :]) for i in range(3000)]
    corpus = Corpus.from_texts(texts, authors=[str(i) for i in range(3000)])
    found = release_vocabulary(corpus, epsilon=1.0, delta=1e-6)
    return replace(found, record=replace(found.record, title="Ward notes", description="notes of one ward in 2025"))


@pytest.fixture
def folder(release, tmp_path):
    return bundle.save(release, tmp_path / "release")


def run(*arguments):
    """A command, in process; what it refuses is our own exception, which ends as exit code 2."""
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    if isinstance(done.exception, DptopicsError):
        done.exit_code = 2
    return done


FULL = Curator(
    name="Clinic", kind="Nonprofit", region="Norway", sector="Healthcare", intended_use="Research", justification="A",
    sources="- page: https://example.org", author="Jane Roe",
)  # fmt: skip


@pytest.mark.parametrize("tier", TIERS)
def test_an_entry_has_the_registrys_names_and_choices(release, tier):
    found = yaml.safe_load(to_yaml(entry(release, FULL, tier=tier)))
    conforms(found, SCHEMA)
    parts = {1: {"basic", "administrative"}, 2: {"dp_variant", "privacy_loss", "deployment_model"}}
    parts[3] = {"accounting", "implementation"}
    assert found["deployment"].keys() == set().union(*(parts[t] for t in range(1, tier + 1)))
    assert found["tier"] == tier
    assert MISSING not in to_yaml(entry(release, FULL, tier=tier))


def test_an_entry_says_what_the_guarantee_says(release):
    found = entry(release, FULL)["deployment"]
    assert found["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert found["privacy_loss"]["privacy_unit"] == "Author-level"
    assert "adding or removing one author" in found["privacy_loss"]["privacy_unit_details"]
    assert found["deployment_model"]["model_name"] == "Central"
    assert "Gaussian, standard deviation" in found["implementation"]["mechanisms"]
    for line in release.guarantee.assumptions:
        assert line in found["privacy_loss"]["privacy_parameters_details"]


def test_an_entry_claims_no_more_than_the_strength(release):
    """What holds for bounded sums with noise of ours is said of those alone."""
    wide = ("on a fixed grid", "No statistic of the data", "before the budget is charged")
    assert all(words in str(entry(release, FULL)) for words in wide)
    for weaker in (
        release.guarantee.weakened(Strength.CLAIMED, "A hole."),
        replace(release.guarantee, trust=Trust.LOCAL),
    ):
        text = str(entry(replace(release, guarantee=weaker), FULL))
        assert not any(words in text for words in (wide[0], wide[2]))


def test_a_series_is_many_releases(release):
    plan = {"mechanism": "periods", "settings": {"periods": ["2026-W01", "2026-W02"]}}
    plan |= {"job": "counts", "max_docs": None, "max_words": None, "unit": "author"}
    found = entry(replace(release, record=replace(release.record, plan=plan)), FULL)["deployment"]["deployment_model"]
    assert (found["release_type"], found["data_source_type"]) == ("Many releases", "Dynamic")


def test_texts_of_an_entry_keep_their_lines(release):
    written = to_yaml(entry(release, FULL))
    assert "actors: |" in written
    assert not any(line.endswith((">", ">-")) for line in written.split("\n"))


def test_what_only_the_curator_knows_is_asked_for(folder):
    done = run("officer", "registry", folder)
    assert done.exit_code == 0
    assert MISSING in done.stdout
    assert "8 fields are left" in done.stderr
    assert yaml.safe_load(done.stdout)["status"] == "Draft"


def test_what_promises_nothing_is_neither_entered_nor_approved(release):
    void = replace(release, guarantee=release.guarantee.weakened(Strength.NONE, "Seeded."))
    with pytest.raises(InputError, match="guarantees nothing"):
        entry(void, FULL)
    with pytest.raises(InputError, match="nothing to approve"):
        decision(void)
    with pytest.raises(InputError, match="tiers 1, 2 and 3"):
        entry(release, FULL, tier=4)


def test_a_decision_is_filled_in(release, folder):
    text = decision(release)
    assert "Ward notes" in text
    assert "notes of one ward in 2025" in text
    assert "ε = 1, δ = 1e-06" in text
    for line in release.guarantee.assumptions:
        assert f"- [ ] {line}" in text
    assert "[State what else" in text  # there was no ledger
    account = {"name": "c", "charge": 2, "epsilon": 1.5, "delta": 2e-6, "of_epsilon": 3, "of_delta": 1e-5}
    assert "charge 2" in decision(replace(release, record=replace(release.record, ledger=account)))
    assert run("officer", "approve", folder).stdout.startswith("# Decision")
    assert "dptopics [version]" in decision(replace(release, record=Record()))


def test_a_decision_asks_about_other_releases_of_the_same_people(tmp_path):
    """A box that says there are none must not be ticked where the ledger knows of some."""
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=20, delta=1e-3, name="clinic")
    texts, how = ["knee pain"] * 300, {"epsilon": 4.0, "delta": 1e-6, "ledger": ledger}
    first = release_vocabulary(texts, authors=range(300), out=tmp_path / "first", **how)
    assert "- [ ] Nothing else was made from the same people's data, before or since." in decision(first)
    second = release_vocabulary(texts, authors=range(300), **how)
    text = decision(second)
    assert "One release was charged to the ledger 'clinic' before this one" in text
    text = decision(first, ledger.to_dict())
    assert "current state: 2 charges, in total ε = 8" in text
    assert "- [ ] Also made from the same people's data, and known to us: charge 2" in text
    assert "charge 1 (" not in text
    assert "Nothing else was made from the same people's data besides these." in text
    shown = run("officer", "approve", tmp_path / "first", "--ledger", tmp_path / "clinic.ledger").stdout
    assert shown.split("## Which release")[0] == text.split("## Which release")[0]


def test_a_decision_says_which_release_it_is_about_and_what_was_checked(folder, tmp_path):
    shown = run("officer", "approve", folder).stdout
    assert bundle.checksum(folder) in shown
    assert "no extra files" in shown
    assert "Plan: the card states the noise of plan and settings." in shown
    assert "If one author is replaced by another: ε = " in shown
    assert "Audit: none given" in shown
    for line in bundle.load(folder).value.summary():
        assert line.replace("_", "\\_") in shown  # what readers will see, the words among it
    claim = bundle.load(folder).guarantee.to_dict()
    audit = {"verdict": "no violation found", "claim": claim, "settings": {}, "checks": [], "not_for_release": True}
    (tmp_path / "audit.json").write_text(json.dumps(audit))
    assert "Audit: no violation found" in run("officer", "approve", folder, "--audit", tmp_path / "audit.json").stdout
    (folder / "more.csv").write_text("a")
    assert run("officer", "approve", folder).exit_code == 2


def forged(folder, name, change):
    """A file of a release changed, and every checksum made right again, as whoever has the folder can."""
    (folder / name).write_text(change((folder / name).read_text("utf-8")), "utf-8")
    index = json.loads((folder / "bundle.json").read_text("utf-8"))
    index.pop("own_sha256")
    if name != "bundle.json":
        index["sha256"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    data = bundle._json(index | {"own_sha256": hashlib.sha256(bundle._json(index)).hexdigest()})
    (folder / "bundle.json").write_bytes(data)


def test_verify_sees_the_card_of_another_release(folder):
    """With right checksums, and a right price for the noise that it states: not the noise of the plan."""
    before = bundle.load(folder).guarantee
    tail = next(event.probability for event in before.events if isinstance(event, ev.Failure)) / 2
    sigma = smallest(lambda sigma: epsilon_of((ev.Gaussian(sigma), ev.Failure(tail)), before.delta) <= before.epsilon)
    other = replace(before, events=(ev.Gaussian(sigma), ev.Failure(tail)))
    forged(folder, "guarantee.json", lambda text: other.to_json())
    done = run("officer", "verify", folder)
    assert done.exit_code == 2
    assert "do not follow from its plan: events" in str(done.exception)


def test_verify_sees_other_settings_than_the_plans(folder):
    forged(folder, "bundle.json", lambda text: text.replace('"tail": ', '"tail": 9'))
    assert "do not follow from its plan: tail" in str(run("officer", "verify", folder).exception)


def test_verify_of_another_version_says_what_it_could_not_check(folder):
    forged(
        folder,
        "bundle.json",
        lambda text: text.replace('"tail": ', '"tail": 9').replace(f'"version": "{__version__}"', '"version": "0.1.0"'),
    )
    done = run("officer", "verify", folder)
    assert done.exit_code == 0
    assert "dptopics 0.1.0 made this release" in " ".join(done.stdout.split())


def test_card_and_plan_must_agree_whatever_version_made_them(folder):
    other = replace(bundle.load(folder).guarantee, events=(ev.Gaussian(90.0),))
    forged(folder, "guarantee.json", lambda text: other.to_json())
    forged(folder, "bundle.json", lambda text: text.replace(f'"version": "{__version__}"', '"version": "0.1.9"'))
    for command in ("verify", "approve", "registry"):
        done = run("officer", command, folder)
        assert done.exit_code == 2
        assert "does not follow from its plan: epsilon" in str(done.exception)


@pytest.mark.parametrize("kind", ["extra file", "extra folder", "extra link", "linked file"])
def test_only_listed_files_and_no_links(folder, tmp_path, kind):
    if kind == "extra file":
        (folder / "names.csv").write_text("secret")
    elif kind == "extra folder":
        (folder / "more").mkdir()
    elif kind == "extra link":
        (folder / "passwd").symlink_to("/etc/passwd")
    else:
        (folder / "vocabulary.txt").rename(tmp_path / "elsewhere.txt")
        (folder / "vocabulary.txt").symlink_to(tmp_path / "elsewhere.txt")
    done = run("officer", "verify", folder)
    assert done.exit_code == 2
    assert "cannot be trusted" in str(done.exception)


def test_files_tell_the_day_and_not_how_long_it_took(folder):
    times = {path.stat().st_mtime for path in [*folder.iterdir()]}
    assert len(times) == 1
    assert times.pop() % 86400 == 0


def test_a_decision_takes_the_ledger_of_its_release_alone(release, tmp_path):
    other = Ledger.create(tmp_path / "other.ledger", epsilon=20, delta=1e-3).to_dict()
    with pytest.raises(InputError, match="not charged to a ledger"):
        decision(release, other)
    account = {"name": "clinic", "charge": 1, "epsilon": 1.0, "delta": 1e-6, "of_epsilon": 4.0, "of_delta": 1e-5}
    with pytest.raises(InputError, match="charge 1 of the ledger 'clinic'"):
        decision(replace(release, record=replace(release.record, ledger=account)), other)


def test_signed_and_verified(folder, tmp_path):
    assert run("officer", "sign", "--new-key", tmp_path / "owner").exit_code == 0
    assert stat.S_IMODE(os.stat(tmp_path / "owner").st_mode) == 0o600
    assert run("officer", "verify", folder, "--key", tmp_path / "owner.pub").exit_code == 2  # not signed yet
    assert run("officer", "sign", folder, "--key", tmp_path / "owner").exit_code == 0
    done = run("officer", "verify", folder, "--key", tmp_path / "owner.pub")
    assert done.exit_code == 0, done.output
    assert "signed by the key" in done.stdout
    assert json.loads(run("officer", "verify", folder, "--json").stdout)["signed_by"]
    bundle.load(folder)  # a signature is no damage
    assert run("officer", "sign", folder, "--key", tmp_path / "owner").exit_code == 0  # once more


def test_a_signature_of_somebody_else(folder, tmp_path):
    signature.new_key(tmp_path / "mine")
    signature.new_key(tmp_path / "other")
    signature.sign(folder, tmp_path / "other")
    with pytest.raises(BundleError, match="another key"):
        verify(folder, tmp_path / "mine.pub")
    assert verify(folder).signed_by


def test_a_release_changed_after_signing(release, folder, tmp_path):
    """Even one whose checksums were all made anew."""
    signature.new_key(tmp_path / "mine")
    signature.sign(folder, tmp_path / "mine")
    for name, data in bundle.contents(replace(release, settings={"changed": True})).items():
        (folder / name).write_bytes(data)
    bundle.load(folder)
    with pytest.raises(BundleError, match="changed after it was signed"):
        verify(folder, tmp_path / "mine.pub")


@pytest.mark.parametrize("damage", ["{", "{}", '{"public_key": "AAAA", "signature": "AAAA"}', "[]"])
def test_a_damaged_signature(folder, damage):
    (folder / signature.FILE).write_text(damage)
    with pytest.raises(BundleError, match="signature is damaged"):
        verify(folder)


def test_keys_are_never_overwritten_nor_mistaken(folder, tmp_path):
    public = signature.new_key(tmp_path / "mine")
    with pytest.raises(InputError, match="never overwritten"):
        signature.new_key(tmp_path / "mine")
    with pytest.raises(InputError, match="private key"):
        signature.sign(folder, public)
    with pytest.raises(InputError, match="private key"):
        signature.sign(folder, tmp_path / "nowhere")
    signature.sign(folder, tmp_path / "mine")
    with pytest.raises(InputError, match="public key"):
        verify(folder, tmp_path / "mine")
    assert run("officer", "sign", folder).exit_code == 2
    assert run("officer", "sign", folder, "--new-key", tmp_path / "new").exit_code == 2


def test_a_lower_epsilon_is_noticed(release, folder):
    """Somebody writes 0.5 where the events cost 1, and makes all checksums anew."""
    stated = json.loads((folder / "guarantee.json").read_text())
    for epsilon, fine in ((0.98, False), (0.5, False), (2.0, True)):
        price = second_price(release.guarantee, epsilon)
        assert price.agrees is fine
    assert second_price(release.guarantee, stated["epsilon"]).agrees
    assert second_price(release.guarantee.weakened(Strength.NONE, "Seeded."), None) is None
    with pytest.raises(BundleError, match="states no ε"):
        second_price(release.guarantee, None)


EVENTS = [
    (ev.Gaussian(4.0), ev.Failure(1e-7)),
    (ev.Gaussian(20.0, count=9), ev.Laplace(3.0)),
    (ev.Laplace(4.0, count=3),),
    (ev.Laplace(2.0), ev.Failure(1e-6)),
    (ev.SampledGaussian(2.0, 0.05, count=50),),
    (ev.RandomizedResponse(0.25, count=2),),
    (ev.RandomizedResponse(0.05, values=10),),
    (),
]


@pytest.mark.parametrize("events", EVENTS)
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_another_route_gives_the_same_price(events, delta):
    promise = Guarantee(events=events, delta=delta, unit=Unit.AUTHOR, strength=Strength.PROVED)
    price = second_price(promise, promise.epsilon)
    assert price.at_least * 0.999 <= price.stated <= price.at_most * 1.001
    assert not events or not second_price(promise, 0.95 * promise.epsilon).agrees


@pytest.mark.parametrize("job", ["vocabulary", "topics", "n-grams", "counts", "local"])
def test_every_mechanism_is_priced_right_by_another_route(job):
    for kind in mechanisms(job).values():
        promise = kind.example().guarantee
        if promise.strength is Strength.NONE:
            continue
        price = second_price(promise, promise.epsilon)
        assert price.agrees, kind
        assert price.at_least <= price.stated * (1 + 1e-9), kind
        assert price.stated <= max(1.02 * price.at_least, price.at_most), kind
