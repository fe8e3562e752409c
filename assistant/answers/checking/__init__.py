"""Whether a text says only what is so: `verify` for one run, `verify_runs` for several. Each other module checks one kind of statement."""
