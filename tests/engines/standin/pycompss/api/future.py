"""What a call to a task returns while the task has not run."""

import pickle
import random

pending = []
calls = []
"""The name of every task that was run, once for every time it was run."""

_order = random.Random(1)


class Future:
    """The result of a task, which may not have run."""

    def __init__(self, function, arguments):
        self._function = function
        # An argument may be another future, but never something that holds one.
        self._arguments = [
            each if isinstance(each, Future) else pickle.dumps(each) for each in arguments
        ]
        self._done, self._result = False, None
        pending.append(self)

    def __reduce__(self):
        raise TypeError("a future is not a value: pass it to a task by itself, or wait for it")

    def wait(self):
        _order.shuffle(pending)
        while not self._done:
            pending.pop().run()
        if self._result is None:
            raise RuntimeError("the object was deleted")
        return pickle.loads(self._result)

    def run(self):
        if self._done:
            return
        for each in self._arguments:
            if isinstance(each, Future):
                each.run()
        for _ in range(1 + (_order.random() < 1 / 3)):
            values = [
                pickle.loads(each._result if isinstance(each, Future) else each)
                for each in self._arguments
            ]
            calls.append(self._function.__name__)
            self._result = pickle.dumps(self._function(*values))
        self._done = True

    def delete(self):
        self._result = self._arguments = None
