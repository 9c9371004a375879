"""Flickr8k: photographs with five captions each, reduced to 224 x 224 pixels."""

import io
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source, by_part
from seqattn_tf.training.data.catalog.originals import Originals

_LISTS = by_part(lambda part: f"Flickr_8k.{part}Images.txt")
_CAPTION = re.compile(rb"(\d+_[0-9a-f]+\.jpg)#\d\t")
_NOT_USED = "none"  # the split of a photograph that is in no list
SIDE, QUALITY = 224, 72


def reduce(data: bytes) -> bytes:
    """Return a photograph as JPEG with its shorter side reduced to 224 pixels (bicubic) and its center cut out."""
    from PIL import Image as Pillow

    try:
        picture = Pillow.open(io.BytesIO(data)).convert("RGB")
    except (OSError, SyntaxError, Pillow.DecompressionBombError) as error:
        raise ValueError(f"expected a complete JPEG file. Received: {error}") from None
    scale = SIDE / min(picture.size)
    width, height = (round(side * scale) for side in picture.size)
    left, top = (width - SIDE) // 2, (height - SIDE) // 2
    picture = picture.resize((width, height), Pillow.Resampling.BICUBIC)
    written = io.BytesIO()
    picture.crop((left, top, left + SIDE, top + SIDE)).save(
        written, "JPEG", quality=QUALITY, optimize=True, comment=b""
    )
    return written.getvalue()


def _convert(originals: Originals) -> Iterator[tuple[str, bytes]]:
    """Keep the captions of photographs, join the lists of the splits, and reduce the photographs."""
    captions = originals.read(originals.one("Flickr8k.token.txt")).splitlines(keepends=True)
    kept = [line for line in captions if _CAPTION.match(line)]  # without 2258277193_586949ec62.jpg.1
    yield "Flickr8k.token.txt", b"".join(kept)
    listed = {part: originals.read(originals.one(name)).decode().split() for part, name in _LISTS.items()}
    part_of = {name: part for part, names in listed.items() for name in names}
    names = dict.fromkeys(line.partition(b"#")[0].decode() for line in kept)
    yield "names_split.tsv", "".join(f"{name}\t{part_of.get(name, _NOT_USED)}\n" for name in sorted(names)).encode()
    for path, data in originals.contents("*Dataset/*.jpg"):
        if (name := PurePosixPath(path).name) in part_of:
            try:
                yield name, reduce(data)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from None


dataset = Dataset(
    name="flickr8k",
    title="photographs with five captions each",
    recipes=("caption", "summarize"),
    license="not stated",
    source=Source(
        "Flickr8k (Hodosh, Young and Hockenmaier, 2013): Flickr8k_Dataset and Flickr8k_text",
        "not numbered",
        "none stated in Flickr8k_text/readme.txt, which asks for a citation",
    ),
    split="6 000 training, 1 000 development and 1 000 test photographs, as distributed; 91 more are in no split",
    files={
        "Flickr8k.token.txt": Expected(3_394_868, "2f234ec9b9694ef7c0c7265d8b80b2b25e3823c6013c6911feddaaa3b36744e1"),
        "names_split.tsv": Expected(254_064, "07d28f7c3648561ea813ef0c4759079aeb417a61b6606e82e0734f2652af68c2"),
        "photographs (*.jpg)": Expected(
            85_120_833,
            "a707e027f3eb116d0a10e292fc00293ace89c1796748310c792125aeff0dfddb",
            pattern=r"(.*/)?\d+_[0-9a-f]+\.jpg",
            count=8000,
        ),
    },
    convert=_convert,
    originals=("Flickr8k.token.txt", *_LISTS.values(), "*Dataset/*.jpg"),
    status="run on copies of the text files and of photographs in third repositories (Pillow 13.0): texts equal, "
    "4 241 of 4 241 photographs equal byte for byte; another version of Pillow or libjpeg may write other bytes",
    archives=r".*\.tar",
)
