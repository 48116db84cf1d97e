// Perdure: see ARCHITECTURE.md.
