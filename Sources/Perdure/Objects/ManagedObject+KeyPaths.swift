// Values at the end of paths of property names, with collection operators.
//
// Invariants
//  KV1  A path is followed name by name. After a to-many relationship it continues from each
//       object. The values of all these objects form one flat array, without nil.
//  KV2  The names after an operator, up to the next operator, belong to its path. So
//       `books.@max.year` and `books.year.@max` mean the same, as in predicates.
//  KV3  An operator cannot overflow, whatever the values are. Without values, `@count` and `@sum`
//       give 0, and `@avg`, `@min` and `@max` give nil.
//  KV4  A path has a limited number of names and values, because paths may come from outside of the
//       program. Setting changes each object once.

internal import PerdurePredicates

extension ManagedObject {
  /// The value at the end of a path of property names, for example `company.name` or
  /// `books.@max.year`.
  ///
  /// A path through a to-many relationship gives an array of its objects' values, without absent
  /// values. A path through a to-one relationship without an object gives nil.
  ///
  /// An operator combines many values. Its name is before or after the attribute:
  ///
  /// | operator | result |
  /// |---|---|
  /// | `@count` | the number of objects, or of values, as an `Int` |
  /// | `@sum` | `Int`, `Double` or `Decimal` by attribute; `Decimal` beyond 64 bits; 0 if empty |
  /// | `@avg` | a `Double`; for decimals a `Decimal`; nil without values |
  /// | `@min`, `@max` | the least or greatest value in its own type; nil without values |
  /// | `@unionOfObjects` | an array of all values |
  /// | `@distinctUnionOfObjects` | an array of the distinct values |
  ///
  /// `@unionOfArrays` and `@unionOfSets` have the result of `@unionOfObjects`, because the values
  /// of a path are one flat array. `self` means the object itself, as in `books.year.@max.self`.
  ///
  /// The objects on the path must have the properties, as for `value(forKey:)`. An operator must be
  /// one of those above, and follow a to-many relationship or a fetched property. An operator that
  /// calculates needs numbers. A path has at most 100 names, and at most 16,777,216 values at each
  /// name. Any other path stops the program with a message that quotes the name;
  /// `checkedValue(forKeyPath:)` throws instead.
  ///
  /// - Complexity: O(n) for n values on the path. Reads the rows of their objects.
  public func value(forKeyPath path: String) -> Any? {
    KeyedProblem.stopping { () throws(KeyedProblem) -> Any? in try keyedValue(path: path, isChecked: false) }
  }

  /// The value at the end of a path that comes from outside of the program; see
  /// `value(forKeyPath:)`.
  ///
  /// - Throws: `PerdureError.Code.unknownKey`, 139001, if the path breaks a rule of
  ///   `value(forKeyPath:)`. Error 1550 if stored bytes on the path cannot be decoded.
  public func checkedValue(forKeyPath path: String) throws(PerdureError) -> Any? {
    try KeyedProblem.throwing { () throws(KeyedProblem) -> Any? in
      try keyedValue(path: path, isChecked: true)
    }
  }

  private func keyedValue(path: String, isChecked: Bool) throws(KeyedProblem) -> Any? {
    try KeyPathWalk.checkLength(path)
    var walk = KeyPathWalk(path, from: self, isChecked: isChecked)
    return try walk.end()
  }

  /// Changes the property at the end of a path of property names, for example `company.name`.
  ///
  /// A path through a to-many relationship changes the property of all its objects, once for each
  /// object. If the path ends at no object, nothing changes.
  ///
  /// - Parameter value: As for `setValue(_:forKey:)`.
  /// - Parameter path: A path without operators. Any other path is a mistake of the caller, and
  ///   stops the program.
  /// - Complexity: O(n) for n objects on the path.
  public func setValue(_ value: Any?, forKeyPath path: String) {
    typealias End = (object: ManagedObject, key: String)
    let found = KeyedProblem.stopping { () throws(KeyedProblem) -> [End] in try ends(of: path) }
    for (object, key) in found { object.setValue(value, forKey: key) }
  }

  /// Changes the property at the end of a path, for paths and values that come from outside of the
  /// program; see `setValue(_:forKeyPath:)`.
  ///
  /// - Throws: As `setCheckedValue(_:forKey:)`. Also 139001 for a path with an operator, with more
  ///   than 100 names, or that continues after a value. After an error, nothing has changed.
  public func setCheckedValue(_ value: Any?, forKeyPath path: String) throws(PerdureError) {
    let changes = try KeyedProblem.throwing { () throws(KeyedProblem) -> [() -> Void] in
      var changes: [() -> Void] = []
      for (object, key) in try ends(of: path) { changes += try object.checkedChanges(value, key) }
      return changes
    }
    for change in changes { change() }
  }

