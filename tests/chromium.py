"""A headless Chromium, driven through a pipe by its DevTools protocol.

No other package is needed: messages are JSON, each ended by a zero byte, on the file
descriptors 3 and 4 of the browser.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
    *("--remote-debugging-pipe", "--disable-background-networking", "--mute-audio"),
    *("--no-first-run", "--force-device-scale-factor=1", "--disable-dev-shm-usage"),
)
PATIENCE_S = 120


def program():
    """Return the browser that is installed, or None."""
    names = (os.environ.get("SUMBO_CHROMIUM"), *NAMES)
    return next((found for n in names if n and (found := shutil.which(n))), None)


class Chromium:
    """One page of a browser; events are collected in ``events``."""

    def __init__(self, folder):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = [program(), *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        # The browser reads from 3 and writes to 4, whatever the numbers are here.
        inner = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", inner, "bash", *command],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._rest, self._number, self.events, self._session = b"", 0, [], None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        session = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = session["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        """Return what a command of the protocol answers."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width, height=900):
        """Open a file at a width, and wait until it is loaded."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.call("Page.navigate", url=f"file://{path}")
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def wait(self, condition):
        """Wait until an expression is true."""
        begin = time.monotonic()
        while not self.run(condition):
            if time.monotonic() - begin > PATIENCE_S:
                raise TimeoutError(condition)
            time.sleep(0.05)

    def run(self, expression):
        """Return the value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def move(self, x, y):
        """Move the pointer."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        """Click at a place of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                clickCount=1,
            )

    def picture(self, path):
        """Write a picture of the whole page."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self):
        """Return the page as it is printed."""
        options = {"printBackground": True, "preferCSSPageSize": True}
        return base64.b64decode(self.call("Page.printToPDF", **options)["data"])

    def happened(self, method):
        """Return the events of a kind since the page was opened."""
        return [e["params"] for e in self.events if e.get("method") == method]

    def close(self):
        """End the browser."""
        self._process.terminate()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def _next(self):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], PATIENCE_S)
            piece = os.read(self._in, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("the browser does not answer")
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)
