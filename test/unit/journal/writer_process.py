# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Writes to a journal until it is killed, and tells on stdout what it was promised.

usage: writer_process.py PATH [SEED [keep]]
       writer_process.py PATH forking

Each line is 'row SEQ' (an append that returned), 'safe SEQ' (a barrier that was reached) or
'compacted SEQ' (rows up to there may be gone; not with `keep`). A line goes out in one write, so a
kill can't leave half of it.

With `forking` it reads seeds from stdin, one a line, and forks a writer for each, so that a writer
costs no imports; 'pid PID' is told before its lines and 'ended PID' after them.
"""

import os
import random
import sys

from action_lifecycle.journal import Entry, Journal
from action_lifecycle.journal import journal as journal_module

journal_module.CHECKPOINT_BYTES = int(os.environ.get('JOURNAL_CHECKPOINT_BYTES', '4000000'))


def tell(word, seq):
    os.write(1, f'{word} {seq}\n'.encode())


def safe(future):
    tell('safe', future.result())


def write(path, seed, keep):
    chance = random.Random(seed)
    journal = Journal(path)
    states = {(row.flow_id, row.action_id): row.to_state for row in journal.open_actions()}
    tell('row', journal.last_seq())
    while True:
        action = f'action-{chance.randrange(20)}'
        state = states.get(('flow', action), 'assigned')
        final = state == 'completed'
        target = {'assigned': 'in_progress', 'in_progress': 'completed'}.get(state, 'assigned')
        entry = Entry('transition', 'flow', action, 1, f'to_{target}', state, target,
                      data={'padding': 'x' * chance.randrange(3000)}, final=final)
        states['flow', action] = target
        if chance.random() < 0.1:
            rows = journal.append_many([entry, Entry('note', 'flow', action, event='beside')])
        else:
            rows = [journal.append(entry)]
        tell('row', rows[-1].seq)
        if chance.random() < 0.1:
            journal.barrier(safe)
        if chance.random() < 0.01 and not keep:
            synced = max(0, rows[-1].seq - 50)
            tell('compacted', synced)
            journal.compact(synced_to=synced, batch=40)


def fork_writers(path):
    """Fork a writer for each seed that is read; this process has no threads and no files open."""
    while seed := os.read(0, 100):
        pid = os.fork()
        if pid == 0:
            try:
                write(path, int(seed), False)
            finally:
                os._exit(1)
        tell('pid', pid)
        os.waitpid(pid, 0)
        tell('ended', pid)


if sys.argv[2:3] == ['forking']:
    fork_writers(sys.argv[1])
else:
    write(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0, 'keep' in sys.argv)
