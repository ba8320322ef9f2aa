"""File formats: text tables, NumPy arrays, Parquet."""
