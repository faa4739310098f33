# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The open questions to people, with their evidence, to be answered in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from nicegui import ui

from .symbols import StateChip
from .ticking import Ticking
from ..controls import short, why_no_orders
from ..order_button import allow, OrderButton
from ..orders import PageOrders, tell
from ...place import FLOW, Place
from ...record.shown import QuestionNow
from ...robots import Answer, Orders, Robot
from ....lifecycle.flow_ids import shown
from ....lifecycle.text_format import fact_in_words
from ....report.looks import LOOKS

MAX_CARDS = 50
ICONS = {'verify': 'fact_check', 'fallback': 'alt_route', 'resume': 'restart_alt',
         'input': 'edit_note', 'takeover': 'swap_horiz', 'authorize': 'key'}
VERDICT = {'true': 'completed', 'false': 'failed', 'unknown': 'blocked'}
_Key = tuple[str, str, tuple[str, ...]]  #: node, id and options of a question


class Questions:
    """
    Cards of questions; a card keeps what is typed until the question ends.

    What was typed comes back with the question, for example when its node was restarted.
    """

    def __init__(self, robot: Robot, orders: PageOrders) -> None:
        self._robot, self._orders = robot, orders
        self._cards: dict[_Key, QuestionCard] = {}
        self._drafts: dict[_Key, tuple[str, str]] = {}
        with ui.element('section').classes('now-section').props(
                'aria-label=Questions aria-live=polite') as self.section:
            self._title = ui.label('Questions').classes('now-title')
            self._none = ui.label('No open questions.').classes('now-empty')
            self._list = ui.column().classes('questions')
            self._more = ui.label().classes('now-soft')

    def show(self, questions: Sequence[QuestionNow]) -> None:
        """Show the open questions."""
        wanted = {(each.node, each.id, tuple(each.options)): each
                  for each in questions[:MAX_CARDS]}
        for key in self._cards.keys() - wanted.keys():
            card = self._cards.pop(key)
            if any(card.draft):
                self._drafts[key] = card.draft
                while len(self._drafts) > MAX_CARDS:
                    del self._drafts[next(iter(self._drafts))]
            card.delete()
        for key, question in wanted.items():
            if key not in self._cards:
                with self._list:
                    self._cards[key] = QuestionCard(
                        self._robot, self._orders, question, self._drafts.pop(key, ('', '')))
            self._cards[key].show(question)
        self._title.set_text(f'Questions ({len(questions)})' if questions else 'Questions')
        self._none.set_visibility(not questions)
        left = len(questions) - len(wanted)
        self._more.set_text(f'and {left} more' if left > 0 else '')
        self._more.set_visibility(left > 0)


class QuestionCard:
    """A question: its text, evidence, deadline, and the buttons or the field of its answers."""

    def __init__(
        self, robot: Robot, orders: PageOrders, question: QuestionNow, draft: tuple[str, str],
    ) -> None:
        self._robot, self._orders, self._question = robot, orders, question
        self._told: object = None  #: what the card shows beside the answers
        self._text: ui.textarea | None = None
        self._comment: ui.input | None = None
        self._buttons: list[OrderButton] = []
        with ui.element('article').classes('now-card question') as self._card:
            self._card.props['data-question'] = question.id
            self._card.props['aria-label'] = f'Question: {short(question.question)}'
            self._about = ui.element('div').classes('question-about')
            if robot.now.live:
                self._answers(*draft)

    @property
    def draft(self) -> tuple[str, str]:
        """Return answer and comment as they are typed."""
        answer, comment = (str(field.value or '') if field is not None else ''
                           for field in (self._text, self._comment))
        return answer, comment

    def delete(self) -> None:
        """Remove the card."""
        self._card.delete()

    def show(self, question: QuestionNow) -> None:
        """Show a question, of the same id and with the same options; the fields stay."""
        self._question = question
        if question != self._told:
            self._told = question
            self._about.clear()
            with self._about:
                self._head()
                ui.label(question.question).classes('question-text foreign')
                if question.link.startswith(('http://', 'https://')):
                    ui.link(question.link, question.link, new_tab=True).classes('foreign').props(
                        'rel="noopener noreferrer"')
                for evidence in question.evidence:
                    _evidence(evidence)
        if self._deadline is not None:
            self._deadline.show(question.deadline, self._robot.now.clock_offset)
        self._asked.show(question.asked, self._robot.now.clock_offset)
        reason = why_no_orders(self._robot, self._orders)
        for button in self._buttons:
            button.allow(reason)
        for field in filter(None, (self._text, self._comment)):
            allow(field, reason)

    def _head(self) -> None:
        question = self._question
        self._deadline: Ticking | None = None
        with ui.row().classes('question-head'):
            ui.icon(ICONS.get(question.kind, 'help'), size='18px').props('aria-hidden=true')
            ui.label(question.kind or 'question').classes('question-kind')
            if question.flow_id:
                flow_id, path = shown(question.flow_id, question.action_id)
                ui.link(f'{flow_id}/{path}' if path else flow_id, Place(
                    self._robot.name, flow_id, None, path).url(FLOW)).classes('foreign')
            ui.space()
            self._asked = Ticking(before='asked ', after=' ago').classes('now-soft')
            if question.deadline:
                rest = f', then: {short(question.default)}' if question.default else ''
                self._deadline = Ticking(
                    left=True, after=f' left{rest}', over='time is up').classes(
                        'question-deadline')

    def _answers(self, text: str, comment: str) -> None:
        question = self._question
        with ui.row().classes('question-answers'):
            for option in question.options:
                button = OrderButton(option, partial(self._send, option)).props(
                    'outline data-answer')
                if option == question.default:
                    button.classes('question-default')
                self._buttons.append(button)
            if not question.options:
                self._text = ui.textarea('Answer', value=text).props(
                    'outlined dense autogrow maxlength=4096').classes('question-free')
                self._buttons.append(OrderButton('Send', self._send_text, icon='send').props(
                    'outline data-answer'))
            self._comment = ui.input(placeholder='Comment (journaled)', value=comment).props(
                'dense outlined maxlength=4096 aria-label="Comment on the answer"').classes(
                'question-comment')

    async def _send_text(self, seen: int) -> None:
        answer = self.draft[0].strip()
        if not answer:
            tell('Type an answer first.', 'warning')
            return
        await self._send(answer, seen)

    async def _send(self, answer: str, _: int) -> None:
        """Send an answer; a question that has ended, or was replaced, has another id."""
        question, comment = self._question, self.draft[1].strip()

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
