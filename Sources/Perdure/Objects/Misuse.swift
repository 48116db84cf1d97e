/// Stops the program with a message for its author: the call, its arguments, and the correct call.
/// Unlike that of `precondition`, the message is there in optimised programs too.
///
/// Public functions that are called rarely pass on the place of their caller. Functions that programs
/// also use as values (`objects.forEach(context.delete)`), accessors and properties do not: their
/// messages name the entity, the property and the object, and the place is that of the check.
///
/// - Parameters:
///   - file: The file of the mistake, as the crash report shows it.
///   - line: The line of the mistake.
@inline(never)
func stop(_ message: String, file: StaticString = #fileID, line: UInt = #line) -> Never {
  fatalError(message, file: file, line: line)
}
