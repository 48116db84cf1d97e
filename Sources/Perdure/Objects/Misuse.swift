/// Stops the program with a message for its author: what was called with what, and what to call instead.
/// Unlike that of `precondition`, the message is there in optimised programs too.
@inline(never)
func stop(_ message: String) -> Never {
  fatalError(message)
}
