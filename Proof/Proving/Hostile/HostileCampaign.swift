import PerdureFileIO
import PerdureTestSupport

/// Passes hostile bytes to decoders: the inputs of the corpus, and mutations of them.
///
/// A decoder may return a value, or throw an error of its own type, within a second and with little
/// memory. A trap ends the process of the campaign, and is a violation that names its part. With
/// `make fuzz`, the trap's output contains the input.
package struct HostileCampaign: Campaign {
  package let name = "hostile"
  package let summary = "passes its corpus to every decoder, and mutations of it with corrected checksums"

  private let decoders: [HostileDecoder]

  package init(_ decoders: [HostileDecoder]) { self.decoders = decoders }

  /// The number of mutations of a decoder with the cost 1 in a full proof.
  private static let mutationCount = 2_000_000
  /// The number of mutations of such a decoder in one batch of a task.
  private static let batchCount = 2000

  private struct Batch: Sendable {
    var decoder: Int
    /// The number among the batches of this decoder. So a part names the same case, whatever other
    /// decoders are tried.
    var number: Int
    var count: Int
  }

  private struct Harvest: Sendable {
    var count = 0
    var findings: [(what: String, part: String)] = []
    var cost = ProofLimits.Cost()
  }

  package func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult {
    let choice = try plan.partWords.map { words in
      guard let choice = HostileChoice(words) else { throw plan.noSuchPart(HostileChoice.form) }
      return choice
    }
    var result = CampaignResult()
    let corpus = try decoders.map { try HostileCorpus.inputs(of: $0) }
    let inputs = try zip(decoders, corpus).map { try $0.samples() + $1.map(\.bytes) }
    let (sums, worst) = try await progress.measuringMemory(where: plan.hasProcessAlone) {
      for (decoder, known) in zip(decoders, corpus) {
        tryCorpus(known, decoder, plan, only: choice, progress.newNote(), &result)
      }
      return try await mutate(inputs, plan, only: choice, progress)
    }
    for (inputs, (decoder, sum)) in zip(corpus.map(\.count), zip(decoders, sums)) {
      result.counts.mutations += sum.count
      result.violations += sum.findings.map {
        ProofViolation($0.what, command: plan.command(for: self, part: $0.part))
      }
      if inputs == 0, choice == nil {
        let what = "\(decoder.name) has no inputs in \(HostileCorpus.folder)"
        result.violations.append(ProofViolation(what, command: plan.command(for: self)))
      }
      result.report.append(
        "\(decoder.name): \(inputs) inputs of the corpus, \(sum.count) mutations, the slowest of "
          + "\(sum.cost.samples) measured \(sum.cost.seconds) s")
      if sum.cost.seconds > ProofLimits.secondsMax {
        result.violations.append(
          ProofViolation("\(decoder.name) took \(sum.cost.seconds) s", command: plan.command(for: self)))
      }
    }
    if choice != nil, result.counts.mutations == 0, result.violations.isEmpty {
      throw plan.noSuchPart(HostileChoice.form)
    }
    if let worst {
      result.report.append(
        "\(ProofQueue.workerCount) decoders in parallel allocated at most \(worst >> 10) KiB of memory")
      if worst > ProofLimits.memoryMax {
        result.violations.append(
          ProofViolation("\(worst >> 20) MiB of memory were taken", command: plan.command(for: self)))
      }
    }
    return result
  }

  private func tryCorpus(
    _ known: [(name: String, bytes: [UInt8])], _ decoder: HostileDecoder, _ plan: ProofPlan,
    only choice: HostileChoice?, _ note: ProofNote, _ result: inout CampaignResult
  ) {
    var slowest = ProofLimits.Cost()
    for (name, bytes) in known where HostileChoice.includes(choice, decoder, name) {
      let part = "\(decoder.name)|\(name)"
      note.begin(part)
      let start = ProofLimits.now()
      do {
        try decoder.run(bytes)
        try slowest.add(since: start)
      } catch {
        result.violations.append(
          ProofViolation("\(name) of the corpus: \(error)", command: plan.command(for: self, part: part)))
      }
      // An input of one byte contains no data for the decoder.
      if bytes.count > 1 { result.counts.mutations += 1 }
    }
  }

  private func batches(_ plan: ProofPlan) -> [Batch] {
    var batches: [Batch] = []
    for (index, decoder) in decoders.enumerated() {
      var left = plan.quota(Self.mutationCount / decoder.cost)
      let size = max(1, Self.batchCount / decoder.cost)
      var number = 0
      while left > 0 {
        batches.append(Batch(decoder: index, number: number, count: min(left, size)))
        left -= size
        number += 1
      }
    }
    return batches
  }

  private func mutate(
    _ inputs: [[[UInt8]]], _ plan: ProofPlan, only choice: HostileChoice?, _ progress: ProofProgress
  ) async throws -> [Harvest] {
    let batches = batches(plan)
    let queue = ProofQueue(batches.count)
    let none = [Harvest](repeating: Harvest(), count: decoders.count)
    return await withTaskGroup(of: [Harvest].self) { group in
      for _ in 0..<ProofQueue.workerCount {
        group.addTask {
          var harvests = none
          let note = progress.newNote()
          while let index = queue.next() {
            let batch = batches[index]
            guard HostileChoice.includes(choice, decoders[batch.decoder], batch.number) else { continue }
            run(batch, inputs[batch.decoder], plan.seed, only: choice, note, &harvests[batch.decoder])
            progress.advance(of: batches.count, "batches")
          }
          return harvests
        }
      }
      return await group.reduce(into: none) { sums, harvests in
        for (index, harvest) in harvests.enumerated() {
          sums[index].count += harvest.count
          sums[index].findings += harvest.findings
          sums[index].cost = sums[index].cost.worst(harvest.cost)
        }
      }
    }
  }

  private func run(
    _ batch: Batch, _ inputs: [[UInt8]], _ seed: UInt64, only choice: HostileChoice?, _ note: ProofNote,
    _ harvest: inout Harvest
  ) {
    note.begin("\(decoders[batch.decoder].name)|\(batch.number)")
    let decoder = decoders[batch.decoder]
    var random = SeededGenerator(seed: seed).derived(decoder.name).derived(UInt64(batch.number))
    for index in 0..<batch.count {
      let input = random.pick(inputs)
      var bytes = input
      HostileMutation.mutate(&bytes, others: inputs, using: &random)
      // The first byte is not part of the decoder's input.
      guard bytes.dropFirst() != input.dropFirst(), HostileChoice.includes(choice, index) else { continue }
      note.step(index)
      let start = index % 16 == 0 ? ProofLimits.now() : nil
      do { try decoder.run(bytes) } catch {
        let hex = bytes.prefix(256).map { String($0, radix: 16) }.joined(separator: " ")
        harvest.findings.append(
          ("\(error), given \(bytes.count) bytes: \(hex)", "\(decoder.name)|\(batch.number)|\(index)"))
        if harvest.findings.count > 3 { return }
      }
      if let start { harvest.cost = harvest.cost.worst(ProofLimits.cost(since: start)) }
      harvest.count += 1
    }
  }
}
