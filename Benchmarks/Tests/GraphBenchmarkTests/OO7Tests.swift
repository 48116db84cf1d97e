import Foundation
import Testing

@testable import GraphBenchmark

// The expected numbers are from an independent implementation.
@Suite struct OO7Tests {
  @Test("The designs have the expected checksums, counts and parts")
  func designs() {
    #expect(DesignData(.tiny).checksum == 0xC1FD_CB5F)
    let small = DesignData(.small)
    #expect(small.checksum == 0xFFCC_817B)
    #expect(small.complexes.count == 364 && small.bases.count == 729)
    #expect(small.bases[0].part.buildDate == 1_907)
    #expect(small.bases[0].privates == [87, 45, 283] && small.bases[0].shared == [39, 436, 138])
    let atomic = small.composites[0].atomics[0]
    #expect((atomic.part.buildDate, atomic.x, atomic.y, atomic.documentID) == (1_340, 30_167, 83_430, 450))
    #expect(small.composites[0].links[0].map(\.target) == [1, 0, 2])
  }

  @Test("Each workload has the expected result in both designs")
  func questions() {
    let small = DesignData(.small)
    #expect(DesignWorkload.allCases.map(small.expected) == [43_740, 43_740, 950, 10_000, 10_000, nil, nil])
    let tiny = DesignData(.tiny)
    #expect(DesignWorkload.allCases.map(tiny.expected) == [43_740, 43_740, 101, 1_000, 1_000, nil, nil])
  }

  @Test("All engines give the same answers in a design before and after a change")
  func engines() throws {
    let trial = DesignTrial(
      design: DesignData(.tiny), repetitions: 1, workloads: Set(DesignWorkload.allCases),
      folder: FileManager.default.temporaryDirectory)
    let outcomes = try Engines.ofDesigns.map { try trial.run($0) }
    let report = try Report(
      settings: [], engines: outcomes.map(\.engine), rows: DesignWorkload.allCases.map(\.rawValue), outcomes)
    #expect(report.rows.count == 7 && report.rows.allSatisfy { $0.figures.allSatisfy { $0 != nil } })
  }
}
