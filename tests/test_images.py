"""Pictures of pages in the docs: each has a place in the command that takes it, and a page."""

import importlib.util
import re
import struct
from pathlib import Path

import pytest

from browser import needs_chromium

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def make_images():
    spec = importlib.util.spec_from_file_location("make_images", DOCS / "make_images.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_picture_is_made_by_the_command_and_shown_by_a_page(make_images):
    kept = {path.stem for path in (DOCS / "images").iterdir()}
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    shown = set(re.findall(r"images/([\w-]+)\.png", text))
    assert set(make_images.IMAGES) == kept == shown


@pytest.mark.slow
@needs_chromium
def test_a_picture_is_taken_from_a_small_survey(make_images, tmp_path):
    (taken,) = make_images.take_images(tmp_path, ("phone",), n_users=20)
    head = taken.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">2I", head[16:]) == (390, 720)
