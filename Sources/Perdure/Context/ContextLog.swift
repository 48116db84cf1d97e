// The log of fetches and saves. Without a log, each operation costs one load of a flag.

internal import PerdureFileIO
internal import PerdureModel
internal import Synchronization

/// A fetch or a save of a context, with its duration and its requests to the store; or a warning
/// about the model.
public struct ContextLogEntry: Sendable {
  /// The logged operation.
  public enum Kind: Hashable, Sendable {
    /// Objects were fetched.
    case fetch
    /// Ids were fetched.
    case fetchIDs
    /// Objects were counted.
    case count
    /// Unsaved changes were saved.
    case save
    /// A warning about the container's model (`ManagedObjectModel.warnings`). Only the subject is
    /// set.
    case warning
  }

  /// The logged operation.
  public let kind: Kind
  /// The entity, predicate, order, offset and limit of a request (`explain(_:)` describes its
  /// plan). For a save, the numbers of objects to insert, update and delete, before delete rules
  /// and hooks. If new objects were merged into others, the text also contains their number. For a
  /// warning, its text.
  public let subject: String
  /// The number of objects that were found, counted or pending (see `subject`); 0 if the operation
  /// failed.
  public let objectCount: Int
  /// The duration by a monotonic clock, including the time of observers and hooks.
  public let duration: Duration
  /// The requests to the store during the operation.
  public let requests: ContextStatistics
  /// The error, in words; nil if there was none.
  public let failure: String?
}

extension ContextLogEntry: CustomStringConvertible {
  /// The entry in one line.
  public var description: String {
    if kind == .warning { return "\(kind) \(subject)" }
    let outcome = failure.map { "failed: \($0)" } ?? "\(objectCount)"
    return "\(kind) \(subject): \(outcome) in \(duration), \(requests.rowRequestCount) requests for "
      + "\(requests.rowCount) rows, \(requests.relationshipRequestCount) for relationships"
  }
}

extension PersistentContainer {
  /// Calls a closure after each fetch, count and save of the container's contexts, existing ones
  /// included. Nil, the initial value, stops the calls. The closure runs on the context's thread
  /// before the operation returns, so its duration delays the caller.
  ///
  /// The warnings of the container's model are logged immediately, each as a separate entry. They
  /// are logged once for each model, even after several calls or for several containers.
  ///
  ///     container.log { print($0) }
  public func log(_ log: (@Sendable (ContextLogEntry) -> Void)?) {
    logSwitch.set(log)
    guard let log else { return }
    for warning in managedObjectModel.warningsToLog() { log(ContextLogEntry(warning)) }
  }
}

extension ContextLogEntry {
  fileprivate init(_ warning: ModelProblem) {
    self.init(
      kind: .warning, subject: "\(warning)", objectCount: 0, duration: .zero, requests: ContextStatistics(),
      failure: nil)
  }
}

/// The log closure of all contexts of a container. All members may be used on any thread.
final class LogSwitch: Sendable {
  private let isOn = Atomic(false)
  private let log = Guarded<(@Sendable (ContextLogEntry) -> Void)?>(nil)

  func set(_ log: (@Sendable (ContextLogEntry) -> Void)?) {
    self.log.withLock { $0 = log }
    isOn.store(log != nil, ordering: .releasing)
  }

  @inline(__always)
  var current: (@Sendable (ContextLogEntry) -> Void)? {
    isOn.load(ordering: .acquiring) ? log.withLock { $0 } : nil
  }
}

extension ManagedObjectContext {
  /// Runs an operation and logs it, if there is a log.
  @inline(__always)
  func logged<R, Failure: Error>(
    _ kind: ContextLogEntry.Kind, _ subject: @autoclosure () -> String, count: (R) -> Int,
    outcome: (R) -> String? = { _ in nil }, _ body: () throws(Failure) -> R
  ) throws(Failure) -> R {
    guard let log = core.eventHub.logSwitch.current else { return try body() }
    let (subject, before, start) = (subject(), core.viewState.statistics, ContinuousClock.now)
    func tell(_ count: Int, _ failure: String?, _ outcome: String? = nil) {
      log(
        ContextLogEntry(
          kind: kind, subject: outcome ?? subject, objectCount: count, duration: .now - start,
          requests: core.viewState.statistics.since(before), failure: failure))
    }
    do throws(Failure) {
      let result = try body()
      tell(count(result), nil, outcome(result))
      return result
    } catch {
      tell(0, "\(error)")
      throw error
    }
  }

  /// A request in words, for the log.
  func subject<T: ManagedObject>(_ request: FetchRequest<T>) -> String {
    var words = [request.entityName ?? T._entityName]
    if let predicate = request.predicate { words.append("where \(predicate)") }
    if !request.sortDescriptors.isEmpty { words.append("by \(request.sortDescriptors)") }
    if request.fetchOffset > 0 { words.append("from \(request.fetchOffset)") }
    if request.fetchLimit > 0 { words.append("at most \(request.fetchLimit)") }
    return words.joined(separator: " ")
  }

  func loggedSave() throws(PerdureError) {
    core.checkOwner()
    var (pending, inserted, updated, deleted) = (0, 0, 0, 0)
    func subject() -> String {
      let states = core.pending.all.map(\.state)
      func count(_ state: ObjectState) -> Int { states.count { $0 == state } }
      pending = states.count(where: \.isPending)
      (inserted, updated, deleted) = (count(.inserted), count(.updated), count(.deleted))
      return "\(inserted) inserted, \(updated) updated, \(deleted) deleted"
    }
    // New objects that the save has merged into others were not inserted.
    func outcome() -> String? {
      let merged = min(core.pending.mergedObjects.count, inserted)
      if merged == 0 { return nil }
      return "\(inserted - merged) inserted, \(merged) merged into others, \(updated) updated, "
        + "\(deleted) deleted"
    }
    try logged(.save, subject(), count: { pending }, outcome: { _ in outcome() }) { () throws(PerdureError) in
      try core.operations.save.save()
    }
  }
}
