import Foundation

/// The failures that a completed save survives.
enum SaveDurability: String {
  /// A crash of the process.
  case process
  /// A cut of the power.
  case power
}

/// An engine that stores the graph. Fetched rows become objects, and every attribute of them is
/// read.
protocol GraphEngine: AnyObject {
  static var name: String { get }
  /// The settings of the engine, for display.
  static var settings: String { get }
  /// The supported workloads. Others are not measured.
  static var workloads: [Workload] { get }

  /// - Parameter folder: An empty folder.
  init(folder: URL, data: GraphData) throws

  /// Opens the store in the folder. Later saves have this durability.
  func open(_ durability: SaveDurability) throws
  func close() throws

  /// Prepares a workload, without measurement. `PerdureGraph` reads the objects of `traverseAgain`
  /// here. The other engines need no preparation.
  func prepare(_ workload: Workload, _ script: Script) throws

  /// Runs a workload. The store is closed before the workload `open`, and open before all other
  /// workloads. Only `traverseAgain` may find objects of a store in memory.
  func perform(_ workload: Workload, _ script: Script) throws -> Answer

  /// The complete content, read through the engine. It has the workers with their companies,
  /// managers and projects. It has the companies with the number of their workers and the sum of
  /// their salaries, and the projects with the number of their workers.
  func content() throws -> Answer
}

/// An operation on a graph that is not open.
struct GraphClosed: Error {}
