extension CrashExplorer {
  /// Stops the program if a setting is invalid.
  func checkSettings() {
    let numbers = [
      ("operationsOneIn", operationsOneIn), ("imagesPerOperationMax", imagesPerOperationMax),
      ("sectorLength", sectorLength), ("checksMax", checksMax), ("recoveriesOneIn", recoveriesOneIn),
      ("imagesPerRecoveryMax", imagesPerRecoveryMax),
    ]
    for (name, number) in numbers {
      precondition(number > 0, "CrashExplorer.\(name) is \(number), but must be 1 or more")
    }
    precondition(
      recoveryDepth >= 0, "CrashExplorer.recoveryDepth is \(recoveryDepth), but must be 0 or more")
  }
}

extension CrashExplorer {
  func run(
    _ workload: (_ fileSystem: SimulatedFileSystem, _ marker: CrashMarker) throws -> Void,
    on image: CrashImage
  ) rethrows -> SimulatedFileSystem {
    let note = makeNote()
    note.say("the workload runs")
    let fileSystem = SimulatedFileSystem(image)
    try workload(fileSystem, fileSystem.marker)
    return fileSystem
  }

  func makeNote() -> RunNote { RunNote("\(name), \(seedWords)", isWanted: leavesNote) }
}
