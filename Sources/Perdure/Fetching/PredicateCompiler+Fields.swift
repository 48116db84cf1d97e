// Compiles comparisons of one field of the row.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension PredicateCompiler {
  /// Emits a comparison of a property of the object itself; nil if only the evaluator can decide
  /// it.
  mutating func emitField(
    _ slot: Int, _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32? {
    switch entity.properties[slot].form {
    case .attribute(let kind): return emitField(slot, kind, question, whenTrue, whenFalse)
    case .toOne: return emitField(slot, .reference, question, whenTrue, whenFalse)
    case .count(let counted):
      guard case .inverse(_, let index, _, _) = entity.properties[counted].form else { return nil }
      return emitCount(index, question, whenTrue, whenFalse)
    case .derived(let derived):
      if let column = entity.column(ofSlot: slot)?.column, let function = column.function {
        return emitFunction(function, column.slot, question, whenTrue, whenFalse)
      }
      return emitDerived(derived, question, whenTrue, whenFalse)
    case .inverse(_, let index, _, let isToMany):
      return isToMany ? nil : emitDerivedToOne(index, question, whenTrue, whenFalse)
    }
  }

  private mutating func emitField(
    _ slot: Int, _ kind: FieldKind, _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32? {
    switch (question.op, question.value) {
    case (.notEqual, _):
      return emitField(slot, kind, question.asking(.equal), whenFalse, whenTrue)
    case (.equal, .null):
      var clause = Clause(.present)
      clause.slot = Int32(slot)
      clause.ifAbsent = !absent(slot).isNull
      return builder.add(clause, whenFalse, whenTrue)
    case (.between, .list(let bounds)) where bounds.count == 2:
      guard
        let upper = emitField(
          slot, kind, question.comparing(.lessThanOrEqual, bounds[1]), whenTrue, whenFalse)
      else { return nil }
      return emitField(slot, kind, question.comparing(.greaterThanOrEqual, bounds[0]), upper, whenFalse)
    case (.between, .null): return whenFalse
    case (.between, _): return nil
    case (.matches, _), (.in, .string): return nil
    case (.in, .list(let list)): return emitList(slot, kind, list, question, whenTrue, whenFalse)
    default: break
    }
    if let domain = WordDomain(kind) {
      return emitWord(slot, domain, question, whenTrue, whenFalse)
    }
    return emitText(slot, kind, question, whenTrue, whenFalse)
      ?? emitTextOrder(slot, kind, question, whenTrue, whenFalse)
      ?? emitIdentifier(slot, kind, question, whenTrue, whenFalse)
      ?? emitValue(slot, question, whenTrue, whenFalse)
  }

  /// The value to read if a layout of rows does not have the slot.
  private func absent(_ slot: Int) -> Value {
    schema.standIn(slot, of: entity)
  }

  /// The result for rows whose layout does not have the slot; false if all layouts have it.
  private func answerIfAbsent(_ slot: Int, _ question: Question) -> Bool {
    let mayBeAbsent = entity.concrete.contains {
      schema.rows.layouts(ofEntity: $0)?.allHave(slot) != true
    }
    return mayBeAbsent && question.holds(absent(slot))
  }

  private mutating func emitWord(
    _ slot: Int, _ domain: WordDomain, _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32 {
    guard let words = domain.words(question.op, question.value) else { return whenFalse }
    var clause = Clause(.word)
    clause.domain = domain
    clause.slot = Int32(slot)
    clause.low = words.lowerBound
    clause.span = words.upperBound - words.lowerBound
    clause.ifAbsent = answerIfAbsent(slot, question)
    return builder.add(clause, whenTrue, whenFalse)
  }

  private mutating func emitList(
    _ slot: Int, _ kind: FieldKind, _ list: [Value], _ question: Question, _ whenTrue: Int32,
    _ whenFalse: Int32
  ) -> Int32? {
    let domain = WordDomain(kind)
    let ranges = domain.map { domain in list.compactMap { domain.words(.equal, $0) } }
    if kind == .string, list.count > 3, let set = TextSet(list, question.options) {
      return emitTextSet(slot, set, question, whenTrue, whenFalse)
    }
    // The set is used only if one 64-bit word represents each value. For doubles, zero has two
    // words: 0.0 and -0.0.
    guard let domain, let ranges, ranges.allSatisfy({ $0.count == 1 }) else {
      return list.reversed().reduce(whenFalse as Int32?) { next, value in
        guard let next else { return nil }
        return emitField(slot, kind, question.comparing(.equal, value), whenTrue, next)
      }
    }
    var clause = Clause(.wordList)
    clause.domain = domain
    clause.slot = Int32(slot)
    clause.ifNull = list.contains(where: \.isNull)
    clause.ifAbsent = answerIfAbsent(slot, question)
    builder.setWords(Set(ranges.map(\.lowerBound)), of: &clause)
    return builder.add(clause, whenTrue, whenFalse)
  }

  /// Compares a text with a constant text; nil for other comparisons.
  private mutating func emitText(
    _ slot: Int, _ kind: FieldKind, _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32? {
    let text: String
    var options = question.options
    switch (kind, question.value) {
    case (.string, .string(let constant)): text = constant
    case (.url, .url(let url)) where question.op == .equal: (text, options) = (url.absoluteString, [])
    default: return nil
    }
    let op: Clause.Op
    switch question.op {
    case .equal: op = .textEqual
    case .beginsWith: op = .textPrefix
    case .endsWith: op = .textSuffix
    case .contains: op = .textPart
    case .like: op = .textLike
    default: return nil
    }
    var clause = Clause(op)
    clause.slot = Int32(slot)
    clause.ifAbsent = answerIfAbsent(slot, question)
    builder.setText(FoldedText(text, options: options), of: &clause)
    return builder.add(clause, whenTrue, whenFalse)
  }

  private mutating func emitTextSet(
    _ slot: Int, _ set: TextSet, _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32 {
    let ifNull = question.holds(.null)
    let ifAbsent = answerIfAbsent(slot, question)
    return builder.add(
      { row, _, _ in
        let field = row.fields[slot]
        if field.kind == .absent { return ifAbsent }
        guard row.isPresent(field) else { return ifNull }
        return set.contains(row.bytes(field), isASCII: row.isASCII(field))
      }, whenTrue, whenFalse)
  }

  /// Compares the order of a text and a constant text; nil for other comparisons.
  private mutating func emitTextOrder(
    _ slot: Int, _ kind: FieldKind, _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32? {
    guard kind == .string, case .string(let text) = question.value else { return nil }
    let holds: [ValueOrder]
    switch question.op {
    case .lessThan: holds = [.ascending]
    case .lessThanOrEqual: holds = [.ascending, .same]
    case .greaterThan: holds = [.descending]
    case .greaterThanOrEqual: holds = [.descending, .same]
    default: return nil
    }
    let ifAbsent = answerIfAbsent(slot, question)
    let options = question.options
    let constant = Array(text.utf8)
    return builder.add(
      { row, _, _ in
        let field = row.fields[slot]
        if field.kind == .absent { return ifAbsent }
        guard row.isPresent(field) else { return false }
        return constant.withUnsafeBytes {
          holds.contains(StringFolding.order(row.bytes(field), $0, options))
        }
      }, whenTrue, whenFalse)
  }

  /// Compares a UUID with a constant UUID; nil for other comparisons.
  private mutating func emitIdentifier(
    _ slot: Int, _ kind: FieldKind, _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32? {
    guard kind == .uuid, question.op == .equal, case .uuid(let uuid) = question.value else { return nil }
    let ifAbsent = answerIfAbsent(slot, question)
    return builder.add(
      { row, _, _ in
        let field = row.fields[slot]
        if field.kind == .absent { return ifAbsent }
        return row.isPresent(field) && row.uuid(field) == uuid
      }, whenTrue, whenFalse)
  }

  /// Emits any other comparison, for example of decimals, of data, or of UUIDs by order.
  private mutating func emitValue(
    _ slot: Int, _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32 {
    let evaluator = question.evaluator()
    let standIn = absent(slot)
    return builder.add(
      { row, _, _ in
        let value = row.fields[slot].kind == .absent ? standIn : row.value(slot)
        return try evaluator.evaluate(with: value)
      }, whenTrue, whenFalse)
  }

  /// Compares the result of a function of a text.
  mutating func emitFunction(
    _ function: TextFunction, _ slot: Int, _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32 {
    let evaluator = question.evaluator()
    let standIn = absent(slot)
    return builder.add(
      { row, _, _ in
        let value = row.fields[slot].kind == .absent ? standIn : row.value(slot)
        return try evaluator.evaluate(with: value.applying(function))
      }, whenTrue, whenFalse)
  }

  /// Compares the number of entries that an index has for the object.
  mutating func emitCount(
    _ index: StoreIndex, _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32 {
    let evaluator = question.evaluator()
    return builder.add(
      { _, reference, view in
        let count = try view.entryCount(index, .owner(reference))
        return try evaluator.evaluate(with: .integer(Int64(count)))
      }, whenTrue, whenFalse)
  }

  /// Compares a derived attribute, whose value `RowSource` computes.
  private mutating func emitDerived(
    _ derived: DerivedStorage, _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32 {
    let evaluator = question.evaluator()
    let schema = schema
    return builder.add(
      { row, reference, view in
        let source = RowSource(reference, RowGraph(schema: schema, view: view), row: row)
        return try evaluator.evaluate(with: try source.value(of: derived))
      }, whenTrue, whenFalse)
  }

  private mutating func emitDerivedToOne(
    _ index: StoreIndex, _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32 {
    let evaluator = question.evaluator()
    let schema = schema
    return builder.add(
      { _, reference, view in
        let target = try RowGraph(schema: schema, view: view).targets(index, of: reference).first
        return try evaluator.evaluate(with: target.map { .reference($0) } ?? .null)
      }, whenTrue, whenFalse)
  }
}
