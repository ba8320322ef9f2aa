"""Bugs planted in the last look at a mechanism before its charge."""

from tests.mutants.mutant import Mutant

LOSS = "tests/unit/core/test_mechanisms_loss.py"
WRONG = f"{LOSS}::test_a_wrong_scale_is_refused_and_nothing_is_charged_or_read"

MUTANTS = {
    "what a mechanism costs is not compared with its share": Mutant(
        "_core/private_data.py",
        "if entry.loss > entry.share.amount:",
        "if entry.loss > 2 * entry.share.amount:",
        WRONG,
    ),
    "what a mechanism costs is compared after the charge": Mutant(
        "_core/private_data.py",
        "        for entry in entries:\n            if entry.loss > entry.share.amount:\n",
        "        self.ledger.charge(entries[0].share.account, entries)\n"
        "        for entry in entries:\n            if entry.loss > entry.share.amount:\n",
        WRONG,
    ),
    "the cost of a selection forgets that scores may fall": Mutant(
        "_core/releases/choose.py",
        "Fraction(self.most if self.monotone else 2 * self.most) / self.scale",
        "Fraction(self.most) / (2 * self.scale)",
        f"{LOSS}::test_a_wrong_scale_of_a_choice_is_refused",
    ),
}
