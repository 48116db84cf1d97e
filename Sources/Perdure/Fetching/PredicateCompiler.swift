// Compiles a predicate to a row program.
//
// Comparisons of a property with a constant are compiled, including those along a path and those
// with ANY, ALL or @count. A subquery is compiled if its predicate uses only its element and
// constants. All other comparisons (arithmetic, aggregates, regular expressions, comparisons of two
// properties) call the reference evaluator, which defines the meaning of predicates. So a predicate
// is slow only for rows that reach such a comparison.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Compiles predicates about objects of one entity. The predicates must be folded and checked.
struct PredicateCompiler {
  let schema: StoreSchema
  let entity: EntityStorage
  /// The value of `now()`.
  let now: Date
  var builder = RowProgramBuilder()

  init(schema: StoreSchema, entity: EntityStorage, now: Date) {
    self.schema = schema
    self.entity = entity
    self.now = now
  }

  /// The program of a predicate.
  static func program(
    _ predicate: FetchPredicate, schema: StoreSchema, entity: EntityStorage, now: Date
  ) -> RowProgram {
    var compiler = PredicateCompiler(schema: schema, entity: entity, now: now)
    let start = compiler.emit(predicate, RowProgram.accept, RowProgram.reject)
    return compiler.builder.program(start: start)
  }

  /// Adds the clauses of a predicate. The clauses continue at `whenTrue` or at `whenFalse`. Returns
  /// the position of the clause at which the evaluation begins.
  mutating func emit(_ predicate: FetchPredicate, _ whenTrue: Int32, _ whenFalse: Int32) -> Int32 {
    switch predicate {
    case .true: return whenTrue
    case .false: return whenFalse
    case .not(let part): return emit(part.only, whenFalse, whenTrue)
    case .and(let parts):
      return parts.reversed().reduce(whenTrue) { emit($1, $0, whenFalse) }
    case .or(let parts):
      return parts.reversed().reduce(whenFalse) { emit($1, whenTrue, $0) }
    case .comparison(let comparison):
      return emit(comparison, whenTrue, whenFalse)
    }
  }

  private mutating func emit(
    _ comparison: FetchComparison, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32 {
    guard case .constant(let value) = comparison.right else {
      return emitEvaluated(comparison, whenTrue, whenFalse)
    }
    let question = Question(op: comparison.op, value: value, options: comparison.options, now: now)
    switch (comparison.left, comparison.modifier) {
    case (.evaluatedObject, .direct):
      if let entry = emitSelf(question, whenTrue, whenFalse) { return entry }
    case (.keyPath(let path), let modifier):
      if let entry = emit(path, modifier, question, whenTrue, whenFalse) { return entry }
    case (.function, .direct):
      if let (column, _) = entity.column(comparison.left), let function = column.function {
        return emitFunction(function, column.slot, question, whenTrue, whenFalse)
      }
    case (.member(of: .subquery(.keyPath(let path), let variable, let predicate), let end), .direct)
    where end.names.isEmpty && end.aggregate == .count:
      if let inner = predicate.replacingVariable(variable),
        let test = countTest(path, of: inner, question)
      {
        return builder.add(test, whenTrue, whenFalse)
      }
    default: break
    }
    return emitEvaluated(comparison, whenTrue, whenFalse)
  }

  /// Emits a call of the reference evaluator.
  private mutating func emitEvaluated(
    _ comparison: FetchComparison, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32 {
    let evaluator = PredicateEvaluator(.comparison(comparison), now: now)
    let schema = schema
    return builder.add(
      { row, reference, view in
        let graph = RowGraph(schema: schema, view: view)
        return try evaluator.evaluate(with: RowSource(reference, graph, row: row))
      }, whenTrue, whenFalse)
  }

  /// Emits a comparison of the object itself; nil if only the evaluator can decide it.
  mutating func emitSelf(
    _ question: Question, _ whenTrue: Int32, _ whenFalse: Int32
  ) -> Int32? {
    switch (question.op, question.value) {
    case (.notEqual, _): return emitSelf(question.asking(.equal), whenFalse, whenTrue)
    case (.equal, .reference(let reference)):
      var clause = Clause(.selfWord)
      clause.low = reference.rawValue
      return builder.add(clause, whenTrue, whenFalse)
    case (.equal, .list): return nil
    case (.equal, _): return whenFalse
    case (.in, .list(let list)):
      var clause = Clause(.selfList)
      builder.setWords(Set(list.compactMap(WordDomain.reference.word)), of: &clause)
      return builder.add(clause, whenTrue, whenFalse)
    default: return nil
    }
  }
}

/// A comparison without its left side.
struct Question {
  let op: FetchComparison.Operator
  let value: Value
  let options: StringOptions
  let now: Date

  func asking(_ op: FetchComparison.Operator) -> Question {
    Question(op: op, value: value, options: options, now: now)
  }

  func comparing(_ op: FetchComparison.Operator, _ value: Value) -> Question {
    Question(op: op, value: value, options: options, now: now)
  }

  /// The reference evaluator for this comparison with a value on its left side.
  func evaluator() -> PredicateEvaluator {
    PredicateEvaluator(
      .comparison(FetchComparison(.evaluatedObject, op, .constant(value), options: options)), now: now)
  }

  /// Whether the comparison is true for a value on its left side; false if the evaluation throws.
  func holds(_ value: Value) -> Bool {
    (try? evaluator().evaluate(with: value)) ?? false
  }
}

extension FetchPredicate {
  /// The predicate of a subquery, with the evaluated object instead of its variable; nil if one of
  /// its expressions cannot be converted.
  func replacingVariable(_ variable: String) -> FetchPredicate? {
    switch self {
    case .true, .false: return self
    case .and(let parts):
      let replaced = parts.compactMap { $0.replacingVariable(variable) }
      return replaced.count == parts.count ? .and(replaced) : nil
    case .or(let parts):
      let replaced = parts.compactMap { $0.replacingVariable(variable) }
      return replaced.count == parts.count ? .or(replaced) : nil
    case .not(let part): return part.only.replacingVariable(variable).map { .not($0) }
    case .comparison(var comparison):
      guard let left = comparison.left.replacingVariable(variable),
        let right = comparison.right.replacingVariable(variable)
      else { return nil }
      comparison.left = left
      comparison.right = right
      return .comparison(comparison)
    }
  }
}

extension FetchExpression {
  /// The expression with the evaluated object instead of the variable. The expression must be a
  /// constant, the variable, or a path from the variable. A path from a nested subquery is also
  /// accepted. Nil for any other expression.
  func replacingVariable(_ variable: String) -> FetchExpression? {
    switch self {
    case .constant: self
    case .variable(variable): .evaluatedObject
    case .member(of: .variable(variable), let path): .path(from: .evaluatedObject, path)
    case .member(of: .subquery(let collection, let inner, let predicate), let path)
    where inner != variable:
      // A nested subquery is accepted if its own predicate refers only to its element.
      predicate.replacingVariable(inner) == nil
        ? nil
        : collection.replacingVariable(variable).map {
          .member(of: .subquery(collection: $0, variable: inner, predicate: predicate), path)
        }
    default: nil
    }
  }
}
