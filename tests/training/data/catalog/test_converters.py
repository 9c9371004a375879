"""Each converter, on a tiny original that is made up here, against files that were written by hand."""

import hashlib
import io
import json
import lzma
import zipfile

import numpy as np
import pytest
from PIL import Image as Pillow

from seqattn_tf.training.data import catalog, column_files
from seqattn_tf.training.data.catalog.originals import Originals
from seqattn_tf.training.data.catalog.sets import flickr8k, snli_18k
from seqattn_tf.training.data.corpora import brown, movie_reviews, snli


def original(folder, files):
    """Write the files of an original, by path, and return a view of them."""
    for name, content in files.items():
        path = folder / "download" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Originals(folder / "download")


def converted(name, originals):
    dataset = catalog.get(name)
    assert not originals.missing(dataset.originals)
    return dict(dataset.convert(originals))


COPIED = {  # where the original has each file
    "cmudict": {"Data/cmudict-0.7b.train": "cmudict-0.7b.train", "Data/cmudict-0.7b.test": "cmudict-0.7b.test"},
    "conll2000": {"conll2000/train.txt": "train.txt", "conll2000/test.txt": "test.txt"},
    "enja": {f"{name}.{ending}": f"{name}.{ending}" for name in ("train", "dev", "test") for ending in ("ja", "en")},
    "katakana": {
        "data/wd_katakana_64": "train.tsv",
        "data/wd_katakana_16": "dev.tsv",
        "data/wd_katakana_20": "test.tsv",
    },
    "multi30k": {
        f"data/task1/raw/{part}.{ending}": f"{part}.{ending}"
        for part in ("train", "val", "test_2016_flickr", "test_2017_flickr")
        for ending in ("de", "en")
    },
    "shakespeare": {"data/tinyshakespeare/input.txt": "input.txt"},
    "sick": {f"SICK/SICK_{part}.txt": f"SICK_{part}.txt" for part in ("train", "trial", "test_annotated")},
    "sst": {f"trees/{part}.txt": f"{part}.txt" for part in ("train", "dev", "test")},
}


@pytest.mark.parametrize("name", COPIED)
def test_files_that_only_change_their_names(name, tmp_path):
    originals = original(tmp_path, {place: f"the text of {ours}" for place, ours in COPIED[name].items()})
    assert converted(name, originals) == {ours: f"the text of {ours}".encode() for ours in COPIED[name].values()}
    assert set(COPIED[name].values()) == set(catalog.get(name).files)


def test_every_converter_has_a_test():
    own = {"brown", "dakshina", "flickr8k", "fsdd", "movie_reviews", "snli_18k", "ud_ewt"}
    assert {name for name in catalog.names() if catalog.get(name).convert} == {*COPIED, *own}


def test_dakshina_swaps_the_columns(tmp_path):
    places = {part: f"hi/lexicons/hi.translit.sampled.{part}.tsv" for part in ("train", "dev", "test")}
    originals = original(tmp_path, dict.fromkeys(places.values(), "अंक\tank\t5\nअंग\tang\t2\n"))
    assert converted("dakshina", originals) == dict.fromkeys(
        ("train.tsv", "dev.tsv", "test.tsv"), "ank\tअंक\t5\nang\tअंग\t2\n".encode()
    )
    broken = original(tmp_path, {places["dev"]: "अंक\tank\t5\nअंक ank\n"})
    with pytest.raises(ValueError, match=r"dev\.tsv, line 2: expected a word, its spelling and a count\. Received: "):
        converted("dakshina", broken)


CONLLU = """# sent_id = 1
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\tMood=Imp\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t3:advmod\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t0:root\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t1:conj\t_

# sent_id = 2
1\tA\u2028B\tA\tX\tFW\t_\t0\troot\t0:root\t_

"""
COLUMNS = "Do\tAUX\tVB\t3\taux\nn't\tPART\tRB\t3\tadvmod\ngo\tVERB\tVB\t0\troot\n\nA\u2028B\tX\tFW\t0\troot\n\n"


