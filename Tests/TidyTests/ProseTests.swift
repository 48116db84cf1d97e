import Testing

/// Comments and test names are plain technical English. The rules are in CONTRIBUTING.md, "Style".
@Suite("Wording of comments and test names")
struct ProseTests {
  private static let folders = ["Sources", "Tests", "Proof", "Examples", "Benchmarks"]

  /// Banned words. A plain sentence names its subject and uses the terms of the field.
  private static let bannedWords: Set<Substring> = [
    "who", "whoever", "whom", "somebody", "someone", "nobody", "anybody", "everybody", "stand",
    "stands", "stood", "lies", "drowsy", "tells", "told",
  ]

  /// Banned pairs of words, by first word.
  private static let bannedPairs: [Substring: Set<Substring>] = [
    "what": ["is", "are", "was", "were", "has", "have", "becomes", "it", "they"],
    "of": ["what"], "none": ["of"], "under": ["way"], "no": ["account"], "hear": ["of"], "hears": ["of"],
    "let": ["go"], "lets": ["go"], "letting": ["go"],
    "go": ["on"], "goes": ["on"], "going": ["on"], "went": ["on"],
    "come": ["back"], "comes": ["back"], "came": ["back"], "make": ["up"], "makes": ["up"],
    "give": ["up"], "gives": ["up"], "given": ["up"], "giving": ["up"],
    "is": ["gone", "born"], "are": ["gone", "born"], "was": ["born"], "were": ["born"],
    "has": ["gone", "room"], "have": ["gone", "room"],
  ]

  /// The maximum number of banned words and pairs in 1,000 words. It is about twice the rate in
  /// swift-log, in swift-argument-parser and in GRDB.
  private static let rateMax = 0.15

  private func files() throws -> [Repository.SourceFile] { try Self.folders.flatMap(Repository.swiftFiles) }

  private func banned(in words: [Substring?]) -> [String] {
    var found: [String] = []
    for (word, next) in zip(words, words.dropFirst() + [nil]) {
      guard let word else { continue }
      if Self.bannedWords.contains(word) { found.append(String(word)) }
      if let next, Self.bannedPairs[word]?.contains(next) == true { found.append("\(word) \(next)") }
    }
    return found
  }

  private func wide(in comments: Comments) -> [Comments.Line] {
    comments.lines.filter { $0.columns > 100 && !$0.isLaidOut }
  }

  @Test("Comments and test names rarely contain banned words")
  func rate() throws {
    var (count, wordCount) = (0, 0)
    var places: [String] = []
    for file in try files() {
      let words = Comments(file).words
      let found = banned(in: words)
      count += found.count
      wordCount += words.count { $0 != nil }
      if !found.isEmpty { places.append("\(file.path): \(found.joined(separator: ", "))") }
    }
    let rate = 1000 * Double(count) / Double(wordCount)
    #expect(wordCount > 100_000)
    #expect(
      rate <= Self.rateMax,
      "\(count) in \(wordCount) words are \(rate) in 1,000:\n\(places.joined(separator: "\n"))")
  }

  @Test("Comments have at most 100 columns")
  func width() throws {
    for file in try files() {
      for line in wide(in: Comments(file)) {
        Issue.record("\(file.path):\(line.number) has \(line.columns) columns")
      }
    }
  }

  @Test("The scanner finds banned words and pairs, even across lines, but not in code")
  func measure() {
    let text = """
      /// Frees the slot, as nobody reads it.
      ///
      /// Says what
      /// is left; `who` and stand-ins are code.
      @Test("It goes on")
      let a = "// who"
      """
    let comments = Comments(Repository.SourceFile(path: "", text: text))
    #expect(banned(in: comments.words) == ["nobody", "what is", "goes on"])
    #expect(comments.lines.count == 4 && comments.names == ["It goes on"])
  }
}
