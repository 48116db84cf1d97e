/// One input of one decoder, in the form of `ProofPlan.part`. An input of the corpus has a name. A
/// mutation has the number of its batch, and its number in the batch.
enum HostileChoice: Sendable {
  case corpus(decoder: String, name: String)
  case mutation(decoder: String, batch: Int, number: Int)

  static let form = "decoder|name in the corpus, or decoder|batch|number"

  /// Parses the words; nil for words of another form.
  init?(_ words: [String]) {
    switch words.count {
    case 2: self = .corpus(decoder: words[0], name: words[1])
    case 3:
      guard let batch = Int(words[1]), let number = Int(words[2]) else { return nil }
      self = .mutation(decoder: words[0], batch: batch, number: number)
    default: return nil
    }
  }

  /// Whether an input of the corpus is tried.
  static func includes(_ choice: HostileChoice?, _ decoder: HostileDecoder, _ name: String) -> Bool {
    switch choice {
    case nil: true
    case .corpus(let chosen, let input): chosen == decoder.name && input == name
    case .mutation: false
    }
  }

  /// Whether a batch is tried, at least in part.
  static func includes(_ choice: HostileChoice?, _ decoder: HostileDecoder, _ batch: Int) -> Bool {
    switch choice {
    case nil: true
    case .corpus: false
    case .mutation(let chosen, let number, _): chosen == decoder.name && number == batch
    }
  }

  /// Whether the mutation with this number in a chosen batch is tried.
  static func includes(_ choice: HostileChoice?, _ number: Int) -> Bool {
    if case .mutation(_, _, let chosen)? = choice { return chosen == number }
    return true
  }
}
