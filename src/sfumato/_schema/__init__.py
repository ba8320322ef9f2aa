"""What is public about a table: its columns, their bounds and levels, and how cells are encoded."""
