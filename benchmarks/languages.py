"""Topics of texts in other languages beside LDA without privacy, and how fast they are cut into words.

    python benchmarks/languages.py --data FOLDER            German (1,028 articles) and Japanese (1,500 of 3,683)
    python benchmarks/languages.py --data FOLDER --speed    megabytes a second of each segmenter, the former one beside
    python benchmarks/languages.py --sentences              seven languages, 400 invented sentences each (resumable)
    python benchmarks/languages.py --development            others, for choices: five languages, 200 sentences twice

The sentences (sentences/*.toml) were written and committed before the first measurement: forty each on ten subjects.
A run finds a subject whose theme is among the shown ones. Nothing is chosen by them: for that there are the sentences
for development (sentences_development/*.toml), twenty each about ten themes that were drawn by lot
(np.random.default_rng(20261119).choice(306, 10, replace=False)), by another author. Each counts twice.

FOLDER has german_news and japanese_news (.parquet: text, label). ε = 1, δ = 1e-5, document level, ten topics,
defaults, five draws of the noise; LDA is tomotopy, K = 10, min_df 2, 500 iterations, on the same words, three seeds.
NOT FOR RELEASE: seeded noise. Results go to results/languages.json.
"""

import argparse
import inspect
import json
import time
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from sklearn.metrics import normalized_mutual_info_score

from dptopics import Corpus, Plan, TextSettings
from dptopics.core.tokenizers import Tokenizer
from dptopics.privacy.guarantee import Unit
from dptopics.public import atlas_words
from dptopics.public.atlas import has_atlas, shipped
from results import RESULTS, save

CORPORA = {"german": ("german_news", 1028), "japanese": ("japanese_news", 1500)}
EPSILON, DELTA, TOPICS, DRAWS, SEEDS = 1.0, 1e-5, 10, 5, 3
SENTENCES = Path(__file__).parent / "sentences"
DEVELOPMENT = Path(__file__).parent / "sentences_development"
# Thai has no corpus here: invented sentences, again and again.
THAI = (
    "ฉันปวดเข่ามาสามวันแล้ว เดินขึ้นบันไดไม่ไหว",
    "พัสดุที่สั่งไว้เมื่อสัปดาห์ก่อนยังไม่มาถึงเลย",
    "เพื่อนบ้านเปิดเพลงเสียงดังจนดึก ลูกนอนไม่หลับ",
    "ร้านอาหารแห่งนี้อร่อยมากแต่ต้องรอคิวนาน",
    "อินเทอร์เน็ตที่บ้านหลุดบ่อย ช่างบอกว่าจะมาพรุ่งนี้",
    "หมอบอกว่าผลเลือดปกติ แต่ต้องลดน้ำตาล",
    "แมวของฉันชอบนอนบนโต๊ะทำงาน",
    "รถติดตั้งแต่เช้า ไปทำงานสายอีกแล้ว",
    "ค่าเช่าห้องขึ้นทุกปี เงินเดือนเท่าเดิม",
    "ครูให้การบ้านเยอะเกินไป เด็กไม่มีเวลาเล่น",
    "เมื่อคืนฝนตกหนัก น้ำท่วมถนนหน้าบ้าน",
    "โรงแรมสะอาด พนักงานพูดจาสุภาพ วิวทะเลสวยมาก",
    "โทรศัพท์แบตเตอรี่หมดเร็ว เพิ่งซื้อมาได้สองเดือน",
    "ประชุมวันนี้ยาวมากแต่ไม่ได้ข้อสรุปอะไร",
    "ยาตัวใหม่ทำให้ง่วงนอนทั้งวัน",
    "สุนัขเห่าทุกครั้งที่มีคนเดินผ่าน",
    "อยากลาออกเพราะงานหนักและหัวหน้าไม่เข้าใจ",
    "ขยะไม่มีคนมาเก็บสามวันแล้ว กลิ่นเหม็นมาก",
    "ลูกสาวสอบเข้ามหาวิทยาลัยได้แล้ว ดีใจมาก",
    "ตั๋วเครื่องบินแพงขึ้นมากในช่วงปีใหม่",
)
WRITTEN, RUNS = ("french", "spanish", "italian", "dutch", "portuguese", "polish", "chinese"), 10


def read(folder: Path, name: str, n: int) -> tuple[list[str], np.ndarray]:
    table = pq.read_table(folder / f"{name}.parquet").to_pydict()
    chosen = np.random.default_rng(0).permutation(len(table["text"]))[:n]
    return [table["text"][i] for i in chosen], np.array([table["label"][i] for i in chosen])


def lda(documents: list[list[str]], labels: np.ndarray, seed: int) -> float:
    import tomotopy

    model = tomotopy.LDAModel(k=TOPICS, min_df=2, seed=seed)
    placed = [model.add_doc(words or ["-"]) for words in documents]
    assert len(placed) == len(labels)
    model.train(500, workers=1)
    found = [int(np.argmax(one.get_topic_dist())) for one in model.docs]
    return float(normalized_mutual_info_score(labels[: len(found)], found))


