// PerdureCompression: see ARCHITECTURE.md.
