# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The endpoint that the tests ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .endpoint import Endpoint


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """Give an endpoint that the environment names."""
    endpoint = Endpoint()
    monkeypatch.setenv('OPENAI_BASE_URL', endpoint.url)
    monkeypatch.setenv('OPENAI_MODEL', 'small')
    monkeypatch.setenv('OPENAI_API_KEY', 'secret')
    yield endpoint
    endpoint.close()
