# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The sign-in form: plain HTML without scripts, since it has to work before all else."""

from __future__ import annotations

from html import escape
from pathlib import Path
import secrets
from string import Template
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ..access import Access, LIFETIME, MAX_ACTOR, SignInRefused
from ..gate import SIGN_IN

SIGN_OUT = '/sign-out'
MAX_FORM = 8192
"""Maximum size (bytes) of the form that is sent."""
_PAGE = Template(Path(__file__).with_name('sign_in.html').read_text(encoding='utf-8'))


def add_sign_in(app: Any, access: Access) -> None:
    """Add the form, and the ways to sign in and out, to a Starlette app."""
    async def show(request: Request) -> Response:
        return _form(access, request, place_on_here(request.query_params.get('next', '')))

    async def sign_in(request: Request) -> Response:
        body = await _body(request)
        if body is None:
            return Response('The form is too long.', 413)
        place = place_on_here(body.get('next', ''))
        actor = body.get('actor', '')
        if not access.is_form(request.cookies.get(access.form_cookie, ''), body.get('form', '')):
            return _form(
                access, request, place, actor, 'The form was out of date. Try again.', 403)
        address = request.client.host if request.client else ''
        try:
            cookie = access.sign_in(body.get('token', ''), actor, address)
        except SignInRefused as refused:
            response = _form(access, request, place, actor, str(refused),
                             429 if refused.wait else 403)
            if refused.wait:
                response.headers['retry-after'] = str(int(refused.wait) + 1)
            return response
        found = RedirectResponse(place, 303)
        found.set_cookie(access.cookie, cookie, max_age=int(LIFETIME), httponly=True,
                         samesite='strict', secure=access.secure)
        found.delete_cookie(access.form_cookie, httponly=True, samesite='strict',
                            secure=access.secure)
        return found

    async def sign_out(request: Request) -> Response:
        access.sign_out(request.cookies.get(access.cookie, ''))
        found = RedirectResponse('/', 303)
        found.delete_cookie(access.cookie, httponly=True, samesite='strict', secure=access.secure)
        return found

    app.add_route(SIGN_IN, show, methods=['GET'])
    app.add_route(SIGN_IN, sign_in, methods=['POST'])
    app.add_route(SIGN_OUT, sign_out, methods=['POST'])


def place_on_here(place: str) -> str:
    """Return a path of this server, with its query; '/' if `place` leads elsewhere."""
    if not place.startswith('/') or place.startswith(('//', SIGN_IN, SIGN_OUT)) \
            or '\\' in place or not place.isprintable() or not place.isascii():
        return '/'
    return place


def _form(
    access: Access, request: Request, place: str, actor: str = '', alert: str = '',
    status: int = 200,
) -> Response:
    form = request.cookies.get(access.form_cookie) or secrets.token_urlsafe(18)
    if not access.has_token:
        alert = 'Nobody can sign in: the viewer was started without a token.'
    response = HTMLResponse(_PAGE.substitute(
        alert=f'<p role="alert">{escape(alert)}</p>' if alert else '', action=SIGN_IN,
        next=escape(place), form=access.form_token(form), actor=escape(actor[:MAX_ACTOR]),
        longest=MAX_ACTOR, first='' if actor else 'autofocus', second='autofocus' if actor else '',
        back='' if access.public else f'<a href="{escape(place)}">Go on without (read-only)</a>'),
        status)
    response.set_cookie(access.form_cookie, form, max_age=3600, httponly=True, samesite='strict',
                        secure=access.secure)
    return response


async def _body(request: Request) -> dict[str, str] | None:
    """Return the fields of the form that was sent; None if it is too long."""
    found = b''
    async for part in request.stream():
        found += part
        if len(found) > MAX_FORM:
            return None
    try:
        fields = parse_qs(found.decode('utf-8', 'replace'), max_num_fields=16)
    except ValueError:
        return None
    return {name: values[0] for name, values in fields.items()}
