# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Files that are attached to a bag, such as the facts file of a black box."""

from __future__ import annotations

from pathlib import Path

from .errors import BagError, library
from ..documents.input_file import open_input

FACTS = 'facts.yaml'  #: the facts file of a black box
LIMIT = 10_000_000  #: maximum size in bytes


def attached_text(path: str | Path, name: str) -> str:
    """Return the text of a file that is attached to an MCAP file; '' if there is none."""
    path = Path(path)
    if not path.is_file() or path.suffix != '.mcap':
        return ''
    reader, errors = library('mcap.reader'), library('mcap.exceptions')
    try:
        with open_input(path) as file:
            for record in reader.make_reader(file).iter_attachments():
                if record.name == name and len(record.data) <= LIMIT:
                    return str(record.data.decode('utf-8'))
    except (OSError, ValueError, errors.McapError) as error:
        raise BagError(f'{path}: attachment {name}: {error}') from error
    return ''
