# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The effects of a state: what its run calls through its agent, recorded so as to do nothing twice.

The effects of one run are numbered. If the process is killed while a state runs, the state runs
again: an effect whose result was recorded gives this result; one that had begun without a result
is treated by its kind:

=============== ===================================================================================
language model  asked again
condition       judged again
motion          followed by its flow id, made of session, visit and number; never sent twice
tool            by its id if it has `call_by_id`; called again if it is `idempotent`; otherwise a
                person is asked what happened
skill           repeated, since each of its calls is an effect of its own, such as 2.0 and 2.1 of
                the skill that is effect 2
=============== ===================================================================================
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from .record import Number, SessionRecord
from ..chooser import awaited, Choice
from ..tool_state import ToolError
from ...documents.errors import LifecycleError
from ...journal.row import EntryRefused, JournalError

AGAIN, DONE, FAILED = 'again', 'done', 'failed'
ANSWERS = (AGAIN, DONE, FAILED)
"""Answers of a person about a call whose fate is not known."""
HARMLESS, BY_ID, BY_STEPS, ASK = 'harmless', 'by_id', 'by_steps', 'ask'
"""What becomes of an effect that had begun."""

Call = Callable[[str, bool], Any]
"""Makes the call, with its id and whether an earlier process may have made it."""


class EffectLog(Protocol):
    """Records effects; a session implements it."""

    @property
    def record(self) -> SessionRecord:
        """Return the record of the session."""

    def write(self, event: str, data: Mapping[str, Any]) -> None:
        """Journal an event of the session, then apply it."""

    async def barrier(self) -> None:
        """Wait until all rows survive a power loss."""

    def ask_what_happened(self, what: str, key: str) -> Awaitable[str]:
        """Ask a person what became of a call; returns one of ANSWERS."""


class Effects:
    """The effects of one run of a state; `within`: number of the effect that they are part of."""

    def __init__(self, log: EffectLog, within: Number | None = None) -> None:
        self._log = log
        self._within = within
        self._count = 0

    def of_next(self) -> Effects:
        """Return the effects that the next one consists of."""
        return Effects(self._log, self._next())

    def _next(self) -> Number:
        return self._count if self._within is None else f'{self._within}.{self._count}'

    async def perform(self, kind: str, key: str, call: Call, after_crash: str) -> Any:
        """
        Make a call, or return what was recorded of it.

        `kind` and `key` describe it; raises LifecycleError if another one was recorded.
        """
        log, number = self._log, self._next()
        self._count += 1
        begun, done = log.record.begun.get(number), log.record.done.get(number)
        for earlier in (begun, done):
            if earlier is not None and (earlier['kind'], earlier['key']) != (kind, key):
                raise LifecycleError(
                    f"call {number} of this state was {earlier['kind']} {earlier['key']} before "
                    f'the restart, and is {kind} {key} now; what it did is not known')
        if done is not None:
            return _recorded(done)
        data = {'n': number, 'kind': kind, 'key': key}
        begins = {**data, 'by_id': after_crash == BY_ID}  # for a cancel without the tool
        if begun is not None and after_crash in (ASK, BY_STEPS):  # of steps without records
            asked = begun.get('asked', 0)
            answer = await log.ask_what_happened(f'{kind} {key}', f'{number}.{asked}')
            if answer == DONE:
                self._write({**data, 'value': None})
                return None
            if answer == FAILED:
                return self._failed(data, ToolError(f'{kind} {key} has failed, a person says'))
            log.write('effect', {**begins, 'asked': asked + 1})
            await log.barrier()
        elif begun is None and after_crash not in (HARMLESS, BY_STEPS):
            log.write('effect', begins)
            await log.barrier()
        try:
            value = await awaited(call(call_id_of(log.record, number), begun is not None))
        except JournalError:
            raise
        except Exception as error:
            if hasattr(error, 'connect_url'):
                if after_crash not in (HARMLESS, BY_STEPS):
                    log.write('effect_void', {'n': number})
                raise
            return self._failed(data, error)
        self._write({**data, 'value': value})
        return value

    def _failed(self, data: Mapping[str, Any], error: Exception) -> Any:
        said = str(error) or type(error).__name__
        self._write({**data, 'error': said, 'tool': isinstance(error, ToolError)})
        raise error

    def _write(self, data: Mapping[str, Any]) -> None:
        try:
            self._log.write('effect_done', data)
        except EntryRefused as error:
            raise LifecycleError(f"the result of {data['kind']} {data['key']} can't be recorded: "
                                 f'{error}') from error


def call_id_of(record: SessionRecord, number: Number) -> str:
    """Return the id of an effect of the current run of a state."""
    return f'{record.session_id}.{record.visit}.{number}'


class RecordedAgent:
    """
    The agent of a hosted session: `agent`, whose calls are recorded.

    It has the same attributes, except `get_user_input`: a session waits for events instead.
    """

    def __init__(self, agent: Any, effects: Effects) -> None:
        self._agent = agent
        self._effects = effects

    def __getattr__(self, name: str) -> Any:
        if name == 'get_user_input':
            raise AttributeError(name)
        found = getattr(self._agent, name)
        recorded = _RECORDED.get(name)
        return found if recorded is None else recorded(found, self._effects)


def _model(call_llm: Callable[..., Any], effects: Effects) -> Callable[..., Awaitable[Any]]:
    def recorded(context: Any, json_schema: Any = None) -> Awaitable[Any]:
        def call(call_id: str, again: bool) -> Any:
            return call_llm(context, json_schema=json_schema)
        return effects.perform('call_llm', '', call, HARMLESS)
    return recorded


def _chooser(chooser: Callable[[Choice], Any], effects: Effects) -> Callable[[Choice], Any]:
    return lambda choice: effects.perform(
        'choose', choice.state, lambda call_id, again: chooser(choice), HARMLESS)


def _motion(execute: Callable[..., Any], effects: Effects) -> Callable[..., Any]:
    def recorded(motion: Mapping[str, Any], context: Any = None) -> Awaitable[Any]:
        return effects.perform(
            'motion', str(motion.get('server', '')),
            lambda call_id, again: execute(motion, context, call_id=call_id, again=again), BY_ID)
    return recorded


def _confirm(confirm: Callable[..., Any], effects: Effects) -> Callable[..., Any]:
    def recorded(condition: str, within: float | None = None) -> Awaitable[Any]:
        return effects.perform(
            'confirm', condition, lambda call_id, again: confirm(condition, within), HARMLESS)
    return recorded


class _Tools:
    """The tool manager of a session: calls are recorded, lists of tools are not."""

    def __init__(self, manager: Any, effects: Effects) -> None:
        self._manager = manager
        self._effects = effects

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    async def call_tool(
        self, tool_name: str, arguments: Mapping[str, Any], user_id: Any = None
    ) -> Any:
        after_crash = await self._manager.after_crash(tool_name)
        steps = _Tools(self._manager, self._effects.of_next())

        def call(call_id: str, again: bool) -> Any:
            return self._manager.call_tool(
                tool_name, arguments, user_id, call_id=call_id, again=again,
                caller=steps.call_tool)
        return await self._effects.perform('tool', tool_name, call, after_crash)


_RECORDED: dict[str, Callable[[Any, Effects], Any]] = {
    'call_llm': _model, 'chooser': _chooser, 'execute_motion': _motion, 'confirm': _confirm,
    'tool_manager': _Tools}


def _recorded(done: Mapping[str, Any]) -> Any:
    """Return the recorded result of an effect, or raise its error."""
    if 'error' in done:
        raise (ToolError if done.get('tool') else LifecycleError)(done['error'])
    return done['value']
