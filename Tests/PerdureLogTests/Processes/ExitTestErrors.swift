import Testing

/// Runs the body of an exit test, and records an error as an issue.
///
/// An error that leaves an exit test only ends its process with a signal: the text is lost.
func recordingErrors(_ body: () async throws -> Void) async {
  do { try await body() } catch { Issue.record(error) }
}
