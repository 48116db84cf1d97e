public import Logging
public import Perdure

extension PersistentContainer {
  /// Logs each fetch and each save of the container's contexts. Replaces the handler of `log(_:)`.
  ///
  ///     container.log(to: Logger(label: "staff"))
  ///
  /// The message names the operation. The metadata has `count`, `milliseconds`, `rows`,
  /// `rowRequests`, `relationshipRequests`, and `error` if there was one. Warnings
  /// have no metadata.
  ///
  /// - Parameters:
  ///   - level: The level of successful fetches and saves.
  ///   - failureLevel: The level of failed fetches and saves.
  ///   - warningLevel: The level of warnings about the model. Each model's warnings are logged
  ///     once, immediately.
  public func log(
    to logger: Logger, level: Logger.Level = .debug, failureLevel: Logger.Level = .error,
    warningLevel: Logger.Level = .warning
  ) {
    log { entry in
      let isWarning = entry.kind == .warning
      logger.log(
        level: isWarning ? warningLevel : entry.failure == nil ? level : failureLevel,
        "\(entry.kind) \(entry.subject)", metadata: isWarning ? nil : metadata(of: entry))
    }
  }
}

private func metadata(of entry: ContextLogEntry) -> Logger.Metadata {
  var metadata: Logger.Metadata = [
    "count": "\(entry.objectCount)", "milliseconds": "\(entry.duration / .milliseconds(1))",
    "rows": "\(entry.requests.rowCount)", "rowRequests": "\(entry.requests.rowRequestCount)",
    "relationshipRequests": "\(entry.requests.relationshipRequestCount)",
  ]
  if let failure = entry.failure { metadata["error"] = "\(failure)" }
  return metadata
}