def topics(language: str, folder: Path) -> dict[str, Any]:
    texts, labels = read(folder, *CORPORA[language])
    text = TextSettings(language=language)
    corpus, scores, shown = Corpus.from_texts(texts, settings=text), [], []
    plan = Plan.topics(n_topics=TOPICS, epsilon=EPSILON, delta=DELTA, unit="document", text=text)
    for seed in range(DRAWS):
        model = plan.build()(corpus.bounded(unit=Unit.DOCUMENT), np.random.default_rng(seed)).value
        scores.append(float(normalized_mutual_info_score(labels, model.assign(texts))))
        shown.append(0 if model.themes is None else len(model.themes.shown))
    documents = [text.words(one) for one in texts]
    plain = [lda(documents, labels, seed) for seed in range(SEEDS)]
    return {"texts": len(texts), "mechanism": plan.mechanism, "nmi": scores, "themes": shown, "lda_nmi": plain}


def sentences(language: str, folder: Path = SENTENCES) -> dict[int, list[str]]:
    """The invented sentences of each subject, by the number of its theme."""
    stored = tomllib.loads((folder / f"{language}.toml").read_text("utf-8"))
    return {int(number): block.strip().splitlines() for number, block in stored.items()}


def listed(language: str, folder: Path = SENTENCES) -> tuple[float, float]:
    """Words a sentence that its own theme lists, and that any theme lists, both as the reader gives them."""
    text, atlas, own, every, n = TextSettings(language=language), shipped(language), 0, 0, 0
    known = set(atlas.listed_words(text))
    for number, block in sentences(language, folder).items():
        theme = {word for entry in atlas.themes[number].words for word in text.words(entry)}
        words = [word for one in block for word in text.words(one)]
        own, every, n = own + sum(w in theme for w in words), every + sum(w in known for w in words), n + len(block)
    return own / n, every / n


def subjects(language: str, folder: Path = SENTENCES, times: int = 1) -> dict[str, Any]:
    """How many of the ten subjects are among the shown themes in each run, and which are missing how often."""
    written, text = sentences(language, folder), TextSettings(language=language)
    corpus = Corpus.from_texts([one for block in written.values() for one in block] * times, settings=text)
    plan = Plan.topics(n_topics=TOPICS, epsilon=EPSILON, delta=DELTA, unit="document", text=text)
    mechanism, bounded = plan.build(), corpus.bounded(unit=Unit.DOCUMENT)
    keys, found = [theme.key for theme in shipped(language).themes], []
    missing = dict.fromkeys(written, 0)
    for seed in range(RUNS):
        themes = mechanism(bounded, np.random.default_rng(seed)).value.themes
        shown = set() if themes is None else set(themes.shown)
        found.append(len(shown & written.keys()))
        for number in written.keys() - shown:
            missing[number] += 1
    own, every = listed(language, folder)
    absent = {keys[number]: often for number, often in missing.items() if often}
    return {"subjects": found, "missing": absent, "own_words": own, "listed_words": every, "code": code(language)}


def code(language: str) -> str:
    """What places the sentences: the atlas and how its words are met."""
    return sha256(f"{shipped(language).sha256} {inspect.getsource(atlas_words)}".encode()).hexdigest()


def speed(folder: Path) -> dict[str, float]:
    """Megabytes a second, one core; Japanese text for Chinese too, since it is what there is, and invented Thai."""
    japanese, found = read(folder, "japanese_news", 400)[0], {}
    for name, texts in (("japanese", japanese), ("chinese", japanese), ("thai", ["\n".join(THAI)] * 500)):
        size, cut = sum(len(one.encode()) for one in texts) / 1e6, Tokenizer.of(name)
        cut(texts[0])
        begin = time.perf_counter()
        for one in texts:
            cut(one)
        found[f"{name} ({cut.version})"] = size / (time.perf_counter() - begin)
    try:
        from janome.tokenizer import Tokenizer as Janome
    except ImportError:
        return found
    former, some = Janome(wakati=True), japanese[:20]
    begin = time.perf_counter()
    for one in some:
        list(former.tokenize(one))
    return found | {"janome": sum(len(one.encode()) for one in some) / 1e6 / (time.perf_counter() - begin)}


def store(name: str, found: object) -> None:
    path = RESULTS / "languages.json"
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    print(name, found, flush=True)
    save("languages", before | {name: found})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--sentences", action="store_true")
    parser.add_argument("--development", action="store_true")
    arguments = parser.parse_args()
    print("NOT FOR RELEASE")
    if arguments.sentences:
        before = json.loads((RESULTS / "languages.json").read_text("utf-8"))
        for language in WRITTEN:
            name = f"sentences {language}"
            if before.get(name, {}).get("code") != code(language):
                store(name, subjects(language))
        return None
    if arguments.development:
        for path in sorted(DEVELOPMENT.glob("*.toml")):
            print(path.stem, subjects(path.stem, DEVELOPMENT, times=2), flush=True)
        return None
    if arguments.data is None:
        parser.error("--data FOLDER or --sentences")
    if arguments.speed:
        before = json.loads((RESULTS / "languages.json").read_text("utf-8"))["speed"]
        return store("speed", before | speed(arguments.data))
    for language in filter(has_atlas, CORPORA):
        store(language, topics(language, arguments.data))


if __name__ == "__main__":
    main()
