"""The shapes in which logs hold numbers (a line, a printed dict, a table, a bar); formats are made of them."""
