"""The README's picture of ``specstep serve``, taken by a headless Chromium: ``python -m tui.browser``.

Needs the extra ``serve`` and a ``chromium`` on the path.
"""

import argparse
import asyncio
import base64
import os
import shutil
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp

import recordings

FOLDER = Path(recordings.__file__).parent
SIZE = (1240, 760)
PATIENCE = 60.0
"""Seconds until a server has to listen, and a screen to be drawn."""
SETTLE = 8.0
"""Seconds from the page to the picture."""


async def taken(trace: Path, target: Path) -> None:
    """Serve a trace, look at it in a browser, and write what is seen as PNG."""
    port, debug = _free_port(), _free_port()
    with tempfile.TemporaryDirectory() as profile:
        words = ("-m", "tui.browser", "--serve", str(trace), "--port", str(port))
        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}")
        server = await asyncio.create_subprocess_exec(sys.executable, *words)
        browser = await asyncio.create_subprocess_exec(
            shutil.which("chromium") or "chromium",
            *flags,
            f"--window-size={SIZE[0]},{SIZE[1]}",
            f"--remote-debugging-port={debug}",
            "about:blank",
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await _look(f"http://127.0.0.1:{debug}", f"http://127.0.0.1:{port}/?fontsize=14", target)
        finally:
            for process in (browser, server):
                with suppress(ProcessLookupError):
                    process.terminate()
                await process.wait()


async def _look(browser: str, page: str, target: Path) -> None:
    async with aiohttp.ClientSession() as session:
        await _until_it_answers(session, page)
        await _until_it_answers(session, f"{browser}/json/version")
        async with session.get(f"{browser}/json") as answer:
            tab = next(each for each in await answer.json() if each["type"] == "page")
        async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as wire:
            await _ask(wire, 1, "Page.navigate", url=page)
            await asyncio.sleep(SETTLE)
            picture = await _ask(wire, 2, "Page.captureScreenshot", format="png")
    target.write_bytes(base64.b64decode(picture["data"]))


async def _ask(wire: aiohttp.ClientWebSocketResponse, number: int, method: str, **words: object) -> dict[str, Any]:
    await wire.send_json({"id": number, "method": method, "params": words})
    while True:
        answer = await wire.receive_json(timeout=PATIENCE)
        if answer.get("id") == number:
            result: dict[str, Any] = answer["result"]
            return result


async def _until_it_answers(session: aiohttp.ClientSession, address: str) -> None:
    for _ in range(int(PATIENCE / 0.2)):
        with suppress(aiohttp.ClientError):
            async with session.get(address):
                return
        await asyncio.sleep(0.2)
    raise SystemExit(f"{address} does not answer")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", type=Path, help="only serve this trace, at --port")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--out", type=Path, default=FOLDER / "screens" / "serve.png")
    args = parser.parse_args()
    if args.serve is not None:
        from tui.commands.serve import serve  # noqa: PLC0415 (an extra)

        os.environ.pop("NO_COLOR", None)
        serve([str(args.serve)], port=args.port)
    else:
        asyncio.run(taken(FOLDER / "flip.msgpack", args.out))


if __name__ == "__main__":
    main()
