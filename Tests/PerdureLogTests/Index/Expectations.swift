import Testing

/// `#expect` for hot loops and for values that cannot be copied: it takes the expression as a
/// whole, so a failure names the line and prints no entries.
func expectTrue(
  _ condition: Bool, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
) {
  if !condition { Issue.record(comment ?? "the condition is false", sourceLocation: sourceLocation) }
}
