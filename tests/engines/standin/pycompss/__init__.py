"""A stand-in for PyCOMPSs, which cannot be installed from the package index alone.

It has the decorator and the calls that the adapter uses, as the manual describes them, in two ways:

- `sequential`: what the real package does in a program that `runcompss` did not start. A task is a
  plain call, and waiting returns its argument.
- `deferred`: what the runtime promises. A call returns a future that is good for nothing but to be
  passed to another task or to be waited for; arguments and results are pickled on their way; tasks
  run when somebody waits, in an order of the runtime's own, and one in three runs twice.
"""

mode = "sequential"
"""How tasks are run from now on."""
