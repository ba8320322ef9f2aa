"""Bugs planted in the ledger that lasts: in what is on disk, what is covered, and what is found."""

from tests.mutants.mutant import Mutant

SQLITE = "_ledger/sqlite.py"
POSTGRES = "_ledger/postgres.py"
STORE = "_ledger/store.py"
DURABLE = "_ledger/durable.py"
UNIT = "tests/unit/ledger"
LAW = "tests/laws/test_ledger.py::test_no_order_of_steps_overspends_and_a_restart_changes_nothing"
FORKS = "tests/ledger/test_forks.py"
CUT = "tests/ledger/test_powercut.py::test_no_acknowledged_charge_is_lost"

# Looks at the account and at the store, so both are put out of action.
CANCEL = (
    "account in self.accounts and not account.entries:\n"
    "                seq = _own(*self._reserved[account])\n"
    "                cost = self.facts.composition.cost(account.caps)\n"
    "                back = [(self._person, unit, n) for unit, n in cost.items()]\n"
    "                with self.store.transaction() as change:\n"
    "                    if not self.store.events(parent=seq):"
)

MUTANTS = {
    "a commit does not wait for the disk": Mutant(
        SQLITE,
        "PRAGMA synchronous = FULL",
        "PRAGMA synchronous = OFF",
        CUT,
    ),
    "a commit waits for the disk at checkpoints alone": Mutant(
        SQLITE,
        "PRAGMA synchronous = FULL",
        "PRAGMA synchronous = NORMAL",
        CUT,
    ),
    "the name of the mark is not on disk": Mutant(
        SQLITE,
        "    if first:\n",
        "    if first and not path:\n",
        CUT,
    ),
    "the mark is not on disk when it is renamed": Mutant(
        SQLITE,
        "        os.fsync(file.fileno())\n",
        "",
        CUT,
    ),
    "transactions of SQLite overlap": Mutant(
        SQLITE,
        '"BEGIN IMMEDIATE" if alone else "BEGIN"',
        '"BEGIN"',
        "tests/ledger/test_crowd.py::test_a_crowd_is_granted_exactly_the_budget[sqlite]",
    ),
    "transactions of PostgreSQL overlap": Mutant(
        POSTGRES,
        "        if alone:\n",
        "        if not alone:\n",
        "tests/ledger/test_crowd.py::test_a_crowd_is_granted_exactly_the_budget[postgres]",
    ),
    "what is read is older than the lock": Mutant(
        POSTGRES,
        'self.execute(f"BEGIN ISOLATION LEVEL {level}")',
        'self.execute("BEGIN")',
        f"{UNIT}/test_postgres.py::test_what_is_read_is_not_older_than_the_lock[repeatable read]",
    ),
    "a server that does not sync is accepted": Mutant(
        POSTGRES,
        'if synced != ("on",):',
        "if synced is None:",
        f"{UNIT}/test_postgres.py::test_a_server_that_does_not_sync_is_refused",
    ),
    "a failed transaction of PostgreSQL counts as committed": Mutant(
        POSTGRES,
        'if statement == "COMMIT" and cursor.statusmessage != "COMMIT":',
        'if statement == "COMMIT" and not cursor.statusmessage:',
        f"{UNIT}/test_postgres.py::test_a_transaction_that_failed_is_not_taken_for_committed",
    ),
    "a cost is rounded down": Mutant(
        "_ledger/modes.py",
        "rounded = math.ceil if up else math.floor",
        "rounded = math.floor",
        f"{UNIT}/test_durable.py::test_a_cost_is_rounded_up_and_a_capacity_down[sqlite]",
    ),
    "a capacity is rounded up": Mutant(
        "_ledger/modes.py",
        'return whole({"epsilon": self.epsilon, "delta": self.delta}, up=False)',
        'return whole({"epsilon": self.epsilon, "delta": self.delta}, up=True)',
        f"{UNIT}/test_modes.py::test_capacities_of_a_third_are_rounded_down",
    ),
    "the balance of another person is looked at": Mutant(
        DURABLE,
        "left = store.balances(facts.dataset).get(person, {})",
        "left = store.balances(facts.dataset).get(NOBODY, {})",
        f"{UNIT}/test_durable.py::test_a_grant_is_what_one_person_may_spend[sqlite]",
    ),
    "the balance of another dataset is charged": Mutant(
        STORE,
        'SET amount = amount + NEW.amount WHERE dataset = NEW.dataset "\n    "AND person',
        "SET amount = amount + NEW.amount WHERE dataset <> '' \"\n    \"AND person",
        f"{UNIT}/test_durable.py::test_datasets_do_not_share_a_budget[sqlite]",
    ),
    "the database lets a balance fall below 0": Mutant(
        STORE,
        "CHECK (amount >= 0)",
        "CHECK (amount >= 0 OR amount < 0)",
        f"{UNIT}/test_store.py::test_the_database_itself_refuses_what_a_balance_does_not_cover[sqlite-nobody]",
    ),
    "a charged account is given back": Mutant(
        DURABLE,
        CANCEL,
        CANCEL.replace("and not account.entries:", "")
        .replace("accounts ", "accounts:")
        .replace("not self.store.events(parent=seq)", "seq"),
        f"{UNIT}/test_durable.py::test_a_charge_stays_spent_and_its_reservation_is_not_given_back"
        "[sqlite]",
    ),
    "a request is reserved twice": Mutant(
        DURABLE,
        "if _reservation(self.store, self.facts.dataset, request) is not None:",
        "if not settings and _reservation(self.store, self.facts.dataset, request) is not None:",
        f"{UNIT}/test_durable.py::test_a_request_is_answered_once_and_its_release_comes_back"
        "[sqlite]",
    ),
    "a request is released twice": Mutant(
        STORE,
        "NEW.kind = 'release')))",
        "NEW.kind = 'none')))",
        f"{UNIT}/test_durable.py::test_a_release_is_made_once[sqlite]",
    ),
    "a hash does not cover the one before": Mutant(
        STORE,
        'f"{previous}\\n{text}"',
        'f"\\n{text}"',
        f"{UNIT}/test_store.py::test_the_hash_of_an_event_covers_the_one_before_it",
    ),
    "events can be changed": Mutant(
        SQLITE,
        'for word in ("UPDATE", "DELETE")',
        'for word in ("DELETE",)',
        f"{UNIT}/test_store.py::test_what_was_written_stays[sqlite-update-event]",
    ),
    "a changed release is not found": Mutant(
        STORE,
        'if not rows or digest_of(rows[0][0]) != body["digest"]:',
        "if not rows:",
        f"{UNIT}/test_store.py::test_tampering_is_found[sqlite-a changed release]",
    ),
    "the mark is not checked": Mutant(
        SQLITE,
        "if not found or found[0][0] != known[1]:",
        "if found and found[0][0] != known[1]:",
        f"{UNIT}/test_sqlite.py::test_a_file_that_was_put_back_is_refused",
    ),
    "the mark names an event that is not committed": Mutant(
        STORE,
        "if seq and movements and self.head is None:",
        "if seq and movements:",
        f"{UNIT}/test_sqlite.py::test_the_mark_names_an_event_that_was_committed_before",
    ),
    "a process that is forked off shares the locks of SQLite": Mutant(
        STORE,
        "        store.leave()\n",
        "",
        f"{FORKS}::test_parent_and_child_both_charge[sqlite]",
    ),
    "two processes charge one account": Mutant(
        DURABLE,
        "    if process != os.getpid():\n",
        "    if process < 0:\n",
        f"{FORKS}::test_an_account_belongs_to_the_process_that_reserved_it[sqlite]",
    ),
    "a charge is written after the rows are read": Mutant(
        "_core/private_data.py",
        "        positions = self.ledger.charge(account, entries)\n"
        "        result = read(self.__rows)\n",
        "        result = read(self.__rows)\n"
        "        positions = self.ledger.charge(account, entries)\n",
        f"{UNIT}/test_durable.py::test_a_charge_is_on_disk_before_a_row_is_read[sqlite]",
    ),
    "what is given back goes to nobody": Mutant(
        DURABLE,
        "back = [(self._person, unit, n) for unit, n in cost.items()]",
        "back = [(NOBODY, unit, n) for unit, n in cost.items()]",
        LAW,
    ),
}
