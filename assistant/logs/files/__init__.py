"""What the readers of data files share: numbers, step columns, points of many metrics, framing of binary logs, merging."""
