import re
import shutil
import sys
from functools import partial
from pathlib import Path

import pytest

from seqattn_tf.serving.client import GrpcClient, RestClient
from seqattn_tf.serving.server import Server

sys.path.insert(0, str(Path(__file__).parent))  # pytest does not make neighbors of a test importable
import serving_toys

CHROMIUM = next(  # The headless shell needs half the CPU time, because it draws no windows.
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))), None
)
QUIETLY = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-device-for-media-stream",  # a microphone that beeps
    "--use-fake-ui-for-media-stream",
]


@pytest.fixture(scope="session")
def exports(tmp_path_factory):
    """One exported version per number, outside of any repository."""
    folder = tmp_path_factory.mktemp("exports")
    for version in (1, 2):
        serving_toys.export(version, folder / str(version))
    return folder


@pytest.fixture
def repository_root(tmp_path, exports):
    """A new repository with version 1 of the model `toy`."""
    root = tmp_path / "my models"  # a space in a path must not cause problems
    serving_toys.install(exports / "1", root / "toy", 1)
    return root


@pytest.fixture
def running(repository_root):
    """A separate server for a test that changes the repository or stops the server."""
    with Server(serving_toys.config(repository_root)) as server:
        yield server


@pytest.fixture(scope="session")
def server(tmp_path_factory, exports):
    """A server for all tests that only send requests."""
    root = tmp_path_factory.mktemp("models")
    serving_toys.install(exports / "1", root / "toy", 1)
    (root / "toy" / "not-a-version").mkdir()
    (root / "toy" / "7").mkdir()  # a version number without a SavedModel: an incomplete copy
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


class Windows:
    """A pool of browser windows, because opening one takes six times as long as loading another page in it."""

    def __init__(self, browser):
        self.browser = browser
        self.idle = {}

    def take(self, options):
        """Return an empty window with these context options."""
        same = self.idle.setdefault(repr(sorted(options.items())), [])
        page = same.pop() if same else self.browser.new_context(**options).new_page()
        return page, lambda: self._put_back(page, same, options)

    def _put_back(self, page, same, options):
        page.unroute_all(behavior="ignoreErrors")
        page.goto("about:blank")
        page.mouse.move(0, 0)
        page.set_viewport_size(options.get("viewport", {"width": 1280, "height": 720}))
        same.append(page)


@pytest.fixture(scope="session")
def windows(browser):
    return Windows(browser)


@pytest.fixture
def open_page(browser, windows):
    """A function that opens the page; at the end, it must have no errors and no requests to other hosts.

    `fresh` opens a new window, for tests that change its clock or add scripts to it.
    """
    ends, wrong = [], []

    def open_page(url, link="", refused=False, prepare=None, fresh=False, **options):
        if fresh:
            page = browser.new_context(**options).new_page()
            ends.append(page.context.close)
        else:
            page, put_back = windows.take(options)
            ends.append(put_back)
        # Chromium itself logs a line for each response with a status of 400 or more.
        expected = re.compile("Failed to load resource" if refused else "$^")
        listeners = {
            "pageerror": lambda error: wrong.append(str(error)),
            "request": lambda request: (
                request.url.removeprefix("blob:").startswith(url + "/") or wrong.append(request.url)
            ),
            "console": lambda line: expected.match(line.text) or wrong.append(line.text),
        }
        for event, listener in listeners.items():
            page.on(event, listener)
            ends.insert(0, partial(page.remove_listener, event, listener))
        if prepare:
            prepare(page)
        page.goto(f"{url}/{link}")
        page.locator(".facts, #alert:not(:empty)" if "&" in link else "option").first.wait_for(state="attached")
        return page

    yield open_page
    for end in ends:
        end()
    assert not wrong


@pytest.fixture
def expect(browser):
    from playwright.sync_api import expect

    return expect
