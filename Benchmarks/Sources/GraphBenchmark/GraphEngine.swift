import Foundation

/// The durability of a save when it returns.
enum SaveDurability: String {
  /// A crash of the process.
  case process
  /// A cut of the power.
  case power
}

/// One way to keep the graph. Fetched rows become objects of which every attribute is read.
protocol GraphEngine: AnyObject {
  static var name: String { get }
  /// Remarks on its settings.
  static var settings: String { get }
  /// Unsupported workloads are not measured.
  static var workloads: [Workload] { get }

  /// - Parameter folder: An empty one.
  init(folder: URL, data: GraphData) throws

  /// Opens the store in the folder; saves survive this from here on.
  func open(_ durability: SaveDurability) throws
  func close() throws

  /// Called before a workload is performed, and not measured: for `traverseAgain` it reads what
  /// will be walked through.
  func prepare(_ workload: Workload, _ script: Script) throws

  /// Does all of a workload: `open` of one that is closed, the others of one that is open.
  /// `traverseAgain` alone finds objects that are in memory.
  func perform(_ workload: Workload, _ script: Script) throws -> Answer

  /// The whole content, read through the engine: workers with their companies, managers and
  /// projects; companies with the numbers and sums of their workers; projects with the numbers of
  /// theirs.
  func content() throws -> Answer
}

/// A question to a graph that is not open.
struct GraphClosed: Error {}
