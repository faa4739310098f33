# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The dialog with the keys of the keyboard."""

from __future__ import annotations

from nicegui import ui

from .orders import PageOrders
from ..place import FLEET, VIEWS

KEYS = (
    *((view.key, f'{view.label}: {view.about}') for view in VIEWS),
    (FLEET.key, f'{FLEET.label}, if there is a ledger: {FLEET.about}'),
    ('/', 'choose another flow'), ('l', 'back to now'), ('d', 'light, dark, or as the system'),
    ('?', 'this list'), ('Tab, arrows', 'move between actions; Enter opens one'),
    ('Space', 'graph: open or close a group'), ('+ − 0', 'graph: larger, smaller, all of it'),
    ('← → Home End', 'player: a row back or on, the first row, now'), ('Esc', 'close a dialog'))


def help_dialog(orders: PageOrders) -> ui.dialog:
    """Make the dialog, closed."""
    with ui.dialog() as dialog, ui.card().classes('shell-dialog').props(
            'role=dialog aria-labelledby=help-title'):
        ui.label('Keyboard').classes('shell-dialog-title').props('id=help-title')
        with ui.element('dl').classes('shell-keys'):
            for key, meaning in KEYS:
                with ui.element('dt'):
                    ui.label(key)
                with ui.element('dd'):
                    ui.label(meaning)
        with ui.element('label').classes('shell-switch'):
            ui.element('input').props('type=checkbox data-single-keys')
            ui.label('Single keys are shortcuts (kept in this browser)')
        ui.label(f'Signed in as {orders.actor}.' if orders.allowed
                 else f'{orders.why_not.capitalize()}.').classes('shell-dialog-note')
        ui.button('Close', on_click=dialog.close).props('flat no-caps autofocus')
    return dialog
