# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Makes the app of the viewer: its pages, the sign-in, and what guards them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from .access import Access
from .fleet_watch import Fleet
from .place import FLEET, place_of, View, VIEWS
from .robots import Robot
from ..documents.errors import LifecycleError

RECONNECT = 5.0
"""Time (s) for which the server keeps a page whose browser is away. It is loaded again after."""
TITLE = 'action_lifecycle'


def build(
    robots: Sequence[Robot], access: Access,
    tasks: Sequence[Callable[[], Coroutine[Any, Any, None]]] = (), fleet: Fleet | None = None,
) -> Any:
    """
    Return the ASGI app with the pages of `robots`, and of `fleet` if given, for a Server.

    `tasks` run in its loop from start to stop. Once per process: NiceGUI has one app. Raises
    LifecycleError if NiceGUI is not installed.
    """
    try:
        import nicegui
    except ModuleNotFoundError as error:
        raise LifecycleError(
            "the viewer needs NiceGUI; install it with: pip install 'action_lifecycle[web]'",
        ) from error
    from fastapi import FastAPI
    from nicegui import ui

    from .gate import Gate
    from .pages.now.camera import add_images
    from .pages.orders import end_pages
    from .pages.shell import add_shell_files, Shell
    from .pages.sign_in import add_sign_in
    from .sockets import (
        free_pages,
        guard_sockets,
        name_banner,
        page_cookies,
        script_nonces,
    )

    if not robots:
        raise LifecycleError('the viewer has no robot to show')
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None,
                  lifespan=_running([*tasks, end_pages, free_pages,
                                    *([fleet.run] if fleet else [])]))
    add_sign_in(app, access)
    for view in (*VIEWS, FLEET) if fleet else VIEWS:
        _add_page(ui, view, robots, access, fleet, Shell)
    add_shell_files(nicegui.app)
    add_images(app, robots)
    nicegui.app.config.socket_io_js_transports = ['websocket']
    ui.run_with(app, title=TITLE, dark=None, language='en-US', reconnect_timeout=RECONNECT,
                show_welcome_message=False, tailwind=False, binding_refresh_interval=None)
    script_nonces()
    guard_sockets()
    name_banner()
    app.add_middleware(Gate, access=access, owner=page_cookies)
    return app


def _add_page(
    ui: Any, view: View, robots: Sequence[Robot], access: Access, fleet: Fleet | None,
    shell: Any,
) -> None:
    from starlette.requests import Request

    async def page(request: Request) -> None:
        shell(view, robots, access, place_of(request.query_params), fleet).build()

    page.__annotations__['request'] = Request
    ui.page(view.path, title=f'{view.label} · {TITLE}')(page)


def _running(
    tasks: Sequence[Callable[[], Coroutine[Any, Any, None]]],
) -> Callable[[Any], Any]:
    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        running = [asyncio.create_task(task()) for task in tasks]
        try:
            yield
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
    return lifespan
