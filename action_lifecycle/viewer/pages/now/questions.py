# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The open questions to people, with their evidence, to be answered in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from .symbols import StateChip
from .ticking import Ticking
from ..controls import short, why_no_orders
from ..orders import PageOrders
from ...looks import LOOKS
from ...place import FLOW, Place
from ...record.shown import QuestionNow
from ...robots import Answer, Orders, Robot
from ....lifecycle.text_format import fact_in_words

MAX_CARDS = 50
ICONS = {'verify': 'fact_check', 'fallback': 'alt_route', 'resume': 'restart_alt',
         'input': 'edit_note', 'takeover': 'swap_horiz', 'authorize': 'key'}
VERDICT = {'true': 'completed', 'false': 'failed', 'unknown': 'blocked'}


class Questions:
    """Cards of questions; a card stays as it is, with what was typed, until its end."""

    def __init__(self, robot: Robot, orders: PageOrders) -> None:
        self._robot, self._orders = robot, orders
        self._cards: dict[tuple[str, str], tuple[QuestionNow, QuestionCard]] = {}
        with ui.element('section').classes('now-section').props(
                'aria-label=Questions aria-live=polite') as self.section:
            self._title = ui.label('Questions').classes('now-title')
            self._none = ui.label('No open questions.').classes('now-empty')
            self._list = ui.column().classes('questions')
            self._more = ui.label().classes('now-soft')

    def show(self, questions: Sequence[QuestionNow]) -> None:
        """Show the open questions."""
        wanted = {(each.node, each.id): each for each in questions[:MAX_CARDS]}
        for key, (question, card) in list(self._cards.items()):
            if wanted.get(key) != question:
                card.delete()
                del self._cards[key]
        with self._list:
            for key, question in wanted.items():
                if key not in self._cards:
                    self._cards[key] = question, QuestionCard(
                        self._robot, self._orders, question)
        for _, card in self._cards.values():
            card.show()
        self._title.set_text(f'Questions ({len(questions)})' if questions else 'Questions')
        self._none.set_visibility(not questions)
        left = len(questions) - len(wanted)
        self._more.set_text(f'and {left} more' if left > 0 else '')
        self._more.set_visibility(left > 0)


class QuestionCard:
    """A question: its text, evidence, deadline, and the buttons or the field of its answers."""

    def __init__(self, robot: Robot, orders: PageOrders, question: QuestionNow) -> None:
        self._robot, self._orders, self._question = robot, orders, question
        self._inputs: list[Any] = []
        self._deadline: Ticking | None = None
        with ui.element('article').classes('now-card question') as self._card:
            self._card.props['data-question'] = question.id
            self._head()
            ui.label(question.question).classes('question-text foreign')
            if question.link.startswith(('http://', 'https://')):
                ui.link(question.link, question.link, new_tab=True).classes('foreign').props(
                    'rel="noopener noreferrer"')
            for evidence in question.evidence:
                _evidence(evidence)
            if robot.now.live:
                self._answers()

    def delete(self) -> None:
        """Remove the card."""
        self._card.delete()

    def show(self) -> None:
        """Show what depends on the clock and on the session."""
        if self._deadline is not None:
            self._deadline.show(self._question.deadline, self._robot.now.clock_offset)
        self._asked.show(self._question.asked, self._robot.now.clock_offset)
        reason = why_no_orders(self._robot, self._orders)
        for element in self._inputs:
            element.set_enabled(not reason)
            if element.props.get('title', '') != reason:
                element.props['title'] = reason

    def _head(self) -> None:
        question = self._question
        with ui.row().classes('question-head'):
            ui.icon(ICONS.get(question.kind, 'help'), size='18px').props('aria-hidden=true')
            ui.label(question.kind or 'question').classes('question-kind')
            if question.flow_id:
                name = '/'.join(filter(None, (question.flow_id, question.action_id)))
                place = Place(self._robot.name, question.flow_id, None, question.action_id)
                ui.link(name, place.url(FLOW)).classes('foreign')
            ui.space()
            self._asked = Ticking(before='asked ', after=' ago').classes('now-soft')
            if question.deadline:
                rest = f', then: {short(question.default)}' if question.default else ''
                self._deadline = Ticking(
                    left=True, after=f' left{rest}', over='time is up').classes(
                        'question-deadline')

    def _answers(self) -> None:
        question = self._question
        with ui.row().classes('question-answers'):
            if question.options:
                for option in question.options:
                    button = ui.button(
                        option, color=None, on_click=lambda option=option: self._send(option),
                    ).props('outline no-caps data-answer')
                    if option == question.default:
                        button.classes('question-default')
                    self._inputs.append(button)
                self._text = None
            else:
                self._text = ui.textarea('Answer').props(
                    'outlined dense autogrow maxlength=4096').classes('question-free')
                send = ui.button('Send', icon='send', color=None,
                                 on_click=self._send_text).props('outline no-caps data-answer')
                self._inputs += [self._text, send]
            self._comment = ui.input(placeholder='Comment (journaled)').props(
                'dense borderless maxlength=4096 aria-label="Comment on the answer"').classes(
                'question-comment')
            self._inputs.append(self._comment)

    async def _send_text(self) -> None:
        answer = str(self._text.value or '').strip() if self._text is not None else ''
        if not answer:
            ui.notify('Type an answer first.', type='warning')
            return
        await self._send(answer)

    async def _send(self, answer: str) -> None:
        question, comment = self._question, str(self._comment.value or '').strip()

        async def order(orders: Orders, actor: str) -> Answer:
            return await orders.respond(question, answer, actor=actor, comment=comment)

        about = question.action_id or question.flow_id or question.kind
        await self._orders.send(
            self._robot, f'answer {short(answer)!r} to the question of {short(about)}', order)


def _evidence(evidence: Mapping[str, Any]) -> None:
    """Show one condition: verdict, expression, and the values of its facts."""
    verdict = str(evidence.get('verdict', 'unknown'))
    with ui.row().classes('evidence'):
        StateChip().show(LOOKS[VERDICT.get(verdict, 'blocked')], verdict)
        ui.label(str(evidence.get('expression', ''))).classes('code foreign')
        for fact in evidence.get('facts') or ():
            value = fact_in_words(fact, str(fact.get('unit') or ''))
            ui.label(f"{fact.get('name', '')} = {value}").classes('evidence-fact foreign')
