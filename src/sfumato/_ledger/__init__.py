"""Budgets that outlive a process: ledgers in SQLite or PostgreSQL."""