def test_ud_ewt_keeps_the_columns_of_words(tmp_path):
    places = {part: f"UD_English-EWT/en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test")}
    files = converted("ud_ewt", original(tmp_path, dict.fromkeys(places.values(), CONLLU)))
    assert files == dict.fromkeys(("train.tsv", "dev.tsv", "test.tsv"), COLUMNS.encode())
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    splits = column_files.load(tmp_path, ["form", "upos"], lambda rows: " ".join(tag for _, tag in rows))
    assert [example.target for example in splits.dev] == ["AUX PART VERB", "X"]
    broken = original(tmp_path, {places["dev"]: "1\tDo\tdo\n"})
    with pytest.raises(ValueError, match=r"en_ewt-ud-dev\.conllu, line 1: expected 10 columns\. Received: "):
        converted("ud_ewt", broken)


def pair(label, premise, hypothesis):
    return json.dumps({"gold_label": label, "sentence1": premise, "sentence2": hypothesis, "captionID": "x"}) + "\n"


def test_snli_selects_the_listed_pairs_in_their_order(tmp_path, monkeypatch):
    wanted = [b"neutral\tA dog runs.\tIt barks.", b"entailment\tA dog runs.\tAn animal runs."]
    marks = [hashlib.sha256(line).digest()[:6] for line in wanted]
    monkeypatch.setattr(snli_18k, "chosen", lambda: [*marks, marks[0]])
    train = (
        pair("entailment", "A dog  runs. ", "An animal runs.")
        + pair("neutral", "A dog runs.", "It sleeps.")
        + pair("neutral", "A dog runs.", "It barks.")
    )
    others = pair("-", "A cat.", "A dog.") + pair("contradiction", "A cat.", "A  dog.")
    with zipfile.ZipFile(tmp_path / "snli_1.0.zip", "w") as archive:
        for part, text in (("train", train), ("dev", others), ("test", others)):
            archive.writestr(f"snli_1.0/snli_1.0_{part}.jsonl", text)
    files = converted("snli_18k", Originals(tmp_path / "snli_1.0.zip"))
    assert files == {
        "train18k.tsv": b"\n".join([*wanted, wanted[0], b""]),
        "dev.tsv": b"contradiction\tA cat.\tA dog.\n",
        "test.tsv": b"contradiction\tA cat.\tA dog.\n",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    assert len(snli.load_labelled(tmp_path).train) == 3


def test_snli_without_the_listed_pairs_is_an_error(tmp_path):
    places = {part: f"snli_1.0_{part}.jsonl" for part in ("train", "dev", "test")}
    originals = original(tmp_path, dict.fromkeys(places.values(), pair("neutral", "A dog.", "A cat.")))
    with pytest.raises(ValueError, match=r"expected the 18000 pairs of the subset\. Received: none of them"):
        converted("snli_18k", originals)
    originals = original(tmp_path, {places["train"]: '{"gold_label": "neutral"}\n'})
    with pytest.raises(ValueError, match=r"train\.jsonl, line 1: expected an object with gold_label, sentence1"):
        converted("snli_18k", originals)


def test_the_list_of_snli_names_the_pairs_of_the_reference_copy(shared_data):
    lines = lzma.decompress((shared_data / "snli" / "train18k.tsv.xz").read_bytes()).splitlines()
    assert [hashlib.sha256(line).digest()[:6] for line in lines] == snli_18k.chosen()


def test_movie_reviews_are_joined_into_one_table(tmp_path):
    files = {
        "txt_sentoken/pos/cv001_2.txt": "good \n\n very  good \n",
        "txt_sentoken/neg/cv100_3.txt": b"na\xefve .\nbad\n",
        "txt_sentoken/neg/cv000_9.txt": "bad\n",
        "txt_sentoken/neg/notes.txt": "not a review",
        "poldata.README.2.0": "about",
    }
    (data,) = converted("movie_reviews", original(tmp_path, files)).values()
    assert data.decode() == "0\tcv000_9\tbad\n0\tcv100_3\tna\u00efve . ||| bad\n1\tcv001_2\tgood ||| very good\n"
    (tmp_path / "polarity2.0.tsv").write_bytes(data)
    assert len(movie_reviews.load(tmp_path).test) == 2


def test_brown_is_joined_into_one_file(tmp_path):
    files = {
        "brown/cats.txt": "ca01 news\ncb02 editorial\n\n",
        "brown/cb02": "\n\tIt/pps is/bez ./.\n",
        "brown/ca01": "\n\n\tThe/at jury/nn  said/vbd\n\n\tNo/at\n",
        "brown/CONTENTS": "A. News",
    }
    (data,) = converted("brown", original(tmp_path, files)).values()
    assert data.decode() == ("### ca01 news\nThe/at jury/nn said/vbd\nNo/at\n### cb02 editorial\nIt/pps is/bez ./.\n")
    assert brown.sentence(data.decode().split("\n")[1]) == "The jury said"
    with pytest.raises(ValueError, match=r"brown/cr09: expected a document listed in cats\.txt\. Received: cr09"):
        converted("brown", original(tmp_path, {"brown/cr09": "A/at"}))


def test_fsdd_copies_the_recordings(tmp_path):
    files = {"recordings/1_theo_10.wav": b"one", "recordings/7_jackson_0.wav": b"two", "recordings/list.wav": b"no"}
    assert converted("fsdd", original(tmp_path, files)) == {"1_theo_10.wav": b"one", "7_jackson_0.wav": b"two"}


def photograph(width, height):
    rows = np.linspace(0, 255, height).astype(np.uint8)
    pixels = np.broadcast_to(rows[:, None, None], (height, width, 3))
    data = io.BytesIO()
    Pillow.fromarray(pixels).save(data, "JPEG", quality=95, comment=b"a comment")
    return data.getvalue()


def test_flickr8k_reduces_photographs_and_joins_the_lists(tmp_path):
    captions = "".join(
        f"{name}#{number}\tA dog .\n" for name in ("10_a.jpg", "11_b.jpg", "12_c.jpg.1", "9_d.jpg") for number in (0, 1)
    )
    files = {
        "Flickr8k_text/Flickr8k.token.txt": captions,
        "Flickr8k_text/Flickr_8k.trainImages.txt": "11_b.jpg\n",
        "Flickr8k_text/Flickr_8k.devImages.txt": "",
        "Flickr8k_text/Flickr_8k.testImages.txt": "10_a.jpg\n",
        "Flicker8k_Dataset/10_a.jpg": photograph(448, 672),
        "Flicker8k_Dataset/11_b.jpg": photograph(300, 240),
        "Flicker8k_Dataset/9_d.jpg": photograph(300, 240),
    }
    found = converted("flickr8k", original(tmp_path, files))
    assert found["Flickr8k.token.txt"].decode() == captions.replace(
        "12_c.jpg.1#0\tA dog .\n12_c.jpg.1#1\tA dog .\n", ""
    )
    assert found["names_split.tsv"] == b"10_a.jpg\ttest\n11_b.jpg\ttrain\n9_d.jpg\tnone\n"
    assert set(found) == {"Flickr8k.token.txt", "names_split.tsv", "10_a.jpg", "11_b.jpg"}
    picture = Pillow.open(io.BytesIO(found["10_a.jpg"]))
    assert picture.size == (224, 224)
    assert "comment" not in picture.info
    shown = np.asarray(picture)[:, 0, 0]  # rows 56 to 279 of 336: a third of the gradient is cut off
    np.testing.assert_allclose(shown[[0, 112, 223]], [255 / 6, 255 / 2, 255 * 5 / 6], atol=4)
    broken = original(tmp_path, {"Flicker8k_Dataset/10_a.jpg": photograph(448, 672)[:3000]})
    with pytest.raises(ValueError, match=r"10_a\.jpg: expected a complete JPEG file\. Received: "):
        converted("flickr8k", broken)


def test_a_photograph_of_ours_is_reduced_again_to_the_same_size():
    data = flickr8k.reduce(photograph(224, 224))
    assert Pillow.open(io.BytesIO(data)).size == (flickr8k.SIDE, flickr8k.SIDE)
