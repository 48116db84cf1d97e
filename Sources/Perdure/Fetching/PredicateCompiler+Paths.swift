// Compiles comparisons that read other rows: to-one steps, ANY and ALL over to-many steps, counts,
// subqueries.
//
// Each step becomes a closure with a smaller program for the row at its end. The answer for a
// missing object (EV3 in PredicateEvaluator.swift) is computed when the predicate is compiled. A
// missing object has no elements if a to-many step follows, and is null otherwise.

internal import PerdurePredicates

/// Which of the values at the end of a path must satisfy a comparison.
enum PathMode {
  /// The path has one value.
  case single
  case any
  case all
}

extension PredicateCompiler {
  /// Emits a comparison of the end of a path; nil if only the evaluator can decide it.
  mutating func emit(
    _ path: PropertyPath, _ modifier: FetchComparison.Modifier, _ question: Question, _ whenTrue: Int32,
    _ whenFalse: Int32
  ) -> Int32? {
    let path = schema.expanded(path, from: entity)
    let steps = steps(of: path)
    guard let last = steps.last else { return nil }
    switch (path.aggregate, modifier) {
    case (.count, .direct):
      guard last.isToMany, !steps.dropLast().contains(where: \.isToMany) else { return nil }
      return emitStep(path.names[...], .single, isCount: true, question, whenTrue, whenFalse)
    case (nil, .direct):
      if !steps.contains(where: \.isToMany) {
        return emitStep(path.names[...], .single, isCount: false, question, whenTrue, whenFalse)
      }
      // Membership in a relationship is ANY with equality.
      guard question.op == .contains, last.isToMany, steps.count == 1 else { return nil }
      return emitStep(path.names[...], .any, isCount: false, question.asking(.equal), whenTrue, whenFalse)
    case (nil, .any), (nil, .all):
      guard steps.contains(where: \.isToMany) else { return nil }
      return emitStep(
        path.names[...], modifier == .any ? .any : .all, isCount: false, question, whenTrue, whenFalse)
    default: return nil
    }
  }

  /// The properties along a path; none if a name is not a property, as in `name.length`.
  private func steps(of path: PropertyPath) -> [PropertyStorage] {
    var steps: [PropertyStorage] = []
    var entity: EntityStorage? = entity
    for name in path.names {
      guard let here = entity, let slot = here.slot(named: name) else { return [] }
      steps.append(here.properties[slot])
      entity = here.properties[slot].destination.map { schema.entity($0) }
    }
    return steps
  }

  private mutating func emitStep(
    _ names: ArraySlice<String>, _ mode: PathMode, isCount: Bool, _ question: Question, _ whenTrue: Int32,
    _ whenFalse: Int32
  ) -> Int32? {
    guard let name = names.first, let slot = entity.slot(named: name) else { return nil }
    let rest = names.dropFirst()
    let property = entity.properties[slot]
    if case .inverse(_, let index, _, true) = property.form {
      if isCount { return emitCount(index, question, whenTrue, whenFalse) }
      return emitMany(index, property, rest, mode, question, whenTrue, whenFalse)
    }
    if rest.isEmpty { return emitField(slot, question, whenTrue, whenFalse) }
    guard let destination = property.destination.map({ schema.entity($0) }),
      let program = program(rest, of: destination, mode, isCount: isCount, question)
    else { return nil }
    let missing = answerForMissing(name, rest, mode, isCount: isCount, question)
    return builder.add(follow(slot, property, program, missing), whenTrue, whenFalse)
  }

  /// A program for the rest of a path. It runs on rows of `destination`. Nil if only the evaluator
  /// can decide the comparison.
  private func program(
    _ names: ArraySlice<String>, of destination: EntityStorage, _ mode: PathMode, isCount: Bool,
    _ question: Question
  ) -> RowProgram? {
    var inner = PredicateCompiler(schema: schema, entity: destination, now: now)
    let start =
      names.isEmpty
      ? inner.emitSelf(question, RowProgram.accept, RowProgram.reject)
      : inner.emitStep(names, mode, isCount: isCount, question, RowProgram.accept, RowProgram.reject)
    return start.map { inner.builder.program(start: $0) }
  }

  /// The answer if a to-one relationship has no object.
  private func answerForMissing(
    _ name: String, _ rest: ArraySlice<String>, _ mode: PathMode, isCount: Bool, _ question: Question
  ) -> Bool {
    if isCount { return question.holds(.integer(0)) }
    if schema.reachesMany(entity, through: name, then: rest) { return mode == .all }
    return question.holds(.null)
  }

  private func follow(
    _ slot: Int, _ property: PropertyStorage, _ program: RowProgram, _ missing: Bool
  ) -> RowTest {
    let schema = schema
    let index: StoreIndex? =
      if case .inverse(_, let index, _, _) = property.form { index } else { nil }
    return { row, reference, view in
      let graph = RowGraph(schema: schema, view: view)
      let target: ObjectReference?
      if let index {
        target = try graph.targets(index, of: reference).first
      } else {
        let field = row.fields[slot]
        target = row.isPresent(field) ? row.reference(field) : nil
      }
      guard let target else { return missing }
      return try graph.withRowOrNulls(target) { try program.matches($0, target, view) }
    }
  }

  private mutating func emitMany(
    _ index: StoreIndex, _ property: PropertyStorage, _ rest: ArraySlice<String>, _ mode: PathMode,
    _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32? {
    guard let destination = property.destination.map({ schema.entity($0) }),
      let program = program(rest, of: destination, mode, isCount: false, question)
    else { return nil }
    let stopsAt = mode != .all
    let asksRows = !rest.isEmpty
    return builder.add(
      { [schema] row, reference, view in
        let graph = RowGraph(schema: schema, view: view)
        var answer = !stopsAt
        try view.visitEntries(index, .owner(reference), descending: false) { _, target in
          // A comparison of references reads no field, so any row can be passed.
          let matches =
            asksRows
            ? try graph.withRowOrNulls(target) { try program.matches($0, target, view) }
            : try program.matches(row, target, view)
          if matches == stopsAt {
            answer = stopsAt
            return false
          }
          return true
        }
        return answer
      }, whenTrue, whenFalse)
  }

  /// A test that compares a number with the number of related objects that satisfy a predicate. Nil
  /// if the path is not a single to-many relationship.
  func countTest(_ path: PropertyPath, of predicate: FetchPredicate, _ question: Question) -> RowTest? {
    guard path.aggregate == nil, path.names.count == 1, let slot = entity.slot(named: path.names[0]),
      case .inverse(let destination, let index, _, true) = entity.properties[slot].form
    else { return nil }
    let program = PredicateCompiler.program(
      predicate, schema: schema, entity: schema.entity(destination), now: now)
    let evaluator = question.evaluator()
    let words = WordDomain.integer.words(question.op, question.value)
    return { [schema] _, reference, view in
      let graph = RowGraph(schema: schema, view: view)
      var count: Int64 = 0
      try view.visitEntries(index, .owner(reference), descending: false) { _, target in
        if try graph.withRowOrNulls(target, { try program.matches($0, target, view) }) { count += 1 }
        return !Self.isDecided(count, words)
      }
      return try evaluator.evaluate(with: .integer(count))
    }
  }

  /// Whether more elements cannot change the answer: the count is above the range, or in a range
  /// without an upper end.
  private static func isDecided(_ count: Int64, _ words: ClosedRange<UInt64>?) -> Bool {
    guard let words else { return false }
    let word = WordDomain.word(count)
    return word > words.upperBound || (words.upperBound == .max && word >= words.lowerBound)
  }
}
