// Values at the end of paths of property names, with collection operators.
//
//   K1. A path is followed name by name. Behind a to-many relationship it goes on from each object, and what
//       they have comes in one flat array, without those that have nothing.
//   K2. An operator takes the names behind it, up to the next operator, as a part of its path: it works on
//       what they lead to. So `books.@max.year` and `books.year.@max` mean the same, as in predicates.
//   K3. Whatever the objects hold there is an answer: nothing overflows, and what is empty has none.

internal import PerdurePredicates

extension ManagedObject {
  /// The value at the end of a path of property names, for example `company.name` or `books.@max.year`.
  ///
  /// A path through a to-many relationship gives an array of what its objects have, without those that have
  /// nothing. A path through a to-one relationship without an object gives nil.
  ///
  /// An operator makes one value of many. It stands before the attribute or behind it:
  ///
  /// | operator | gives |
  /// |---|---|
  /// | `@count` | the number of objects, or of values, as an `Int` |
  /// | `@sum` | `Int64`, `Double` or `Decimal` by the attribute; `Decimal` where 64 bits do not do; 0 of none |
  /// | `@avg` | a `Double`, or a `Decimal` of decimals; nil of none |
  /// | `@min`, `@max` | the least or greatest value in its own type; nil of none |
  /// | `@unionOfObjects` | an array of all values |
  /// | `@distinctUnionOfObjects` | an array of the values that differ, each once |
  ///
  /// Unions of arrays and of sets are the same here, because paths are flat. `self` names what is already
  /// there, as in `books.year.@max.self`.
  ///
  /// The objects on the way must have the properties, as for `value(forKey:)`; an operator must be one of
  /// these, stand behind a to-many relationship, and get numbers where it calculates. Anything else is a
  /// mistake of the caller and stops the program with a message that says which name it is.
  public func value(forKeyPath path: String) -> Any? {
    var walk = KeyPathWalk(path, from: self)
    return walk.end()
  }

  /// Changes the property at the end of a path of property names, for example `company.name`: of the one object that
  /// the path before leads to, or of all of them where it goes through a to-many relationship. Nothing is changed where
  /// it leads to none.
  ///
  /// - Parameter value: As for `setValue(_:forKey:)`. The path must have no operators.
  public func setValue(_ value: Any?, forKeyPath path: String) {
    if path.contains("@") { stop("\(path): what an operator gives cannot be set.") }
    setValue(value, forKeyPath: path, in: path)
  }

  /// - Parameter whole: The path from where it began, to speak of.
  private func setValue(_ value: Any?, forKeyPath path: String, in whole: String) {
    // The path of a part of a composite is a key.
    guard let dot = path.firstIndex(of: "."), shape.schema.slot(named: path) == nil,
      shape.composite(named: path) == nil
    else { return setValue(value, forKey: path) }
    let (head, rest) = (String(path[..<dot]), String(path[path.index(after: dot)...]))
    if head == "self" || head == "SELF" { return setValue(value, forKeyPath: rest, in: whole) }
    if shape.composite(named: head) != nil { stop("\(whole): \(shape.name) has no property \"\(path)\".") }
    switch self.value(forKey: head) {
    case nil: break
    case let object as ManagedObject: object.setValue(value, forKeyPath: rest, in: whole)
    case let objects as Set<ManagedObject>:
      for object in objects { object.setValue(value, forKeyPath: rest, in: whole) }
    case let objects as [Any]:
      for case let object as ManagedObject in objects {
        object.setValue(value, forKeyPath: rest, in: whole)
      }
    case .some(let value): stop("\(whole): a \(type(of: value)) has no properties.")
    }
  }
}

/// One path on its way from one object.
private struct KeyPathWalk {
  private enum Place {
    case one(Any?)
    case many([Any])
  }

  private let path: String
  private var names: ArraySlice<String>
  private var place: Place

