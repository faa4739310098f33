# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The rig sees what goes wrong in a page."""

from __future__ import annotations

from pathlib import Path
import sys

import pytest

from .browser_rig import Pages, Viewer

SERVER = """\
import http.server, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.end_headers()
        self.wfile.write(sys.argv[1].encode())
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Page)
print(f'http://127.0.0.1:{server.server_port}', flush=True)
server.serve_forever()
"""


@pytest.mark.parametrize(('html', 'fault'), [
    ('<script>undefined.x</script>', 'error of a script'),
    ('<script>console.error("wrong")</script>', 'on the console: wrong'),
    ('<script>fetch("http://192.0.2.1/x", {signal: AbortSignal.timeout(9)}).catch(e => 0)'
     '</script>', 'another host'),
    ('<b>well</b>', '')])
def test_faults_of_a_page_are_seen(pages: Pages, tmp_path: Path, html: str, fault: str) -> None:
    viewer = Viewer([sys.executable, '-c', SERVER, html], tmp_path)
    try:
        pages.open(f'{viewer.address}/').evaluate('0')  # events before it have come then
    finally:
        viewer.end()
    assert (fault in '\n'.join(pages.errors)) if fault else not pages.errors
    pages.errors.clear()
