// PerdureFormat: see ARCHITECTURE.md.
