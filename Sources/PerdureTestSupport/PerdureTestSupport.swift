// PerdureTestSupport: see ARCHITECTURE.md.
