// PerdureLog: see ARCHITECTURE.md.