  init(_ path: String, from object: ManagedObject) {
    self.path = path
    names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)[...]
    place = .one(object)
  }

  mutating func end() -> Any? {
    while let name = names.popFirst() {
      if name.hasPrefix("@") {
        apply(Self.collectionOperator(name, in: path), name)
      } else {
        place = step(name, from: place)
      }
    }
    switch place {
    case .one(let value): return value
    case .many(let values): return values
    }
  }

  // MARK: Names

  private func step(_ name: String, from place: Place) -> Place {
    if name == "self" || name == "SELF" { return place }
    switch place {
    case .one(nil): return .one(nil)
    case .one(.some(let value)): return step(name, from: value)
    case .many(let values):
      return .many(
        values.flatMap { value -> [Any] in
          switch step(name, from: value) {
          case .one(let next): next.map { [$0] } ?? []
          case .many(let next): next
          }
        })
    }
  }

  private func step(_ name: String, from value: Any) -> Place {
    guard let object = value as? ManagedObject else { return .one(element(name, of: value)) }
    let next = object.value(forKey: name)
    if let objects = next as? Set<ManagedObject> { return .many(Array(objects)) }
    return .one(next)
  }

  /// What a composite has under a name.
  private func element(_ name: String, of value: Any) -> Any? {
    guard let elements = value as? [String: Any?] else {
      stop("\(path): \"\(name)\" is asked of a \(type(of: value)), which has no properties.")
    }
    if let element = elements[name] { return element }
    stop("\(path): there is no \"\(name)\" among \(elements.keys.sorted().joined(separator: ", ")).")
  }

  // MARK: Operators

  private static func collectionOperator(_ name: String, in path: String) -> CollectionOperator {
    if let known = CollectionOperator(spelling: String(name.dropFirst())) { return known }
    stop(
      "\(path): there is no operator \(name). Use @count, @sum, @avg, @min, @max, @unionOfObjects or "
        + "@distinctUnionOfObjects.")
  }

  private mutating func apply(_ operation: CollectionOperator, _ name: String) {
    while let next = names.first, !next.hasPrefix("@") {
      place = step(next, from: place)
      names.removeFirst()
    }
    switch place {
    case .one(nil): break
    case .one(.some(let value)):
      stop(
        "\(path): \(name) needs a to-many relationship before it, not a \(type(of: value)).")
    case .many(let values): place = result(of: operation, name, values)
    }
  }

  private func result(of operation: CollectionOperator, _ name: String, _ elements: [Any]) -> Place {
    switch operation {
    case .count: return .one(elements.count)
    case .unionOfObjects: return .many(elements)
    case .distinctUnionOfObjects:
      return .many(Aggregation.firstAppearances(in: values(elements)).map { elements[$0] })
    case .min: return .one(Aggregation.leastIndex(of: values(elements)).map { elements[$0] })
    case .max: return .one(Aggregation.greatestIndex(of: values(elements)).map { elements[$0] })
    case .sum:
      return .one(
        number(name) { () throws(PredicateEvaluationError) in try Aggregation.sum(values(elements)) })
    case .avg: return .one(number(name) { () throws(PredicateEvaluationError) in try mean(values(elements)) })
    }
  }

  private func mean(_ values: [Value]) throws(PredicateEvaluationError) -> Value {
    let mean = try Aggregation.average(values)
    if case .integer(let whole) = mean { return .double(Double(whole)) }
    return mean
  }

  private func number(_ name: String, _ body: () throws(PredicateEvaluationError) -> Value) -> Any? {
    do throws(PredicateEvaluationError) {
      return try body().swiftValue(of: .int64)
    } catch {
      stop("\(path): \(name) cannot be calculated. \(error.message)")
    }
  }

  private func values(_ elements: [Any]) -> [Value] {
    elements.map { element in
      guard let argument = element as? any PredicateArgument else {
        stop("\(path): a \(type(of: element)) is no value.")
      }
      return argument.predicateValue
    }
  }
}
