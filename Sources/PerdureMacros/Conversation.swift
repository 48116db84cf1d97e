/// The state of the plugin between requests.
struct Conversation {
  private var hostVersion = Reply.protocolVersion
  private(set) var confusion = ""

  /// The reply to a request. Nil if there is none; then `confusion` contains the reason.
  mutating func answer(_ request: Request) -> Reply? {
    switch request {
    case .capability(let version):
      hostVersion = version
      return .capability
    case .expandAttached(let expansion):
      guard hostVersion <= Reply.protocolVersion else { return refusal(expansion.attribute) }
      return Expansion.expand(expansion)
    case .unknown(let name):
      confusion =
        "The compiler (plugin protocol \(hostVersion)) sent a message \"\(name)\" that is not understood. "
        + "Use a version of Perdure made for this compiler."
      return nil
    }
  }

  private func refusal(_ attribute: SyntaxText) -> Reply {
    let message =
      "Perdure's macros support the compiler's plugin protocol up to version \(Reply.protocolVersion), but this "
      + "compiler uses version \(hostVersion). Use a version of Perdure made for this compiler."
    return .expansion(
      nil, [attribute.error(message)])
  }
}