  /// The objects to change, each with the name of the property to set.
  private func ends(of path: String) throws(KeyedProblem) -> [(object: ManagedObject, key: String)] {
    if path.contains("@") { throw .mistake("\(path.shortened): the result of an operator cannot be set.") }
    try KeyPathWalk.checkLength(path)
    var found: [(object: ManagedObject, key: String)] = []
    var (owners, rest) = ([self], path)
    while !owners.isEmpty {
      let dot = rest.firstIndex(of: ".")
      let tail = dot.map { String(rest[rest.index(after: $0)...]) } ?? ""
      var next: [ManagedObject] = []
      for owner in owners {
        if let dot, !owner.hasProperty(rest) {
          next += try owner.targets(String(rest[..<dot]), before: rest, in: path)
        } else {
          found.append((owner, rest))
        }
      }
      var known: Set<ObjectReference> = []
      owners = next.filter { known.insert($0.reference).inserted }
      rest = tail
    }
    return found
  }

  /// Whether `path` names a property, a composite attribute, or an element of one.
  private func hasProperty(_ path: String) -> Bool {
    shape.schema.slot(named: path) != nil || shape.composite(named: path) != nil
  }

  /// The objects that a property in the middle of a path refers to.
  ///
  /// - Parameters:
  ///   - rest: The path from `name` on.
  ///   - path: The complete path, for messages.
  private func targets(_ name: String, before rest: String, in path: String) throws(KeyedProblem)
    -> [ManagedObject]
  {
    if name == "self" || name == "SELF" { return [self] }
    if shape.composite(named: name) != nil {
      throw .mistake("\(path.shortened): \(shape.complaint(about: rest))")
    }
    switch try keyedValue(name) {
    case nil: return []
    case let object as ManagedObject: return [object]
    case let objects as Set<ManagedObject>: return Array(objects)
    case let objects as [Any]: return objects.compactMap { $0 as? ManagedObject }
    case .some(let value): throw .mistake("\(path.shortened): a \(type(of: value)) has no properties.")
    }
  }
}

/// Follows one path from one object.
struct KeyPathWalk {
  private enum Place {
    case one(Any?)
    case many([Any])
  }

  private let path: String
  private var names: ArraySlice<String>
  private var place: Place
  /// Whether the path has an operator. If true, a derived sum is read exactly, even if the
  /// attribute's type cannot hold it.
  private let hasOperator: Bool
  /// Whether stored bytes that cannot be decoded are an error.
  private let isChecked: Bool

  /// The maximum number of names in a path.
  private static let namesMax = 100
  /// The maximum number of values at one name. In a cycle of to-many relationships, the number
  /// multiplies with each name.
  @TaskLocal static var valuesMax = 1 << 24

  static func checkLength(_ path: String) throws(KeyedProblem) {
    guard path.utf8.count(where: { $0 == UInt8(ascii: ".") }) >= namesMax else { return }
    throw .mistake("\(path.prefix(40))…: a key path has at most \(namesMax) names.")
  }

