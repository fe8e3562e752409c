"""What an answer may rest on: numbered facts of the run and of the cards."""
