import Testing

/// `#expect` for hot loops and for values that cannot be copied. It takes only the result of the
/// expression, so a failure names the line and prints no operands.
func expectTrue(
  _ condition: Bool, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
) {
  if !condition { Issue.record(comment ?? "the condition is false", sourceLocation: sourceLocation) }
}
