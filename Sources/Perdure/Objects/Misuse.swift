/// Stops the program with a message for its author: the call, its arguments, and the correct call.
/// Optimized programs print it too, unlike the message of `precondition`.
///
/// Infrequently called public functions pass the file and line of their caller. Accessors,
/// properties, and functions that programs also use as values (`objects.forEach(context.delete)`)
/// do not. Their messages name the entity, the property and the object, with the file and line of
/// the check.
///
/// - Parameters:
///   - file: The file of the mistake, as the crash report shows it.
///   - line: The line of the mistake.
@inline(never)
func stop(_ message: String, file: StaticString = #fileID, line: UInt = #line) -> Never {
  fatalError(message, file: file, line: line)
}
