import pytest

from seqattn_tf.lite.assets import load_assets, save_assets
from seqattn_tf.lite.fields import Image, Text
from seqattn_tf.lite.targets import Label
from seqattn_tf.lite.text import SymbolRules


def test_what_goes_in_and_out_comes_back_in_its_order(tmp_path):
    inputs = {"b": Text(SymbolRules(("x",)), 7), "a": Image(8, 9)}
    save_assets(tmp_path, inputs, Label(("no", "yes")))
    again, target = load_assets(tmp_path)
    assert list(again) == ["b", "a"]
    assert [field.get_config() for field in again.values()] == [field.get_config() for field in inputs.values()]
    assert target.get_config() == Label(("no", "yes")).get_config()


@pytest.mark.parametrize("name", ["inputs.json", "target.json"])
@pytest.mark.parametrize("text", [None, "{", "[3]", '{"field": "smell"}'])
def test_a_file_that_is_missing_or_damaged_is_told(tmp_path, name, text):
    save_assets(tmp_path, {"a": Text(SymbolRules(("x",)))}, Label(("no", "yes")))
    (tmp_path / name).unlink()
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r"expected complete inputs\.json and target\.json"):
        load_assets(tmp_path)
