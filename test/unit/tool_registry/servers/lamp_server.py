# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""An MCP server on standard input and output, as small as the protocol lets it be."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

SWITCH = {'type': 'object', 'properties': {'on': {'type': 'boolean'}}, 'required': ['on'],
          'additionalProperties': False}
ANY = {'type': 'object', 'properties': {}}
TOOLS = {'switch': SWITCH, 'pid': ANY, 'die': ANY, 'hang': ANY, 'fail': ANY, 'large': ANY,
         'unicode': ANY, 'lie': ANY, 'slow': ANY, 'secret': ANY, 'noise': ANY,
         'outside': {'type': 'object', '$ref': 'http://127.0.0.1:9/schema.json'}}


ANSWERS = {'switch': {'outputSchema': SWITCH}, 'lie': {'outputSchema': SWITCH}, 'slow': {
    'outputSchema': {'type': 'object', 'properties': {'on': {'pattern': '^(a+)+$'}}}}}


def text(value: str) -> dict[str, Any]:
    return {'content': [{'type': 'text', 'text': value}], 'isError': False}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == 'switch':
        return {**text('done'), 'structuredContent': {'on': arguments['on']}}
    if name in ('lie', 'slow'):
        return {**text('done'), 'structuredContent': {'on': 'a' * 40 + '!'}}
    if name == 'pid':
        return text(str(os.getpid()))
    if name == 'die':
        print('the bulb has burst', file=sys.stderr, flush=True)
        os._exit(1)
    if name == 'hang':
        time.sleep(600)
    if name == 'fail':
        return {**text('the bulb is broken'), 'isError': True}
    if name == 'large':
        return text('x' * 1_000_000)
    if name == 'noise':
        print('no message at all', flush=True)
    return text('Grüße 🤖 \u202e')


def answer(message: dict[str, Any]) -> dict[str, Any]:
    method, parameters = message['method'], message.get('params') or {}
    if method == 'initialize':
        return {'result': {'protocolVersion': parameters['protocolVersion'],
                           'capabilities': {'tools': {}},
                           'serverInfo': {'name': 'lamps', 'version': '1'}}}
    if method == 'tools/list':
        return {'result': {'tools': [
            {'name': name, 'description': f'to {name}', 'inputSchema': schema,
             **ANSWERS.get(name, {})}
            for name, schema in TOOLS.items()]}}
    if method == 'tools/call' and parameters['name'] == 'secret' \
            and not os.path.exists(os.environ['AUTHORISED']):
        return {'error': {'code': -32042, 'message': 'authorise first', 'data': {'elicitations': [
            {'mode': 'url', 'message': 'Lamps want to know you', 'elicitationId': '1',
             'url': 'https://lamps.example/connect'}]}}}
    if method == 'tools/call':
        return {'result': call(parameters['name'], parameters.get('arguments') or {})}
    return {'error': {'code': -32601, 'message': 'unknown'}}


for line in sys.stdin:
    asked = json.loads(line)
    if 'id' in asked:
        print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], **answer(asked)}), flush=True)
