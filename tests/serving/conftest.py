import re
import shutil
import sys
from pathlib import Path

import pytest

from seqattn_tf.serving.client import GrpcClient, RestClient
from seqattn_tf.serving.server import Server

sys.path.insert(0, str(Path(__file__).parent))  # pytest does not make a test's neighbours importable
import serving_toys

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIETLY = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-device-for-media-stream",  # a microphone that beeps
]


@pytest.fixture(scope="session")
def exports(tmp_path_factory):
    """One exported version per number, outside any repository."""
    folder = tmp_path_factory.mktemp("exports")
    for version in (1, 2):
        serving_toys.export(version, folder / str(version))
    return folder


@pytest.fixture
def repository_root(tmp_path, exports):
    """A fresh repository with version 1 of the model `toy`."""
    root = tmp_path / "my models"  # a space in a path must not leak or break anything
    serving_toys.install(exports / "1", root / "toy", 1)
    return root


@pytest.fixture
def running(repository_root):
    """A server of its own for a test that changes the repository or stops it."""
    with Server(serving_toys.config(repository_root)) as server:
        yield server


@pytest.fixture(scope="session")
def server(tmp_path_factory, exports):
    """A server shared by the tests that only ask."""
    root = tmp_path_factory.mktemp("models")
    serving_toys.install(exports / "1", root / "toy", 1)
    (root / "toy" / "not-a-version").mkdir()
    (root / "toy" / "7").mkdir()  # a version number without a SavedModel: a copy that has only begun
    with Server(serving_toys.config(root)) as server:
        yield server


@pytest.fixture(scope="session")
def rest_client(server):
    client = RestClient(server.rest_url)
    yield client
    client.close()


@pytest.fixture(scope="session")
def grpc_client(server):
    client = GrpcClient(server.grpc_address)
    yield client
    client.close()


@pytest.fixture(params=["rest", "grpc"])
def client(request):
    return request.getfixturevalue(f"{request.param}_client")


@pytest.fixture
def gate(tmp_path):
    gate = serving_toys.Gate(tmp_path / "gate")
    yield gate
    gate.close()


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on the path")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIETLY)
        sync_api.expect.set_options(timeout=10_000)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Opens the page; at the end nothing may have gone wrong in it or have been asked of another host."""
    contexts, wrong = [], []

    def open_page(url, link="", refused=False, prepare=None, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "request",
            lambda request: request.url.removeprefix("blob:").startswith(url + "/") or wrong.append(request.url),
        )
        # Chromium itself writes a line for each answer above 399.
        expected = re.compile("Failed to load resource" if refused else "$^")
        page.on("console", lambda line: expected.match(line.text) or wrong.append(line.text))
        if prepare:
            prepare(page)
        page.goto(f"{url}/{link}")
        page.locator(".facts, #alert:not(:empty)" if "&" in link else "option").first.wait_for(state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong


@pytest.fixture
def expect(browser):
    from playwright.sync_api import expect

    return expect