  init(_ path: String, from object: ManagedObject, isChecked: Bool) {
    self.path = path
    self.isChecked = isChecked
    names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)[...]
    place = .one(object)
    hasOperator = path.contains("@")
  }

  mutating func end() throws(KeyedProblem) -> Any? {
    while let name = names.popFirst() {
      if name.hasPrefix("@") {
        try apply(Self.collectionOperator(name, in: path), name)
      } else {
        place = try step(name, from: place)
      }
    }
    switch place {
    case .one(let value): return value
    case .many(let values): return values
    }
  }

  // MARK: Names

  private func step(_ name: String, from place: Place) throws(KeyedProblem) -> Place {
    if name == "self" || name == "SELF" { return place }
    switch place {
    case .one(nil): return .one(nil)
    case .one(.some(let value)): return try step(name, from: value)
    case .many(let values):
      var found: [Any] = []
      for value in values {
        switch try step(name, from: value) {
        case .one(let next): if let next { found.append(next) }
        case .many(let next): found += next
        }
        guard found.count <= Self.valuesMax else {
          throw .mistake("\(path.shortened): \(name) leads to more than \(Self.valuesMax) values.")
        }
      }
      return .many(found)
    }
  }

  private func step(_ name: String, from value: Any) throws(KeyedProblem) -> Place {
    guard let object = value as? ManagedObject else { return .one(try element(name, of: value)) }
    if hasOperator, let slot = object.shape.schema.slot(named: name), let sum = object.exactSum(slot) {
      return .one(sum)
    }
    let next = try object.keyedValue(name, isChecked: isChecked)
    guard object.isToMany(name) else { return .one(next) }
    // An ordered relationship gives an array, in order.
    if let objects = next as? [ManagedObject] { return .many(objects) }
    return .many(Array(next as? Set<ManagedObject> ?? []))
  }

  /// The value of an element of a composite.
  private func element(_ name: String, of value: Any) throws(KeyedProblem) -> Any? {
    guard let elements = value as? [String: Any?] else {
      throw .mistake(
        "\(path.shortened): \"\(name.shortened)\" is read from a \(type(of: value)), "
          + "which has no properties.")
    }
    if let element = elements[name] { return element }
    throw .mistake(
      "\(path.shortened): there is no \"\(name.shortened)\" among "
        + "\(elements.keys.sorted().joined(separator: ", ")).")
  }

  // MARK: Operators

  private static func collectionOperator(
    _ name: String, in path: String
  ) throws(KeyedProblem) -> CollectionOperator {
    if let known = CollectionOperator(spelling: String(name.dropFirst())) { return known }
    throw .mistake(
      "\(path.shortened): there is no operator \(name.shortened). Use @count, @sum, @avg, @min, @max, "
        + "@unionOfObjects or @distinctUnionOfObjects.")
  }

  private mutating func apply(_ operation: CollectionOperator, _ name: String) throws(KeyedProblem) {
    while let next = names.first, !next.hasPrefix("@") {
      place = try step(next, from: place)
      names.removeFirst()
    }
    switch place {
    case .one(nil): break
    case .one(.some(let value)):
      throw .mistake(
        "\(path.shortened): \(name) needs a to-many relationship before it, not a \(type(of: value)).")
    case .many(let values): place = try result(of: operation, name, values)
    }
  }

  private func result(
    of operation: CollectionOperator, _ name: String, _ elements: [Any]
  ) throws(KeyedProblem) -> Place {
    switch operation {
    case .count: return .one(elements.count)
    case .unionOfObjects: return .many(elements)
    case .distinctUnionOfObjects:
      return .many(Aggregation.firstAppearances(in: try values(elements)).map { elements[$0] })
    case .min: return .one(Aggregation.leastIndex(of: try values(elements)).map { elements[$0] })
    case .max: return .one(Aggregation.greatestIndex(of: try values(elements)).map { elements[$0] })
    case .sum:
      let values = try values(elements)
      return .one(
        try number(name) { () throws(PredicateEvaluationError) in try Aggregation.sum(values) })
    case .avg:
      let values = try values(elements)
      return .one(try number(name) { () throws(PredicateEvaluationError) in try mean(values) })
    }
  }

  private func mean(_ values: [Value]) throws(PredicateEvaluationError) -> Value {
    let mean = try Aggregation.average(values)
    if case .integer(let whole) = mean { return .double(Double(whole)) }
    return mean
  }

  private func number(
    _ name: String, _ body: () throws(PredicateEvaluationError) -> Value
  ) throws(KeyedProblem) -> Any? {
    do throws(PredicateEvaluationError) {
      return try body().swiftValue(of: .int64)
    } catch {
      throw .mistake("\(path.shortened): \(name) cannot be calculated. \(error.message)")
    }
  }

  private func values(_ elements: [Any]) throws(KeyedProblem) -> [Value] {
    var values: [Value] = []
    for element in elements {
      guard let argument = element as? any PredicateArgument else {
        throw .mistake("\(path.shortened): a \(type(of: element)) is not a value.")
      }
      values.append(argument.predicateValue)
    }
    return values
  }
}

extension ManagedObject {
  /// Whether a name is the name of a to-many relationship or a fetched property.
  fileprivate func isToMany(_ name: String) -> Bool {
    if shape.hasFetchedProperty(name) { return true }
    guard let slot = shape.schema.slot(named: name), shape.isRelationship(slot) else { return false }
    return shape.relationship(slot).isToMany
  }
}
