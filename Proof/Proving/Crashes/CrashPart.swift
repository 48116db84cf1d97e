import PerdureTestSupport

/// One program of the campaign, and the settings of its explorer. The command of a violation
/// contains the words of the part, so it repeats this program.
struct CrashPart: Hashable, Sendable {
  /// The kind of program.
  var subject: String
  /// The seed of the random choices of the program, and of its cases.
  var seed: UInt64
  var sectorLength: Int
  var imagesPerOperationMax: Int
  var operationsOneIn: Int
  var recoveriesOneIn: Int

  static let form =
    "kind|seed|sector length|max disks per operation|check one in n operations|check one in n recoveries"

  init(_ subject: String, _ explorer: CrashExplorer) {
    self.subject = subject
    seed = explorer.seed
    sectorLength = explorer.sectorLength
    imagesPerOperationMax = explorer.imagesPerOperationMax
    operationsOneIn = explorer.operationsOneIn
    recoveriesOneIn = explorer.recoveriesOneIn
  }

  /// Parses the words of a part; nil for words of another form.
  init?(_ words: [String]) {
    let numbers = words.dropFirst(2).compactMap { Int($0) }
    guard words.count == 6, let seed = UInt64(words[1]), numbers.count == 4, numbers.allSatisfy({ $0 > 0 })
    else { return nil }
    (subject, self.seed) = (words[0], seed)
    (sectorLength, imagesPerOperationMax) = (numbers[0], numbers[1])
    (operationsOneIn, recoveriesOneIn) = (numbers[2], numbers[3])
  }

  var words: String {
    "\(subject)|\(seed)|\(sectorLength)|\(imagesPerOperationMax)|\(operationsOneIn)|\(recoveriesOneIn)"
  }

  /// The explorer with the settings of the violation, but without a limit of checks.
  var explorer: CrashExplorer {
    var explorer = CrashExplorer(seed: seed)
    explorer.sectorLength = sectorLength
    explorer.imagesPerOperationMax = imagesPerOperationMax
    explorer.operationsOneIn = operationsOneIn
    explorer.recoveriesOneIn = recoveriesOneIn
    explorer.makesStaleBytes = true
    explorer.recoveryDepth = CrashCampaign.recoveryDepth
    explorer.imagesPerRecoveryMax = CrashCampaign.imagesPerRecoveryMax
    // The violation contains the command of the campaign. So the explorer need not write its next
    // step to a file, or print how to repeat a test.
    explorer.leavesNote = false
    return explorer
  }
}
