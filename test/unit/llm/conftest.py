# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
