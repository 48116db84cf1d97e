import Foundation

/// The operations on a design, in this order.
enum DesignWorkload: String, CaseIterable {
  case traverseCold = "OO7 small, T1 cold"
  case traverseHot = "OO7 small, T1 hot"
  case range = "OO7 small, Q3"
  case scan = "OO7 small, Q7"
  case join = "OO7 small, Q8"
  case insert = "OO7 small, insert"
  case delete = "OO7 small, delete"

  var isQuestion: Bool { self != .insert && self != .delete }
}

/// An engine that stores a design.
protocol DesignEngine: AnyObject {
  static var name: String { get }

  /// Fills an empty folder. The store is closed afterwards.
  init(folder: URL, design: DesignData) throws

  /// Opens the store in the folder. Objects are in memory only before the hot traversal.
  func prepare(_ workload: DesignWorkload) throws
  func perform(_ workload: DesignWorkload) throws -> Answer
  func close() throws
}

/// The composite parts that are inserted and later deleted. Each is a private part of one base
/// assembly.
struct DesignAddition {
  static let count = 10
  let composites: [DesignData.Composite]
  let bases: [Int]

  init(_ design: DesignData) {
    var random = DesignRandom()
    let first = design.composites.count
    composites = (first..<first + Self.count).map { design.composite($0, &random) }
    bases = (0..<Self.count).map { _ in random.next(below: design.bases.count) }
  }
}

extension Answer {
  /// Adds an atomic part with all its attributes.
  mutating func add(
    atomic id: Int64, _ type: String, _ buildDate: Int64, x: Int64, y: Int64, _ documentID: Int64
  ) {
    var sum = UInt64(bitPattern: id) &* 31 &+ UInt64(bitPattern: buildDate) &* 7 &+ UInt64(bitPattern: x) &* 3
    sum &+= UInt64(bitPattern: y) &+ UInt64(bitPattern: documentID) &* 5 &+ UInt64(type.utf8.count)
    add(counted: Int(truncatingIfNeeded: sum), among: 1)
  }
}
