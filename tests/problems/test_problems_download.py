"""Downloads from a server on this machine: only a complete, right file counts."""

import hashlib
import http.server
import os
import subprocess
import sys
import threading
import time

import pytest

from sumbo.errors import ProblemError
from sumbo.problems.shear import files

pytest.importorskip("pooch")

CONTENT = bytes(range(256)) * 700
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by the name of the file that is asked for, and counts."""

    def do_GET(self):
        self.server.asked.append(self.path)
        behaviour = self.server.behaviour
        if behaviour == "missing":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        if behaviour == "wrong":
            self.wfile.write(CONTENT[::-1])
        elif behaviour == "cut off":
            self.wfile.write(CONTENT[: len(CONTENT) // 3])
        elif behaviour == "stalls":
            self.wfile.write(CONTENT[: len(CONTENT) // 3])
            self.wfile.flush()
            self.server.stalled.set()
            self.server.released.wait(30)
        else:
            self.wfile.write(CONTENT)

    def log_message(self, *words):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SUMBO_DATA", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.asked, server.behaviour = [], "right"
        server.stalled, server.released = threading.Event(), threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.released.set()
        server.shutdown()


def file_at(server, digest=DIGEST):
    url = f"http://127.0.0.1:{server.server_address[1]}/data/"
    return files.DataFile(name="survey.fits", url=url, digest=digest)


def kept(tmp_path):
    return [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("kind", ["sha256", "git"])
def test_a_file_is_downloaded_once(server, tmp_path, kind):
    digest = DIGEST
    if kind == "git":
        blob = b"blob %d\0" % len(CONTENT) + CONTENT
        digest = f"git:{hashlib.sha1(blob, usedforsecurity=False).hexdigest()}"
    for _ in range(2):
        path = files.locate(file_at(server, digest), problem="kids-1000")
        assert path.read_bytes() == CONTENT
    assert server.asked == ["/data/survey.fits"]
    assert kept(tmp_path) == [path]


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("missing", "could not be downloaded .HTTPError.*SUMBO_DATA"),
        ("cut off", "could not be downloaded .ChunkedEncodingError.*SUMBO_DATA"),
        ("wrong", "is another file than problem 'kids-1000' needs.*SUMBO_DATA"),
    ],
)
def test_a_bad_download_is_an_error_and_the_next_one_counts(
    server, tmp_path, behaviour, message
):
    server.behaviour = behaviour
    with pytest.raises(ProblemError, match=message):
        files.locate(file_at(server), problem="kids-1000")
    assert kept(tmp_path) == []
    assert files.status((file_at(server),), "kids-1000")
    server.behaviour = "right"
    path = files.locate(file_at(server), problem="kids-1000")
    assert path.read_bytes() == CONTENT
    assert files.status((file_at(server),), "kids-1000") == ""


CHILD = """
import sys
from sumbo.problems.shear import files
file = files.DataFile(name="survey.fits", url=sys.argv[1], digest=sys.argv[2])
files.locate(file, problem="kids-1000")
"""


def command(file):
    return [sys.executable, "-c", CHILD, file.url, file.digest]


def test_a_download_that_was_killed_does_not_count(server, tmp_path):
    server.behaviour = "stalls"
    file = file_at(server)
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen(command(file), env=env)
    assert server.stalled.wait(60)
    time.sleep(0.2)
    child.kill()
    child.wait()
    server.released.set()
    assert files.present(file) is None
    server.behaviour = "right"
    assert files.locate(file, problem="kids-1000").read_bytes() == CONTENT


def test_a_download_tells_how_far_it_is_and_nothing_of_digests(server):
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command(file_at(server)), env=env, capture_output=True, text=True, check=True
    )
    assert "100%" in done.stderr
    assert "known_hash" not in done.stderr
    assert not done.stdout


def test_two_downloads_at_once_give_one_file(server, tmp_path):
    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(
                files.locate(file_at(server), problem="kids-1000")
            )
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.read_bytes() for path in found] == [CONTENT, CONTENT]
    assert kept(tmp_path) == [found[0]]
