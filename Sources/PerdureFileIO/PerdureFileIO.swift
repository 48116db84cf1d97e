// PerdureFileIO: see ARCHITECTURE.md.
