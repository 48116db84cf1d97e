import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// A copy of the store that a program makes while system calls fail.
struct FailureCopy {
  enum Method {
    case backup(since: String?)
    case stream
    case copy
    case replacement
    case restore(from: String)
  }

  let method: Method
  let target: String

  init(_ method: Method, to target: String) { (self.method, self.target) = (method, target) }

  /// Makes the copy.
  ///
  /// - Parameter store: The open store, for a backup.
  fileprivate func make(_ store: Store?, _ options: StoreOptions) throws {
    let path = FailureRun.path
    switch method {
    case .backup(let earlier): try store?.backup(to: target, since: earlier, options: Self.unpaced)
    case .stream: try stream(store, options)
    case .copy: try Store.copy(at: path, to: target, options: options)
    case .replacement: try Store.replace(target, with: path, options: options)
    case .restore(let backup): try Store.restore(from: backup, to: target, options: options)
    }
  }

  private func stream(_ store: Store?, _ options: StoreOptions) throws {
    var bytes: [UInt8] = []
    try store?.backup(options: Self.unpaced) { part in part.withUnsafeBytes { bytes += $0 } }
    var rest = bytes[...]
    try Store.restore(to: target, options: options) { count in
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
  }

  private static var unpaced: BackupOptions {
    var options = BackupOptions()
    options.bytesPerSecond = nil
    return options
  }
}

// Backups, copies, restored stores and replacements while system calls fail (FR8).
extension FailureRun {
  /// Makes a copy of the store, and checks it.
  ///
  /// - Parameters:
  ///   - store: The store, if it is open.
  ///   - least: The last commit that an older store at the target has; nil if there is none.
  /// - Returns: Whether the copy was made.
  @discardableResult
  func make(_ copy: FailureCopy, of store: Store? = nil, over least: UInt64? = nil) throws -> Bool {
    guard store != nil || has(Self.path) else { return false }
    if case .restore(let backup) = copy.method, !has(backup) { return false }
    let (struck, wanted) = (begin(), try wanted(by: copy))
    do { try copy.make(store, optionsHere) } catch let error as StoreError {
      try checkFit(error, "making \(copy)", since: struck)
      if let store { try noteState(of: store, after: error) }
      try checkRest(of: copy, over: least, wanted)
      guard mayRepeat, !(store != nil && isPoisoned) else {
        unmade.append(copy)
        return false
      }
      if least == nil { try Store.destroy(at: copy.target, options: optionsHere) }
      return try make(copy, of: store, over: least)
    }
    // A backup makes the commits durable in the store too.
    if store != nil { notePromise() }
    try check(copy, upTo: wanted, on: base.currentImage.fileSystem(), "that was made")
    var explorer = CrashExplorer(seed: disks.seed)
    explorer.imagesPerOperationMax = 2
    for image in explorer.images(of: base.journal, after: base.operationCount) {
      try check(copy, upTo: wanted, on: image.fileSystem(), "that was made, after a power cut")
    }
    return true
  }

  /// Makes the copies that failed. From now on, no call fails.
  func finishCopies() throws {
    for copy in unmade {
      do {
        var isReplacement = false
        if case .replacement = copy.method { isReplacement = true }
        if !isReplacement { try Store.destroy(at: copy.target, options: optionsHere) }
        var options = optionsHere
        options.isReadOnly = true
        let store = try Store(at: Self.path, options: options)
        try copy.make(store, optionsHere)
        try store.close()
      } catch { throw Violation("\(copy) cannot be made although no call fails any longer: \(error)") }
      let image = base.currentImage.fileSystem()
      try check(copy, upTo: wanted(by: copy), on: image, "that was made at the end")
      try checkHasNoDraft(copy)
    }
  }

  /// The last commit that a copy must have.
  private func wanted(by copy: FailureCopy) throws -> UInt64 {
    guard case .restore(let backup) = copy.method else { return acknowledged }
    var options = options
    options.fileSystem = base.currentImage.fileSystem()
    options.isReadOnly = true
    return try Store(at: backup, options: options).snapshot().sequence
  }

  private func has(_ path: String) -> Bool { base.currentImage.paths.contains(path + "/SUPERBLOCK") }

  /// Checks the files that an error has left at the target and next to it.
  private func checkRest(of copy: FailureCopy, over least: UInt64?, _ wanted: UInt64) throws {
    let image = base.currentImage.fileSystem()
    if least != nil || has(copy.target) {
      try check(copy, upTo: least ?? wanted, on: image, "that an error has left")
    }
    // If the failure repeats, it may also prevent the removal of the draft.
    if mayRepeat, least == nil { try checkHasNoDraft(copy) }
  }

  /// Checks that no file of a draft uses space. An empty draft may remain. The next copy replaces
  /// it.
  private func checkHasNoDraft(_ copy: FailureCopy) throws {
    let draft = base.currentImage.paths.first { path in
      path.hasPrefix(copy.target + ".copy/")
        && [".segment", ".blob", ".index", "SUPERBLOCK"].contains { path.hasSuffix($0) }
    }
    if let draft { throw Violation("\(copy) has left \(draft)") }
  }

  /// Opens a copy as a writer, and compares it with the history.
  private func check(
    _ copy: FailureCopy, upTo least: UInt64, on fileSystem: any FileSystem, _ which: String
  ) throws {
    var options = options
    options.fileSystem = fileSystem
    options.createsIfMissing = false
    do {
      let store = try Store(at: copy.target, options: options)
      try CrashOracle(states: history.states(upTo: possible)).check(store, promised: least)
      try store.close()
    } catch {
      throw Violation("\(copy) \(which): \(error)")
    }
  }
}

extension FailureCopy: CustomStringConvertible {
  var description: String {
    let name =
      switch method {
      case .backup(since: nil): "a backup"
      case .backup: "a backup since another"
      case .stream: "a store from a backup stream"
      case .copy: "a copy"
      case .replacement: "a replacement"
      case .restore: "a restored store"
      }
    return "\(name) at \(target)"
  }
}
