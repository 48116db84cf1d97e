// PerdurePredicates: see ARCHITECTURE.md.
