"""A real Chromium without a screen, driven through chromedriver by the few words of WebDriver that the tests need.

Everything is on 127.0.0.1.  Pages are looked at as they are rendered: rectangles of text and boxes, what the console
says, what was asked of the network, and the page on paper.
"""

from __future__ import annotations

import base64
import http.client
import json
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

INSTALL = "the page is judged in a real browser: apt-get install chromium chromium-driver"
_SECONDS = 120
_ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")


class Browser:
    """One Chromium, for as long as the block lasts."""

    def __init__(self) -> None:
        driver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
        assert driver is not None, INSTALL
        assert chromium is not None, INSTALL
        self._process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, text=True)  # noqa: S603
        self._port = self._started()
        options = {"binary": chromium, "args": list(_ARGUMENTS), "perfLoggingPrefs": {"enableNetwork": True}}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        try:
            found = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self._process.terminate()
            raise
        self._session = f"/session/{found['sessionId']}"

    def _started(self) -> int:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if "successfully on port" in line:
                return int(line.rstrip(".\n").rpartition(" ")[2])
        raise AssertionError(f"chromedriver does not start; {INSTALL}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._ask("DELETE", self._session)
        finally:
            self._process.terminate()
            self._process.wait(_SECONDS)
            if self._process.stdout is not None:
                self._process.stdout.close()

    def open(self, page: Path, *, width: int = 1280, dark: bool = False) -> None:
        """Shows a file, as wide as a screen of that width."""
        self._logs("browser")
        self._logs("performance")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tell("Emulation.setEmulatedMedia", media="screen", features=[scheme])
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self._ask("POST", f"{self._session}/url", {"url": page.absolute().as_uri()})

    def run(self, script: str) -> Any:
        """What a script in the page returns."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": []})

    def console(self) -> list[str]:
        """What the console said since the page was opened."""
        return [entry["message"] for entry in self._logs("browser")]

    def requests(self) -> list[str]:
        """The addresses that were asked for since the page was opened."""
        told = [json.loads(entry["message"])["message"] for entry in self._logs("performance")]
        return [each["params"]["request"]["url"] for each in told if each["method"] == "Network.requestWillBeSent"]

    def printed(self) -> bytes:
        """The page on paper, as PDF."""
        found = self.tell("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        return base64.b64decode(found["data"])

    def screenshot(self, *, whole: bool = False) -> bytes:
        """What is seen, as PNG."""
        found = self.tell("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(found["data"])

    def tell(self, method: str, **params: Any) -> Any:
        """A command of the DevTools."""
        return self._ask("POST", f"{self._session}/goog/cdp/execute", {"cmd": method, "params": params})

    def _logs(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask("POST", f"{self._session}/se/log", {"type": kind})
        return found

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        assert not (isinstance(answer, dict) and "error" in answer), answer
        return answer
