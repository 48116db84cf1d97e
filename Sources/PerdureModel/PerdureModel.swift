// PerdureModel: see ARCHITECTURE.md.
