/// A stanza whose lines are still being read.
struct StanzaDraft {
  private var stanza: Stanza
  private var lineStart = 0
  private var isBlankLine = true
  private var isTooLong = false

  init(place: SourcePlace) { stanza = Stanza(place: place) }

  /// Adds bytes of the current line.
  mutating func append(_ bytes: ArraySlice<UInt8>) {
    isBlankLine = isBlankLine && bytes.allSatisfy(\.isSpace)
    isTooLong = isTooLong || stanza.bytes.count + bytes.count > StanzaReader.stanzaSizeLimit
    if !isTooLong { stanza.bytes += bytes }
  }

  /// Adds the completed line as a field, a continuation or a blank line. Returns true if it is
  /// blank.
  mutating func endLine(at place: SourcePlace, _ report: (ArchiveProblem) -> Void) -> Bool {
    defer {
      lineStart = stanza.bytes.count
      isBlankLine = true
    }
    if isBlankLine || isTooLong { return isBlankLine }
    let line = stanza.bytes[lineStart...].dropLast()
    if line[line.startIndex].isSpace {
      if stanza.fields.isEmpty {
        report(ArchiveProblem(place: place, message: "A continuation line without a field was ignored."))
      } else {
        stanza.fields[stanza.fields.count - 1].value = extended(line)
      }
    } else if let colon = line.firstIndex(of: UInt8(ascii: ":")), isName(line[..<colon]) {
      stanza.fields.append(
        Stanza.Field(name: line.startIndex..<colon, value: (colon + 1)..<line.endIndex, line: place.line))
    } else {
      report(ArchiveProblem(place: place, message: "A line that is not a field was ignored."))
      // The continuations of the line must not be added to the previous field.
      stanza.fields.append(
        Stanza.Field(name: lineStart..<lineStart, value: lineStart..<lineStart, line: place.line))
    }
    return false
  }

  /// Returns the stanza, if there is one, and starts the next one at `nextPlace`.
  mutating func finish(nextPlace: SourcePlace, _ report: (ArchiveProblem) -> Void) -> Stanza? {
    var finished = stanza
    let wasTooLong = isTooLong
    self = StanzaDraft(place: nextPlace)
    if wasTooLong {
      let limit = StanzaReader.stanzaSizeLimit
      report(ArchiveProblem(place: finished.place, message: "A stanza over \(limit) bytes was left out."))
      return nil
    }
    finished.dropUnusableFields(report)
    return finished.fields.isEmpty ? nil : finished
  }

  private func extended(_ line: ArraySlice<UInt8>) -> Range<Int> {
    stanza.fields[stanza.fields.count - 1].value.lowerBound..<line.endIndex
  }

  private func isName(_ name: ArraySlice<UInt8>) -> Bool {
    !name.isEmpty && name.first != UInt8(ascii: "#") && name.first != UInt8(ascii: "-")
      && name.allSatisfy { (0x21...0x7E).contains($0) }
  }
}

extension Stanza {
  /// Drops the entries of ignored lines, and of repeated fields except the first.
  fileprivate mutating func dropUnusableFields(_ report: (ArchiveProblem) -> Void) {
    var kept: [Field] = []
    kept.reserveCapacity(fields.count)
    var names = FieldNames()
    for field in fields where !field.name.isEmpty {
      if names.insert(bytes[field.name]) {
        kept.append(field)
      } else {
        let name = String(decoding: bytes[field.name], as: UTF8.self)
        let place = SourcePlace(
          index: place.index, line: field.line, byteOffset: place.byteOffset + field.name.lowerBound)
        report(
          ArchiveProblem(place: place, message: "The field \(name) occurs twice; the first one is used."))
      }
    }
    fields = kept
  }
}

/// The names of a stanza's fields, ignoring case. A few names are compared one by one, which is
/// fast for every real index. Many names are hashed, so that no text makes reading slow.
private struct FieldNames {
  private static let fewMax = 32
  private var few: [ArraySlice<UInt8>] = []
  private var many: Set<[UInt8]> = []

  /// Adds a name. Returns false if it is already present.
  mutating func insert(_ name: ArraySlice<UInt8>) -> Bool {
    if many.isEmpty {
      if few.contains(where: { $0.count == name.count && $0.equalsIgnoringCase(name) }) { return false }
      few.append(name)
      if few.count > Self.fewMax { many = Set(few.map(Self.lowercased)) }
      return true
    }
    return many.insert(Self.lowercased(name)).inserted
  }

  private static func lowercased(_ name: ArraySlice<UInt8>) -> [UInt8] {
    name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
  }
}
