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

"""
Writes to a journal until it is killed, and tells on stdout what it was promised.

usage: writer_process.py PATH [SEED [keep]]

Each line is 'row SEQ' (an append that returned), 'safe SEQ' (a barrier that was reached) or
'compacted SEQ' (rows up to there may be gone; not with `keep`). A line goes out in one write, so a
kill can't leave half of it.
"""

import os
import random
import sys

from action_lifecycle.ledger import Entry, Journal
from action_lifecycle.ledger import journal as journal_module

journal_module.CHECKPOINT_BYTES = int(os.environ.get('JOURNAL_CHECKPOINT_BYTES', '4000000'))
path, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
chance = random.Random(seed)


def tell(word, seq):
    os.write(1, f'{word} {seq}\n'.encode())


def safe(future):
    tell('safe', future.result())


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
    if chance.random() < 0.003 and 'keep' not in sys.argv:
        synced = max(0, rows[-1].seq - 50)
        tell('compacted', synced)
        journal.compact(synced_to=synced, batch=40)
