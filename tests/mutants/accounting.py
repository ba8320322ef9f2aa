"""Bugs planted in ledgers, accounts, receipts and what `auto` expects of noise."""

from tests.mutants.mutant import Mutant

LEDGER = "tests/unit/accounting/test_budget_claims.py"
RECEIPT = "tests/unit/accounting/test_receipt.py"
AUTO = "tests/unit/methods/auto/test_auto.py"
LAWS = "tests/laws/test_auto.py"

PARTS = "tests/unit/accounting/test_composition.py"

MUTANTS = {
    "cancelled accounts are charged": Mutant(
        "_accounting/budget.py",
        "            if granted is account:\n                return entries\n",
        "            if granted is account:\n                return entries\n"
        "        return account._entries\n",
        f"{LEDGER}::test_a_cancelled_account_buys_nothing",
    ),
    "what equals an account is one": Mutant(
        "_accounting/budget.py",
        "if granted is account:",
        "if granted == account:",
        f"{LEDGER}::test_what_was_not_granted_buys_nothing",
    ),
    "what equals an account takes it back": Mutant(
        "_accounting/budget.py",
        "if a is not account or e}",
        "if a != account or account.entries}",
        f"{LEDGER}::test_what_equals_an_account_takes_none_back",
    ),
    "the account that was asked with is charged, not the ledger's": Mutant(
        "_core/private_data.py",
        "positions = self.ledger.charge(account, entries)",
        "positions = getattr(account, 'charge', lambda e: account.ledger.charge(account,"
        " e))(entries)",
        f"{LEDGER}::test_what_was_not_granted_buys_nothing",
    ),
    "accounts are made by hand": Mutant(
        "_accounting/budget.py",
        "    def __init__(self, *_: object) -> None:\n        raise TypeError(\n",
        "    def __init__(self, *_: object) -> None:\n        str(\n",
        f"{LEDGER}::test_an_account_is_not_made_by_hand",
    ),
    "shares of another account are charged": Mutant(
        "_accounting/budget.py",
        "if entry.share.account is not account:",
        "if entry.share.account is None:",
        f"{LEDGER}::test_the_shares_of_a_charge_belong_to_its_account",
    ),
    "shares of no account are charged": Mutant(
        "_accounting/budget.py",
        "if entry.share.account is not account:",
        "if entry.share.account not in (None, account):",
        f"{LEDGER}::test_the_shares_of_a_charge_belong_to_its_account",
    ),
    "accounts are copied": Mutant(
        "_accounting/budget.py",
        "class Account(Uncopied):",
        "class Account:",
        f"{LEDGER}::test_nothing_that_holds_budget_is_copied",
    ),
    "ledgers are copied": Mutant(
        "_accounting/budget.py",
        "class Ledger(Uncopied):",
        "class Ledger:",
        f"{LEDGER}::test_nothing_that_holds_budget_is_copied",
    ),
    "methods of an account are assigned": Mutant(
        "_accounting/budget.py",
        "@dataclass(frozen=True, eq=False, init=False, repr=False)",
        "@dataclass(eq=False, init=False, repr=False)",
        f"{LEDGER}::test_nothing_of_a_ledger_an_account_or_a_curator_is_assigned",
    ),
    "budget is counted in floats": Mutant(
        "_accounting/budget.py",
        "if type(amount) not in (int, Fraction):",
        "if type(amount) not in (int, float, Fraction):",
        f"{LEDGER}::test_budget_is_counted_exactly",
    ),
    "caps may be lists": Mutant(
        "_accounting/budget.py",
        "if any(type(pair) is not tuple or len(pair) != 2 for pair in pairs):",
        "if any(len(pair) != 2 for pair in pairs):",
        f"{LEDGER}::test_caps_stay_as_they_were_granted",
    ),
    "subclasses of caps are granted": Mutant(
        "_accounting/budget.py",
        "if type(caps) is not Caps:",
        "if not isinstance(caps, Caps):",
        f"{LEDGER}::test_caps_stay_as_they_were_granted",
    ),
    "subclasses of shares are let in": Mutant(
        "_core/private_data.py",
        "if type(share) is not Share or share.account is None:",
        "if not isinstance(share, Share) or share.account is None:",
        f"{LEDGER}::test_a_share_with_two_faces_buys_nothing",
    ),
    "kinds of shares are anything": Mutant(
        "_accounting/budget.py",
        "if type(self.kind) is not str or",
        "if not isinstance(self.kind, str) or",
        f"{LEDGER}::test_the_kind_of_a_share_is_a_word",
    ),
    "anything is a ledger": Mutant(
        "_core/declared.py",
        "if isinstance(ledger, Ledger):",
        "if not isinstance(ledger, str):",
        f"{LEDGER}::test_a_curator_takes_no_ledger_but_a_ledger",
    ),
    "ρ of what was charged": Mutant(
        "_accounting/receipt.py",
        "rho=rho_of_accounts(accounts),",
        "rho=float(sum(entry.share.amount**2 / 2 for entry in entries)),",
        f"{RECEIPT}::test_rho_is_that_of_the_caps_whatever_was_charged",
    ),
    "ρ of what auto was charged": Mutant(
        "_accounting/receipt.py",
        "rho=rho_of_accounts(accounts),",
        "rho=float(sum(entry.share.amount**2 / 2 for entry in entries)),",
        f"{RECEIPT}::test_rho_of_auto_is_the_same_on_all_data_though_its_charges_differ",
    ),
    "ρ forgets the Gaussian cap": Mutant(
        "_accounting/guarantee.py",
        "sum(part**2 for part in one.parts) / 2 + rho_of(one.mu2)",
        "sum(part**2 for part in one.parts) / 2",
        f"{RECEIPT}::test_rho_adds_over_currencies_and_accounts",
    ),
    "ρ beside plain charges": Mutant(
        "_accounting/guarantee.py",
        "if any(max(one.approximate) > 0 for one in caps):",
        "if not caps:",
        f"{RECEIPT}::test_there_is_no_rho_beside_plain_charges_and_beyond_floats",
    ),
    "ρ is rounded to the nearest": Mutant(
        "_accounting/guarantee.py",
        "return rho if Fraction(rho) >= exact else math.nextafter(rho, math.inf)",
        "return rho",
        f"{RECEIPT}::test_rho_is_rounded_up",
    ),
    "slack is stated as δ": Mutant(
        "_accounting/receipt.py",
        "return finite_precision_delta(self.epsilon, self.slack)",
        "return self.slack",
        f"{RECEIPT}::test_finite_precision_adds_one_plus_e_to_epsilon_times_the_distance",
    ),
    "a large ε looks as safe as a small one": Mutant(
        "_accounting/receipt.py",
        "return finite_precision_delta(self.epsilon, self.slack)",
        "return self.slack",
        f"{RECEIPT}::test_a_large_epsilon_has_no_guarantee_and_says_so",
    ),
    "δ of finite precision forgets its 1": Mutant(
        "_accounting/guarantee.py",
        "math.log(distance) + epsilon + math.log1p(math.exp(-epsilon))",
        "math.log(distance) + epsilon",
        f"{RECEIPT}::test_what_finite_precision_adds_is_rounded_up",
    ),
    "δ of finite precision is rounded to the nearest": Mutant(
        "_accounting/guarantee.py",
        "_ROUNDING = 1e-12",
        "_ROUNDING = 0.0",
        f"{RECEIPT}::test_what_finite_precision_adds_is_rounded_up",
    ),
    "slack of local reports is stated as δ": Mutant(
        "local/_transformer.py",
        "return finite_precision_delta(self.between_any_two, self.slack)",
        "return self.slack",
        f"{RECEIPT}::test_local_reports_say_what_finite_precision_adds",
    ),
    "metric reports count ε for one unit of distance": Mutant(
        "local/_transformer.py",
        "return finite_precision_delta(self.between_any_two, self.slack)",
        "return finite_precision_delta(self.epsilon, self.slack)",
        f"{RECEIPT}::test_metric_reports_say_what_finite_precision_adds_by_distance",
    ),
    "auto forgets the group in its guards": Mutant(
        "methods/_auto/budget.py",
        "return epsilon / self.task.max_rows_per_group",
        "return epsilon",
        f"{AUTO}::test_groups_with_more_budget_are_predicted_like_single_rows",
    ),
    "auto forgets the group in its steps": Mutant(
        "methods/_auto/budget.py",
        "self.fit.per_row(float(self.amount) if self.pure else math.sqrt(self.amount))",
        "(float(self.amount) if self.pure else math.sqrt(self.amount))",
        f"{AUTO}::test_gaussian_noise_is_as_many_times_larger_as_a_group_has_rows",
    ),
    "auto divides a Gaussian step by the root of the group": Mutant(
        "methods/_auto/budget.py",
        "self.fit.per_row(float(self.amount) if self.pure else math.sqrt(self.amount))",
        "(float(self.amount) if self.pure else math.sqrt(self.amount))"
        " / math.sqrt(self.fit.task.max_rows_per_group)",
        f"{AUTO}::test_gaussian_noise_is_as_many_times_larger_as_a_group_has_rows",
    ),
    "auto forgets the group in its radii": Mutant(
        "methods/_auto/full.py",
        "noise, 16 / (fit.per_row(split.radius)",
        "noise, 16 / (split.radius",
        f"{LAWS}::test_groups_of_m_rows_with_m_times_the_budget_are_treated_like_rows",
    ),
    "auto forgets the group in the radius around the mean": Mutant(
        "methods/_auto/branches.py",
        "split.steps.fit.per_row(split.radii)",
        "split.radii",
        f"{LAWS}::test_groups_of_m_rows_with_m_times_the_budget_are_treated_like_rows",
    ),
    "auto forgets the group where ε is tiny": Mutant(
        "methods/_auto/budget.py",
        "return task.epsilon / task.max_rows_per_group",
        "return task.epsilon",
        f"{AUTO}::test_what_is_tiny_is_so_for_each_row_of_a_group",
    ),
    "a fit does not say how many rows are hidden together": Mutant(
        "_private_fit.py",
        "            max_rows_per_group=opened.rows_per_neighbour,\n",
        "",
        f"{AUTO}::test_a_fit_tells_its_method_how_many_rows_are_hidden_together",
    ),
    "a part of pure ε is charged in another": Mutant(
        "_accounting/budget.py",
        "if e.share.kind == kind and part in (None, e.share.part)]",
        "if e.share.kind == kind and part in (None, 0)]",
        f"{PARTS}::test_a_charge_counts_against_its_own_part_alone",
    ),
    "the cap of a part is that of all": Mutant(
        "_accounting/budget.py",
        "return (self.pure if part is None else self.parts[part]), ZERO",
        "return self.pure, ZERO",
        f"{PARTS}::test_no_part_can_be_overdrawn",
    ),
    "parts that do not add up": Mutant(
        "_accounting/budget.py",
        "if sum(self.parts) != self.pure:",
        "if sum(self.parts) < self.pure:",
        f"{PARTS}::test_caps_calibrate_to_all_parts_together",
    ),
    "parts beyond the last": Mutant(
        "_accounting/budget.py",
        "if not 0 <= entry.share.part < parts:",
        "if entry.share.part >= parts:",
        f"{PARTS}::test_no_part_can_be_overdrawn",
    ),
    "randomised response without its worse side": Mutant(
        "_accounting/composition.py",
        "up = 1 / (1 + _mp.exp(-_real(epsilon)))",
        "up = _mp.mpf(1) / 2",
        f"{PARTS}::test_mu2_is_the_largest_that_the_sum_over_signs_allows",
    ),
    "μ² is not checked": Mutant(
        "_accounting/composition.py",
        "if holds(_mp.sqrt(_real(found))):",
        "if True:",
        f"{PARTS}::test_a_search_that_errs_is_not_believed",
    ),
    "parts beside Gaussian noise are forgotten": Mutant(
        "_accounting/budget.py",
        "return mu2_beside(self.parts, self.pure + epsilon, delta)",
        "return mu2_beside((), self.pure + epsilon, delta)",
        f"{PARTS}::test_caps_calibrate_to_all_parts_together",
    ),
    "ρ is turned into ε without its α": Mutant(
        "_accounting/composition.py",
        "first = (alpha - 1) * (alpha * rho - epsilon) - _mp.log(alpha - 1)",
        "first = (alpha - 1) * (rho - epsilon) - _mp.log(alpha - 1)",
        f"{PARTS}::test_rho_promises_no_more_than_a_gaussian_has",
    ),
}
