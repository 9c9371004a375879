"""Small generated corpora, one for each recipe, in the format of its real data."""

import random

ANIMALS = ("dog", "cat", "bird", "horse", "man", "girl")
TIERE = ("Hund", "Katze", "Vogel", "Pferd", "Mann", "Frau")
DOES = ("runs", "sleeps", "eats", "jumps")
TUT = ("rennt", "schl\u00e4ft", "frisst", "springt")


def _sentences(count, seed):
    rng = random.Random(seed)
    chosen = [(rng.randrange(6), rng.randrange(4)) for _ in range(count)]
    return [(f"Ein {TIERE[a]} {TUT[d]}.", f"A {ANIMALS[a]} {DOES[d]}.") for a, d in chosen]


def pronounce(folder):
    rng = random.Random(0)
    words = sorted({"".join(rng.choices("ABCD", k=rng.randint(2, 5))) for _ in range(400)})
    for part, chosen in (("train", words[::2] + words[3::4]), ("test", words[1::4])):
        (folder / f"{part}.dict").write_text("".join(f"{word}  {' '.join(word)}\n" for word in chosen))


def translate(folder):
    for part, count in (("train", 300), ("dev", 12), ("test", 12)):
        pairs = _sentences(count, part)
        (folder / f"{part}.de").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
        (folder / f"{part}.en").write_text("".join(f"{target}\n" for _, target in pairs), encoding="utf-8")


def transliterate(folder):
    rng = random.Random(0)
    for part, count in (("train", 300), ("dev", 12), ("test", 12)):
        names = ["".join(rng.choices("aeiou", k=rng.randint(1, 5))) for _ in range(count)]
        kana = str.maketrans("aeiou", "\u30a2\u30a8\u30a4\u30aa\u30a6")
        lines = (f"{name}\t{' '.join(name.translate(kana))}\t1\n" for name in names)
        (folder / f"{part}.tsv").write_text("".join(lines), encoding="utf-8")


def summarize(folder):
    rng = random.Random(0)
    captions, splits = [], []
    for number in range(40):
        animal = rng.choice(ANIMALS)
        for caption in range(5):
            captions.append(f"{number}.jpg#{caption}\tA {animal} {rng.choice(DOES)} .\n")
        splits.append(f"{number}.jpg\t{'train' if number < 30 else 'dev' if number < 35 else 'test'}\n")
    (folder / "Flickr8k.token.txt").write_text("".join(captions))
    (folder / "names_split.tsv").write_text("".join(splits))


def dialog(folder):
    rng = random.Random(0)
    speeches = (f"{rng.choice(('KING', 'FOOL'))}:\n{' '.join(rng.choices(ANIMALS, k=4))}.\n" for _ in range(200))
    (folder / "input.txt").write_text("\n".join(speeches))


def char_lm(folder):
    rng = random.Random(0)
    (folder / "input.txt").write_text("\n".join(" ".join(rng.choices(ANIMALS, k=6)) + "." for _ in range(300)))


def word_lm(folder):
    sentences = (target for _, target in _sentences(300, "words"))
    lines = (" ".join(f"{word}/nn" for word in [*s.rstrip(".").split(), "."]) for s in sentences)
    (folder / "brown.txt").write_text("".join(f"{line}\n" for line in lines))


def entail_generate(folder):
    for part, count in (("train", 300), ("dev", 12), ("test", 12)):
        rows = (f"entailment\t{target}\tAn animal {target.split()[-1]}\n" for _, target in _sentences(count, part))
        (folder / f"{part}.tsv").write_text("".join(rows))


def tag(folder):
    for part, count in (("train", 120), ("dev", 12), ("test", 12)):
        words = [target.rstrip(".").split() for _, target in _sentences(count, part)]
        rows = (f"{a} DT B-NP\n{noun} NN I-NP\n{verb} VB B-VP\n. . O\n\n" for a, noun, verb in words)
        (folder / f"{part}.txt").write_text("".join(rows))


def parse(folder):
    for part, count in (("train", 120), ("dev", 12), ("test", 12)):
        words = [target.rstrip(".").split() for _, target in _sentences(count, part)]
        rows = (
            f"# a comment\n1\t{a}\t_\tDET\tDT\t_\t2\tdet\t_\t_\n2\t{noun}\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_\n"
            f"3\t{verb}\t_\tVERB\tVBZ\t_\t0\troot\t_\t_\n\n"
            for a, noun, verb in words
        )
        (folder / f"{part}.conllu").write_text("".join(rows))


def sentiment(folder):
    rng = random.Random(0)
    for part, count in (("train", 100), ("dev", 12), ("test", 12)):
        lines = []
        for _ in range(count):
            label, word = rng.choice([(0, "awful"), (1, "bad"), (2, "odd"), (3, "good"), (4, "great")])
            lines.append(f"({label} (2 {rng.choice(ANIMALS)}) ({label} (2 is) ({label} {word})))\n")
        (folder / f"{part}.txt").write_text("".join(lines))


def classify(folder):
    rng = random.Random(0)
    rows = []
    for label, words in ((0, ("bad", "awful")), (1, ("good", "great"))):
        for number in range(0, 1000, 25):
            lines = [" ".join(rng.choices((*ANIMALS, *words), k=2)) for _ in range(2)]
            rows.append(f"{label}\tcv{number:03d}_1\t{' ||| '.join(lines)}\n")
    (folder / "polarity2.0.tsv").write_text("".join(rows))


def entail(folder):
    rng = random.Random(0)
    for part, count in (("train", 120), ("dev", 12), ("test", 12)):
        rows = []
        for _ in range(count):
            animal, does = rng.choice(ANIMALS), rng.choice(DOES)
            label, said = rng.choice([("entailment", f"a {animal}"), ("contradiction", "nobody"), ("neutral", "it")])
            rows.append(f"{label}\tA {animal} {does} .\t{said} {does}\n")
        (folder / f"{part}.tsv").write_text("".join(rows))


def answer(folder):
    rng = random.Random(0)
    for part, count in (("train", 60), ("test", 12)):
        lines = []
        for _ in range(count):
            who, there = rng.sample(ANIMALS, 2), rng.choices(("garden", "house", "street"), k=2)
            lines += [f"{n} The {w} went to the {t}." for n, w, t in zip((1, 2), who, there, strict=True)]
            lines.append(f"3 Where is the {who[0]}? \t{there[0]}\t1")
        (folder / f"qa1_single-supporting-fact_{part}.txt").write_text("\n".join(lines) + "\n")


def write(name, folder):
    """Write the corpus of a recipe to `folder` and return a row to query; None if a recipe generates its own data."""
    texts = {
        "pronounce": "abba",
        "translate": "Ein Hund rennt.",
        "transliterate": "aiu",
        "summarize": "A dog runs .\nA dog eats .",
        "dialog": "dog cat.\nbird man.",
        "char_lm": "dog ",
        "word_lm": "A dog",
        "entail_generate": "A dog runs.",
        "execute": "print(1+2)",
        "toy": "1 0 1",
        "tag": "A dog runs.",
        "parse": "A dog runs",
        "sentiment": "(3 (2 dog) (3 (2 is) (3 good)))",
        "classify": "good dog\nbad cat",
        "entail": {"premise": "A dog runs .", "hypothesis": "nobody runs"},
        "answer": {"story": "The dog went to the house.", "question": "Where is the dog?"},
        "transduce": "( + 1 ( * 2 3 ) )",
    }
    if name in ("execute", "toy", "transduce"):
        return None, texts[name]
    globals()[name](folder)
    return folder, texts[name]
