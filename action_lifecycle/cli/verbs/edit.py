# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The verb `edit`: changes a flow while it runs."""

from __future__ import annotations

import argparse
import sys

from action_lifecycle_msgs.msg import ErrorCode
from action_lifecycle_msgs.srv import EditFlow

from ..actor import who, why
from ..client import accepted, connect
from ...documents.errors import LifecycleError
from ...documents.input_file import read_text
from ...documents.yaml_document import read_document
from ...flow.files.edit import MAX_EDIT_BYTES, parse_edit


def edit(options: argparse.Namespace) -> None:
    """Check the form of an edit, then send it to the action node."""
    if options.file == '-':
        name, text = '<stdin>', sys.stdin.read(MAX_EDIT_BYTES + 1)
    else:
        name = options.file
        read_document(name, max_bytes=MAX_EDIT_BYTES)
        text = read_text(name)
    parse_edit(text, name)
    if options.base_seq < 0:
        raise LifecycleError(f'--base-seq {options.base_seq}: expected 0 or more')
    with connect(options.namespace, options.wait) as client:
        answer, _ = client.order(EditFlow, 'edit_flow', EditFlow.Request(
            flow_id=options.flow, edit_yaml=text, base_seq=options.base_seq,
            author=who(options), reason=why(options)))
    if answer.error_code == ErrorCode.EDIT_REFUSED:
        raise LifecycleError('refused:\n' + '\n'.join(
            f'{name}:{line.removeprefix("edit:")}' if line.startswith('edit:') else line
            for line in answer.error_msg.splitlines()))
    accepted(answer)
    print(f'flow {options.flow} edited: row {answer.seq}' if answer.seq
          else f'flow {options.flow}: nothing to change')
    if answer.error_msg:
        print(answer.error_msg)
