# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The moment that pages share."""

from action_lifecycle.viewer.moment import Moment


def test_listeners_hear_of_each_change_once():
    moment = Moment()
    heard = []
    moment.listen(lambda: heard.append(moment.seq))
    for seq in (4, 4, 7, None, None):
        moment.set(seq)
    assert heard == [4, 7, None]
    assert moment.live


def test_a_listener_ends_without_effect_on_the_others():
    moment = Moment(3)
    heard = []
    cancel = moment.listen(lambda: heard.append('first'))
    moment.listen(lambda: (heard.append('second'), cancel()))
    moment.set(4)
    cancel()
    moment.set(5)
    assert heard == ['first', 'second', 'second']
